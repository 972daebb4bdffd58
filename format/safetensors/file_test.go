package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// write makes a file of float tensors, each filled by fill(tensor, element).
func write(t *testing.T, specs []Spec, metadata map[string]string, fill func(k, i int) float32) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, specs, metadata)
	if err != nil {
		t.Fatal(err)
	}
	for k, s := range specs {
		if err := w.Begin(s.Name); err != nil {
			t.Fatal(err)
		}
		n, _, _ := extent(s.DType, s.Shape)
		values := make([]float32, n)
		for i := range values {
			values[i] = fill(k, i)
		}
		// Two uneven parts, as a streaming caller would.
		if err := errors.Join(w.WriteF32(values[:n/3]), w.WriteF32(values[n/3:])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRoundTrip(t *testing.T) {
	specs := []Spec{
		{"encoder.conv <in> & \"out\"\n", F16, []int{3, 5, 7}},
		{"b", BF16, []int{2*chunk + 17}}, // over two chunks
		{"scalar", F32, nil},
		{"empty", F32, []int{4, 0}},
		{"ä漢", F64, []int{2, 2}},
	}
	metadata := map[string]string{"norm_num_groups": "8", "a\tb": "<é>"}
	// Quarters up to 32 are exact in every type.
	value := func(k, i int) float32 { return float32((i*31+k)%256-128) / 4 }
	b := write(t, specs, metadata, value)
	f, err := open(b)
	if err != nil {
		t.Fatal(err)
	}
	if f.data%8 != 0 {
		t.Errorf("data begins at %d, not at a multiple of 8", f.data)
	}
	if header, data, err := Size(specs, metadata); err != nil || 8+header+data != int64(len(b)) || header != f.data-8 {
		t.Errorf("Size says %d + %d (%v), the file has %d bytes", header, data, err, len(b))
	}
	if got := f.Metadata(); len(got) != 2 || got["norm_num_groups"] != "8" || got["a\tb"] != "<é>" {
		t.Errorf("metadata %q", got)
	}
	for k, s := range specs {
		if f.Names()[k] != s.Name {
			t.Errorf("tensor %d is %q, want %q", k, f.Names()[k], s.Name)
		}
		a, ok := f.Tensor(s.Name)
		if !ok || a.DType != s.DType || len(a.Shape) != len(s.Shape) {
			t.Fatalf("%q: %v %+v", s.Name, ok, a)
		}
		got := make([]float32, a.Elements())
		if err := a.ReadF32(got, 0); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if v != value(k, i) {
				t.Fatalf("%q[%d] = %v, want %v", s.Name, i, v, value(k, i))
			}
		}
	}
	if _, ok := f.Tensor("missing"); ok {
		t.Error("found a tensor that is not there")
	}
}

func TestReadParts(t *testing.T) {
	specs := []Spec{{"first", F16, []int{3}}, {"x", F16, []int{chunk + 100}}}
	f, err := open(write(t, specs, nil, func(_, i int) float32 { return float32(i % 2048) }))
	if err != nil {
		t.Fatal(err)
	}
	x, _ := f.Tensor("x")
	for _, r := range [][2]int{{0, 1}, {1, 5}, {chunk - 3, 10}, {chunk + 99, 1}, {chunk + 100, 0}, {7, chunk + 93}} {
		got := make([]float32, r[1])
		if err := x.ReadF32(got, r[0]); err != nil {
			t.Fatal(err)
		}
		raw := make([]byte, 2*r[1])
		if err := x.ReadRaw(raw, int64(2*r[0])); err != nil {
			t.Fatal(err)
		}
		again := make([]float32, r[1])
		decode(again, raw, F16)
		for i := range got {
			if want := float32((r[0] + i) % 2048); got[i] != want || again[i] != want {
				t.Fatalf("from %d: [%d] = %v and %v, want %v", r[0], i, got[i], again[i], want)
			}
		}
	}
	for _, r := range [][2]int{{-1, 1}, {0, chunk + 101}, {chunk + 100, 1}, {math.MaxInt, 1}} {
		err := x.ReadF32(make([]float32, r[1]), r[0])
		if err == nil || !strings.Contains(err.Error(), `m.safetensors: tensor "x": elements`) {
			t.Errorf("reading %d from %d: %v", r[1], r[0], err)
		}
		if err := x.ReadRaw(make([]byte, 2*r[1]), int64(r[0])*2); err == nil {
			t.Errorf("reading raw %d from %d: no error", r[1], r[0])
		}
	}
}

func TestReadF32WantsFloats(t *testing.T) {
	f, err := open(file(one(`"I32"`, `[1]`, `[0,4]`), 4))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := f.Tensor("a")
	want := `safetensors: m.safetensors: tensor "a": dtype is I32, expected F16, BF16, F32 or F64`
	if err := a.ReadF32(make([]float32, 1), 0); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Bit patterns from IEEE 754 and from bfloat16's definition, not from a
// library.
func TestConversions(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		d     DType
		bits  uint16
		value float32
	}{
		{F16, 0x3c00, 1}, {F16, 0xc000, -2}, {F16, 0x7bff, 65504}, {F16, 0x0400, 0x1p-14},
		{F16, 0x0001, 0x1p-24}, {F16, 0x83ff, -0x3ffp-24}, {F16, 0x7c00, inf}, {F16, 0x3555, 0.333251953125},
		{BF16, 0x3f80, 1}, {BF16, 0xc000, -2}, {BF16, 0x7f80, inf}, {BF16, 0x0001, 0x1p-133}, {BF16, 0x3eab, 0.333984375},
	} {
		src := binary.LittleEndian.AppendUint16(nil, c.bits)
		got := make([]float32, 1)
		if decode(got, src, c.d); got[0] != c.value {
			t.Errorf("%s %#04x = %v, want %v", c.d, c.bits, got[0], c.value)
		}
		back := make([]byte, 2)
		if encode(back, got, c.d); !bytes.Equal(back, src) {
			t.Errorf("%s of %v = %x, want %x", c.d, c.value, back, src)
		}
	}
	for _, c := range []struct {
		d     DType
		value float32
		bits  uint16
	}{
		{F16, 1 + 0x1p-11, 0x3c00}, {F16, 1 + 0x3p-11, 0x3c02}, {F16, 1 + 0x1.001p-11, 0x3c01}, {F16, 65520, 0x7c00}, {F16, 0x1p-25, 0},
		{BF16, 1 + 0x1p-8, 0x3f80}, {BF16, 1 + 0x3p-8, 0x3f82}, {BF16, 1 + 0x1.001p-8, 0x3f81}, {BF16, math.MaxFloat32, 0x7f80},
	} {
		got := make([]byte, 2)
		if encode(got, []float32{c.value}, c.d); binary.LittleEndian.Uint16(got) != c.bits {
			t.Errorf("%s of %v = %#04x, want %#04x", c.d, c.value, binary.LittleEndian.Uint16(got), c.bits)
		}
	}
	nan := []float32{math.Float32frombits(0x7f800001)}
	for _, d := range []DType{F16, BF16, F32, F64} {
		b, got := make([]byte, 8), make([]float32, 1)
		encode(b, nan, d)
		if decode(got, b, d); got[0] == got[0] {
			t.Errorf("%s turns NaN into %v", d, got[0])
		}
	}
}

func TestFirstNonFinite(t *testing.T) {
	for _, d := range []DType{F16, BF16, F32, F64} {
		for _, at := range []int{-1, 0, chunk - 1, chunk, 2*chunk + 5} {
			for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
				b := write(t, []Spec{{"x", d, []int{2*chunk + 6}}}, nil, func(_, i int) float32 {
					if at >= 0 && i >= at {
						return bad
					}
					return 1
				})
				f, err := open(b)
				if err != nil {
					t.Fatal(err)
				}
				x, _ := f.Tensor("x")
				got, value, err := x.FirstNonFinite()
				if err != nil || got != at || (at >= 0 && math.Float32bits(value) != math.Float32bits(bad) && value == value) {
					t.Errorf("%s: found %v at %d (%v), want %d", d, value, got, err, at)
				}
			}
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	b := write(t, []Spec{{"x", F32, []int{1 << 20}}}, nil, func(_, i int) float32 { return float32(i) })
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	x, _ := f.Tensor("x")
	got := make([]float32, 3)
	if err := x.ReadF32(got, 1<<20-3); err != nil || got[2] != 1<<20-1 {
		t.Errorf("last elements %v, %v", got, err)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	err = x.ReadF32(got, 0)
	if !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), path+`: tensor "x"`) {
		t.Errorf("reading after Close: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var format *FormatError
	if _, err := Open(empty); !errors.As(err, &format) {
		t.Error(err)
	}
}

// A file cut short while it is mapped is an error and not a crash.
func TestTruncatedWhileOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be truncated here")
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	b := write(t, []Spec{{"x", F32, []int{1 << 20}}}, nil, func(_, i int) float32 { return 1 })
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	x, _ := f.Tensor("x")
	if err := x.ReadF32(make([]float32, 8), 1<<19); err == nil {
		t.Error("read data that is gone")
	}
}

// Reading a large tensor through a window costs the window.
func TestReadAllocatesLittle(t *testing.T) {
	f, err := open(write(t, []Spec{{"x", F16, []int{1 << 22}}}, nil, func(_, i int) float32 { return 1 }))
	if err != nil {
		t.Fatal(err)
	}
	x, _ := f.Tensor("x")
	window := make([]float32, chunk)
	got := allocated(func() {
		for i := 0; i < 64; i++ {
			if err := x.ReadF32(window, i*chunk); err != nil {
				t.Fatal(err)
			}
		}
	})
	if got > 64*3*chunk {
		t.Errorf("%d bytes allocated to read 64 windows of %d bytes", got, 2*chunk)
	}
}
