// Package drivertest contains the tests that every driver must pass. A driver's tests
// describe the driver as a Subject and call Run:
//
//	drivertest.Run(t, drivertest.Subject{Name: "dawn", Open: open, Lose: lose, …})
package drivertest

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
	"tessera/tests/testenv"
)

// Subject is a driver under test.
type Subject struct {
	Name   string                           // prefix of its errors
	Open   func(t testing.TB) driver.Device // a fresh device, closed at the test's end
	Lose   func(d driver.Device)            // destroys a device behind the driver's back
	Broken func(t testing.TB, err error)    // checks the error of the submission "broken"
	Closed error                            // error of a closed device
	Chunks driver.Chunks                    // lengths of its transfers
}

// Run runs all tests, each on a fresh device.
func Run(t *testing.T, s Subject) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"Compute", compute},
		{"ShaderError", shaderError},
		{"PipelineErrors", pipelineErrors},
		{"TooLarge", tooLarge},
		{"BindGroupErrors", bindGroupErrors},
		{"SubmitErrors", submitErrors},
		{"ReadWriteErrors", readWriteErrors},
		{"DeviceLost", deviceLost},
		{"DeviceLostInRead", deviceLostInRead},
		{"Closed", closed},
		{"Cancel", cancel},
		{"LargeTransfers", largeTransfers},
		{"Order", order},
		{"Take", take},
		{"Times", times},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, s) })
	}
}

// Open opens a device for a test with a driver's own Open. Without a library or adapter
// it skips the test with the reason, or fails if the environment has GPU=require.
func Open(t testing.TB, open func(driver.Options) (driver.Device, error), o driver.Options) driver.Device {
	t.Helper()
	testenv.Device(t)
	d, err := open(o)
	if errors.Is(err, driver.ErrNoLibrary) || errors.Is(err, driver.ErrNoAdapter) {
		testenv.Missing(t, "%v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

// Wants fails unless err wraps target, if that is not nil, and its text contains every
// part.
func Wants(t testing.TB, err, target error, parts ...string) {
	t.Helper()
	require.Error(t, err)
	if target != nil {
		assert.ErrorIs(t, err, target)
	}
	for _, p := range parts {
		assert.ErrorContains(t, err, p)
	}
}

// Must returns v, or ends the test.
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// Words encodes numbers for the device.
func Words(list ...uint32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, list)
	return b
}

// NewBuffer creates a buffer "data" that holds data.
func NewBuffer(t testing.TB, d driver.Device, data []byte) driver.Buffer {
	t.Helper()
	b := Must(d.NewBuffer("data", int64(len(data)), false))(t)
	require.NoError(t, d.Write(b, 0, data))
	return b
}

// Read returns a buffer's first n numbers.
func Read(t testing.TB, d driver.Device, b driver.Buffer, n int) []uint32 {
	t.Helper()
	raw := make([]byte, 4*n)
	require.NoError(t, d.Read(context.Background(), raw, b, 0))
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return out
}

// Alive fails unless the device still computes.
func Alive(t testing.TB, d driver.Device) {
	t.Helper()
	require.Equal(t, []uint32{1, 2, 3}, Read(t, d, NewBuffer(t, d, Words(1, 2, 3)), 3), "the device reads back other than was written")
}

// scale multiplies by a constant and adds the uniform. Each dispatch has a uniform slot
// of 256 bytes.
const scale = `struct Params { add: u32, start: u32, b: u32, c: u32 }
override factor: u32 = 1;
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> src: array<u32>;
@group(0) @binding(2) var<storage, read_write> dst: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = id.x + params.start;
  if (i >= arrayLength(&src)) { return; }
  dst[i] = src[i] * factor + params.add;
}`

// Scale returns a program "scale" of 64 invocations: binding 2 is binding 1 times
// factor plus the uniform's first number.
func Scale(factor float64) driver.PipelineDescriptor {
	return driver.PipelineDescriptor{
		Label: "scale", Source: scale, Constants: map[string]float64{"factor": factor},
		UniformSize: 16, Storage: []driver.Access{driver.Read, driver.ReadWrite},
	}
}

// Compile compiles a pipeline and waits for it.
func Compile(d driver.Device, p driver.PipelineDescriptor) (driver.Pipeline, error) {
	return d.NewPipeline(p)(context.Background())
}

// busy occupies the device for some hundred milliseconds on lavapipe.
const busy = `struct Params { a: vec4<u32> }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  var x = id.x + params.a.x;
  for (var i = 0u; i < 3000000u; i++) { x = x * 1664525u + 1013904223u + (x >> 3u); }
  dst[id.x] = x;
}`

// newBusy returns a dispatch of busy.
func newBusy(t testing.TB, d driver.Device, out driver.Buffer) driver.Command {
	p := Must(Compile(d, driver.PipelineDescriptor{Label: "busy", Source: busy, UniformSize: 16, Storage: []driver.Access{driver.ReadWrite}}))(t)
	uniform := Must(d.NewBuffer("uniform", 256, true))(t)
	g := Must(d.NewBindGroup("group", p, uniform, []driver.Binding{{Buffer: out, Size: 1024}}))(t)
	return driver.Command{Pipeline: p, Group: g, Groups: [3]uint32{4, 1, 1}}
}
