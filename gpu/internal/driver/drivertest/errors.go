package drivertest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
)

func shaderError(t *testing.T, s Subject) {
	d := s.Open(t)
	p := Scale(1)
	p.Source = strings.Replace(p.Source, "let i = id.x", "let i = idx.x", 1)
	_, err := Compile(d, p)
	Wants(t, err, nil, "scale: ", "\n7:11: ", "unresolved value 'idx'",
		"\n>    7 |   let i = idx.x + params.start;", "\n     4 | @group(0)", "\n    10 | }")
	Alive(t, d)
}

func pipelineErrors(t *testing.T, s Subject) {
	d := s.Open(t)
	for name, c := range map[string]struct {
		change func(*driver.PipelineDescriptor)
		target error
		part   string
	}{
		"binding not declared": {func(p *driver.PipelineDescriptor) { p.Storage = p.Storage[:1] }, nil, "scale"},
		"written but declared read": {func(p *driver.PipelineDescriptor) {
			p.Storage = []driver.Access{driver.Read, driver.Read}
		}, nil, "ReadOnlyStorage"},
		"uniform too small":  {func(p *driver.PipelineDescriptor) { p.UniformSize = 8 }, nil, "8"},
		"no such constant":   {func(p *driver.PipelineDescriptor) { p.Constants = map[string]float64{"tile": 1} }, nil, "tile"},
		"no entry point":     {func(p *driver.PipelineDescriptor) { p.Source = strings.Replace(p.Source, "fn main", "fn other", 1) }, nil, "main"},
		"workgroup too wide": {func(p *driver.PipelineDescriptor) { p.Source = strings.Replace(p.Source, "64", "65536", 1) }, driver.ErrTooLarge, "65536"},
		"workgroup memory too large": {func(p *driver.PipelineDescriptor) {
			p.Source = strings.Replace(p.Source, "let i =", "big[id.x] = 1u; let i =", 1) + "\nvar<workgroup> big: array<u32, 65535>;"
		}, driver.ErrTooLarge, "262144"},
		"too many bindings": {func(p *driver.PipelineDescriptor) { p.Storage = make([]driver.Access, 100) }, driver.ErrTooLarge, "100 storage bindings"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Scale(1)
			c.change(&p)
			_, err := Compile(d, p)
			Wants(t, err, c.target, s.Name+": scale: ", c.part)
			Alive(t, d)
		})
	}
}

func tooLarge(t *testing.T, s Subject) {
	d := s.Open(t)
	most := d.Info().Limits.MaxBuffer
	_, err := d.NewBuffer("weight", most/4*4+4, false)
	Wants(t, err, driver.ErrTooLarge, s.Name+": weight", "device allows")
	for _, size := range []int64{0, -4, 6} {
		_, err = d.NewBuffer("odd", size, false)
		Wants(t, err, nil, "odd", "multiple of 4")
	}
	p := Must(Compile(d, Scale(1)))(t)
	uniform := Must(d.NewBuffer("uniform", 256, true))(t)
	view := driver.Binding{Buffer: Must(d.NewBuffer("big", 1024, false))(t), Size: d.Info().Limits.MaxBinding + 4}
	_, err = d.NewBindGroup("group", p, uniform, []driver.Binding{view, view})
	Wants(t, err, driver.ErrTooLarge, s.Name+": group", "binding 1", "big", "device allows")
	Alive(t, d)
}

// bindGroupErrors: NewBindGroup reports faults in a group's storage.
func bindGroupErrors(t *testing.T, s Subject) {
	d := s.Open(t)
	p := Must(Compile(d, Scale(1)))(t)
	uniform := Must(d.NewBuffer("uniform", 256, true))(t)
	b := NewBuffer(t, d, make([]byte, 1024))
	ok := driver.Binding{Buffer: b, Size: 512}
	_, err := d.NewBindGroup("group", p, uniform, []driver.Binding{ok})
	Wants(t, err, nil, "group", "1 storage bindings, scale declares 2")
	_, err = d.NewBindGroup("group", p, uniform, []driver.Binding{ok, {Buffer: b, Offset: 20, Size: 4}})
	Wants(t, err, nil, "group", "20")
	_, err = d.NewBindGroup("group", p, uniform, []driver.Binding{ok, {Buffer: b, Offset: 512, Size: 1024}})
	Wants(t, err, nil, "group", "1024")
	Alive(t, d)
}

