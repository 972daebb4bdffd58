//go:build !js

package dawn

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"tessera/gpu/internal/driver"
)

// wants fails unless err is target (nil for any) and its text has every part.
func wants(t *testing.T, err, target error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %v with %q", target, parts)
	}
	if target != nil && !errors.Is(err, target) {
		t.Errorf("error %q is not %v", err, target)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

// alive fails unless the device still computes.
func alive(t *testing.T, d *device) {
	t.Helper()
	if got := read(t, d, newBuffer(t, d, words(1, 2, 3)), 3); got[2] != 3 {
		t.Fatalf("read back %v", got)
	}
}

func TestShaderError(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		p := scaleDescriptor(1)
		p.Source = strings.Replace(p.Source, "let i = id.x", "let i = idx.x", 1)
		_, err := d.NewPipeline(p)
		wants(t, err, nil, "scale: ", "\n7:11: ", "unresolved value 'idx'",
			"\n>    7 |   let i = idx.x + params.start;", "\n     4 | @group(0)", "\n    10 | }")
		alive(t, d)
	})
}

func TestPipelineErrors(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
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
				p := scaleDescriptor(1)
				c.change(&p)
				_, err := d.NewPipeline(p)
				wants(t, err, c.target, "dawn: scale: ", c.part)
				alive(t, d)
			})
		}
	})
}

func TestTooLarge(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		most := d.Info().Limits.MaxBuffer
		_, err := d.NewBuffer("weight", most/4*4+4, false)
		wants(t, err, driver.ErrTooLarge, "weight", "device allows")
		for _, size := range []int64{0, -4, 6} {
			_, err = d.NewBuffer("odd", size, false)
			wants(t, err, nil, "odd", "multiple of 4")
		}
		if d.Info().Limits.MaxBinding+256 > most {
			return // as on Direct3D 12: no buffer is too large to be bound
		}
		p := must(d.NewPipeline(scaleDescriptor(1)))(t)
		uniform := must(d.NewBuffer("uniform", 256, true))(t)
		big := must(d.NewBuffer("big", d.Info().Limits.MaxBinding+256, false))(t)
		view := driver.Binding{Buffer: big, Size: d.Info().Limits.MaxBinding + 4}
		_, err = d.NewBindGroup("group", p, uniform, []driver.Binding{view, view})
		wants(t, err, driver.ErrTooLarge, "group", "binding 1 of big", "device allows")
		alive(t, d)
	})
}

func TestBindGroupErrors(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		p := must(d.NewPipeline(scaleDescriptor(1)))(t)
		uniform := must(d.NewBuffer("uniform", 256, true))(t)
		b := newBuffer(t, d, make([]byte, 1024))
		ok := driver.Binding{Buffer: b, Size: 512}
		_, err := d.NewBindGroup("group", p, uniform, []driver.Binding{ok})
		wants(t, err, nil, "group", "1 storage bindings, scale declares 2")
		_, err = d.NewBindGroup("group", p, uniform, []driver.Binding{ok, {Buffer: b, Offset: 20, Size: 4}})
		wants(t, err, nil, "group", "20")
		_, err = d.NewBindGroup("group", p, uniform, []driver.Binding{ok, {Buffer: b, Offset: 512, Size: 1024}})
		wants(t, err, nil, "group", "1024")
		_, err = d.NewBindGroup("group", p, b, []driver.Binding{ok, ok})
		wants(t, err, nil, "group", "Uniform")
		alive(t, d)
	})
}

// TestSubmitErrors: what Dawn only notices when commands are recorded comes
// back from Submit, or on Direct3D at times from Wait, once, and the device
// lives on.
func TestSubmitErrors(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		p := must(d.NewPipeline(scaleDescriptor(1)))(t)
		uniform := must(d.NewBuffer("uniform", 512, true))(t)
		b, c := newBuffer(t, d, make([]byte, 1024)), newBuffer(t, d, make([]byte, 1024))
		g := must(d.NewBindGroup("group", p, uniform, []driver.Binding{{Buffer: b, Size: 1024}, {Buffer: c, Size: 1024}}))(t)
		for name, command := range map[string]driver.Command{
			"offset past the uniform": {Pipeline: p, Group: g, UniformOffset: 512, Groups: [3]uint32{1, 1, 1}},
			"grid too large":          {Pipeline: p, Group: g, Groups: [3]uint32{d.Info().Limits.MaxGroups + 1, 1, 1}},
			"copy past the end":       {Src: driver.Binding{Buffer: b, Offset: 1000, Size: 100}, Dst: driver.Binding{Buffer: c, Size: 100}},
		} {
			t.Run(name, func(t *testing.T) {
				f, err := d.Submit("broken", []driver.Command{command})
				if err == nil && runtime.GOOS == "windows" {
					err = d.Wait(context.Background(), f)
					wants(t, err, nil, "valid")
				} else {
					wants(t, err, nil, "dawn: submit broken: ")
				}
				alive(t, d)
			})
		}
	})
}

