//go:build !js

package dawn

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"tessera/gpu/internal/driver"
)

// lib is one Dawn to test with.
type lib struct{ name, path string }

// vintages are the two libraries that tools/deps.sh --test installs; on Windows
// the one beside the test.
func vintages() []lib {
	cache, _ := os.UserCacheDir()
	dir := filepath.Join(cache, "tessera", "dawn")
	list := []lib{{"stable", filepath.Join(dir, cacheStable, names()[0])}, {"of2025", filepath.Join(dir, cache2025, names()[1])}}
	if runtime.GOOS == "windows" {
		exe, _ := os.Executable()
		list = []lib{{"of2025", filepath.Join(filepath.Dir(exe), names()[1])}}
	}
	if runtime.GOOS == "darwin" {
		list = list[:1]
	}
	return list
}

// missing skips the test with the reason; with GPU=require it fails it.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("GPU") == "require" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// onBoth runs f on a fresh device of each vintage.
func onBoth(t *testing.T, f func(t *testing.T, d *device)) {
	for _, l := range vintages() {
		t.Run(l.name, func(t *testing.T) { f(t, open(t, driver.Options{Adapter: -1, Library: l.path})) })
	}
}

func open(t *testing.T, opt driver.Options) *device {
	t.Helper()
	d, err := Open(opt)
	if errors.Is(err, driver.ErrNoLibrary) || errors.Is(err, driver.ErrNoAdapter) {
		missing(t, "%v; run make deps", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d.(*device)
}

// must returns v, or ends the test.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func words(list ...uint32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, list)
	return b
}

func newBuffer(t *testing.T, d *device, data []byte) driver.Buffer {
	t.Helper()
	b := must(d.NewBuffer("data", int64(len(data)), false))(t)
	if err := d.Write(b, 0, data); err != nil {
		t.Fatal(err)
	}
	return b
}

func read(t *testing.T, d *device, b driver.Buffer, n int) []uint32 {
	t.Helper()
	raw := make([]byte, 4*n)
	if err := d.Read(context.Background(), raw, b, 0); err != nil {
		t.Fatal(err)
	}
	out := make([]uint32, n)
	if err := binary.Read(bytes.NewReader(raw), binary.LittleEndian, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// scale multiplies by a constant and adds the uniform, a slot of 256 bytes a
// dispatch.
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

func scaleDescriptor(factor float64) driver.PipelineDescriptor {
	return driver.PipelineDescriptor{
		Label: "scale", Source: scale, Constants: map[string]float64{"factor": factor},
		UniformSize: 16, Storage: []driver.Access{driver.Read, driver.ReadWrite},
	}
}

// TestCompute runs two dispatches with different dynamic offsets, a copy and a
// dispatch that reads what the copy wrote, in one submission.
func TestCompute(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		const n = 1000
		in := make([]uint32, n)
		for i := range in {
			in[i] = uint32(i)
		}
		src := newBuffer(t, d, words(in...))
		mid := newBuffer(t, d, make([]byte, 4*n))
		mid2 := newBuffer(t, d, make([]byte, 4*n))
		dst := newBuffer(t, d, make([]byte, 4*n))
		uniform := must(d.NewBuffer("uniform", 1024, true))(t)
		if err := d.Write(uniform, 0, append(make([]byte, 256), words(7, 0, 0, 0)...)); err != nil {
			t.Fatal(err)
		}
		if err := d.Write(uniform, 512, words(9, 512, 0, 0)); err != nil {
			t.Fatal(err)
		}
		p := must(d.NewPipeline(scaleDescriptor(3)))(t)
		all := func(b driver.Buffer) driver.Binding { return driver.Binding{Buffer: b, Size: 4 * n} }
		first := must(d.NewBindGroup("first", p, uniform, []driver.Binding{all(src), all(mid)}))(t)
		second := must(d.NewBindGroup("second", p, uniform, []driver.Binding{all(mid2), all(dst)}))(t)
		commands := []driver.Command{
			{Pipeline: p, Group: first, UniformOffset: 256, Groups: [3]uint32{8, 1, 1}},
			{Pipeline: p, Group: first, UniformOffset: 512, Groups: [3]uint32{8, 1, 1}},
			{Src: driver.Binding{Buffer: mid, Offset: 4, Size: 4*n - 4}, Dst: driver.Binding{Buffer: mid2, Size: 4*n - 4}},
			{Pipeline: p, Group: second, UniformOffset: 0, Groups: [3]uint32{16, 1, 1}},
		}
		for range 2 {
			f := must(d.Submit("test", commands))(t)
			if err := d.Wait(context.Background(), f); err != nil {
				t.Fatal(err)
			}
			if err := d.Wait(context.Background(), f); err != nil {
				t.Fatalf("second wait: %v", err)
			}
			want := make([]uint32, n)
			for i := range want {
				if j := i + 1; j >= n {
					want[i] = 0
				} else if j < 512 {
					want[i] = (uint32(j)*3 + 7) * 3
				} else {
					want[i] = (uint32(j)*3 + 9) * 3
				}
			}
			if got := read(t, d, dst, n); !slices.Equal(got, want) {
				t.Fatalf("got %v …, want %v …", got[:8], want[:8])
			}
		}
		for _, r := range []interface{ Release() }{first, second, p, src, mid, dst, uniform} {
			r.Release()
			r.Release()
		}
	})
}