// submitErrors: Submit or Wait returns an error that is only detected when commands are
// recorded, once, and the device stays usable.
func submitErrors(t *testing.T, s Subject) {
	d := s.Open(t)
	p := Must(Compile(d, Scale(1)))(t)
	uniform := Must(d.NewBuffer("uniform", 512, true))(t)
	b, c := NewBuffer(t, d, make([]byte, 1024)), NewBuffer(t, d, make([]byte, 1024))
	g := Must(d.NewBindGroup("group", p, uniform, []driver.Binding{{Buffer: b, Size: 1024}, {Buffer: c, Size: 1024}}))(t)
	for name, command := range map[string]driver.Command{
		"offset past the uniform": {Pipeline: p, Group: g, UniformOffset: 512, Groups: [3]uint32{1, 1, 1}},
		"grid too large":          {Pipeline: p, Group: g, Groups: [3]uint32{d.Info().Limits.MaxGroups + 1, 1, 1}},
		"copy past the end":       {Src: driver.Binding{Buffer: b, Offset: 1000, Size: 100}, Dst: driver.Binding{Buffer: c, Size: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := d.Submit("broken", []driver.Command{command}, nil)
			if err == nil {
				err = d.Wait(context.Background(), f)
				require.NoError(t, d.Wait(context.Background(), f), "a second wait")
			}
			s.Broken(t, err)
			Alive(t, d)
		})
	}
}

func readWriteErrors(t *testing.T, s Subject) {
	d := s.Open(t)
	b := NewBuffer(t, d, make([]byte, 16))
	Wants(t, d.Write(b, 8, make([]byte, 12)), nil, "data: write of 12 bytes at 8")
	Wants(t, d.Write(b, 2, make([]byte, 4)), nil, "at 2")
	Wants(t, d.Read(context.Background(), make([]byte, 6), b, 0), nil, "data: read of 6 bytes")
	b.Release()
	Wants(t, d.Write(b, 0, make([]byte, 4)), nil, "data")
}

func deviceLost(t *testing.T, s Subject) {
	d := s.Open(t)
	p := Must(Compile(d, Scale(1)))(t)
	b := NewBuffer(t, d, make([]byte, 16))
	f := Must(d.Submit("before", nil, nil))(t)
	s.Lose(d)
	Wants(t, d.Wait(context.Background(), f), driver.ErrDeviceLost, "destroyed")
	refusesAll(t, d, b, driver.ErrDeviceLost)
	_, err := Compile(d, Scale(1))
	require.ErrorIs(t, err, driver.ErrDeviceLost)
	p.Release()
	b.Release()
}

// refusesAll: every call on an unusable device says why.
func refusesAll(t *testing.T, d driver.Device, b driver.Buffer, why error) {
	t.Helper()
	_, err := d.Submit("after", []driver.Command{{Src: driver.Binding{Buffer: b, Size: 4}, Dst: driver.Binding{Buffer: b, Offset: 8, Size: 4}}}, nil)
	require.ErrorIs(t, err, why, "Submit")
	_, err = d.NewBuffer("after", 16, false)
	require.ErrorIs(t, err, why, "NewBuffer")
	_, err = d.NewStopwatch()
	require.ErrorIs(t, err, why, "NewStopwatch")
	require.ErrorIs(t, d.Write(b, 0, make([]byte, 4)), why, "Write")
	require.ErrorIs(t, d.Read(context.Background(), make([]byte, 4), b, 0), why, "Read")
	_, err = d.NewReadback(16)
	require.ErrorIs(t, err, why, "NewReadback")
	require.ErrorIs(t, d.Take(context.Background(), make([]byte, 4), b), why, "Take")
}

func deviceLostInRead(t *testing.T, s Subject) {
	d := s.Open(t)
	b := NewBuffer(t, d, make([]byte, 16))
	s.Lose(d)
	require.ErrorIs(t, d.Read(context.Background(), make([]byte, 4), b, 0), driver.ErrDeviceLost)
}

func closed(t *testing.T, s Subject) {
	d := s.Open(t)
	b := NewBuffer(t, d, make([]byte, 16))
	f := Must(d.Submit("before", nil, nil))(t)
	for range 2 {
		require.NoError(t, d.Close())
	}
	refusesAll(t, d, b, s.Closed)
	require.ErrorIs(t, d.Wait(context.Background(), f), s.Closed)
	b.Release()
}