func TestReadWriteErrors(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		b := newBuffer(t, d, make([]byte, 16))
		wants(t, d.Write(b, 8, make([]byte, 12)), nil, "data: write of 12 bytes at 8")
		wants(t, d.Write(b, 2, make([]byte, 4)), nil, "at 2")
		wants(t, d.Read(context.Background(), make([]byte, 6), b, 0), nil, "data: read of 6 bytes")
		b.Release()
		wants(t, d.Write(b, 0, make([]byte, 4)), nil, "data")
	})
}

func TestDeviceLost(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		p := must(d.NewPipeline(scaleDescriptor(1)))(t)
		b := newBuffer(t, d, make([]byte, 16))
		f := must(d.Submit("before", nil))(t)
		call(d.DeviceDestroy, d.handle)
		wants(t, d.Wait(context.Background(), f), driver.ErrDeviceLost, "destroyed")
		_, err := d.Submit("after", []driver.Command{{Src: driver.Binding{Buffer: b, Size: 4}, Dst: driver.Binding{Buffer: b, Offset: 8, Size: 4}}})
		wants(t, err, driver.ErrDeviceLost)
		_, err = d.NewBuffer("after", 16, false)
		wants(t, err, driver.ErrDeviceLost)
		_, err = d.NewPipeline(scaleDescriptor(1))
		wants(t, err, driver.ErrDeviceLost)
		wants(t, d.Write(b, 0, make([]byte, 4)), driver.ErrDeviceLost)
		wants(t, d.Read(context.Background(), make([]byte, 4), b, 0), driver.ErrDeviceLost)
		p.Release()
		b.Release()
	})
}

func TestDeviceLostInRead(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		b := newBuffer(t, d, make([]byte, 16))
		call(d.DeviceDestroy, d.handle)
		wants(t, d.Read(context.Background(), make([]byte, 4), b, 0), driver.ErrDeviceLost)
	})
}

func TestClosed(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		b := newBuffer(t, d, make([]byte, 16))
		f := must(d.Submit("before", nil))(t)
		for range 2 {
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
		_, err := d.Submit("after", nil)
		wants(t, err, errClosed)
		_, err = d.NewBuffer("after", 16, false)
		wants(t, err, errClosed)
		wants(t, d.Write(b, 0, make([]byte, 4)), errClosed)
		wants(t, d.Read(context.Background(), make([]byte, 4), b, 0), errClosed)
		wants(t, d.Wait(context.Background(), f), errClosed)
		b.Release()
	})
}

// busy keeps the device at work for some hundred milliseconds on lavapipe.
const busy = `struct Params { a: vec4<u32> }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  var x = id.x + params.a.x;
  for (var i = 0u; i < 3000000u; i++) { x = x * 1664525u + 1013904223u + (x >> 3u); }
  dst[id.x] = x;
}`

// TestCancel: a context that ends early ends the wait and the read, and the
// device works on.
func TestCancel(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		p := must(d.NewPipeline(driver.PipelineDescriptor{Label: "busy", Source: busy, UniformSize: 16, Storage: []driver.Access{driver.ReadWrite}}))(t)
		uniform := must(d.NewBuffer("uniform", 256, true))(t)
		b := must(d.NewBuffer("out", 1024, false))(t)
		g := must(d.NewBindGroup("group", p, uniform, []driver.Binding{{Buffer: b, Size: 1024}}))(t)
		f := must(d.Submit("busy", []driver.Command{{Pipeline: p, Group: g, Groups: [3]uint32{4, 1, 1}}}))(t)
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Millisecond)
		defer cancel()
		start := time.Now()
		wants(t, d.Wait(ctx, f), context.DeadlineExceeded)
		wants(t, d.Read(ctx, make([]byte, 1024), b, 0), context.DeadlineExceeded)
		stopped := time.Since(start)
		if err := d.Wait(context.Background(), f); err != nil {
			t.Fatal(err)
		}
		if done := time.Since(start); done < 2*stopped {
			t.Errorf("the work took %v, the cancelled waits %v of it: too alike to tell", done, stopped)
		}
		alive(t, d)
	})
}
