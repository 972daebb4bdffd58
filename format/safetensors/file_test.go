package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// write returns a file of float tensors, each filled by fill(tensor, element).
func write(t *testing.T, specs []Spec, metadata map[string]string, fill func(k, i int) float32) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, specs, metadata)
	require.NoError(t, err)
	for k, s := range specs {
		require.NoError(t, w.Begin(s.Name))
		n, _, _ := extent(s.DType, s.Shape)
		values := make([]float32, n)
		for i := range values {
			values[i] = fill(k, i)
		}
		// Two uneven parts, as a streaming caller would.
		require.NoError(t, errors.Join(w.WriteF32(values[:n/3]), w.WriteF32(values[n/3:])))
	}
	require.NoError(t, w.Close())
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
	require.NoError(t, err)
	require.Zero(t, f.data%8, "data begins at %d, not at a multiple of 8", f.data)
	header, data, err := Size(specs, metadata)
	require.NoError(t, err)
	require.EqualValues(t, len(b), 8+header+data, "size of the file")
	require.Equal(t, f.data-8, header)
	require.Equal(t, metadata, f.Metadata())
	for k, s := range specs {
		require.Equal(t, s.Name, f.Names()[k], "tensor %d", k)
		a, ok := f.Tensor(s.Name)
		require.True(t, ok, s.Name)
		require.Equal(t, s.DType, a.DType, s.Name)
		require.Len(t, a.Shape, len(s.Shape), s.Name)
		got := make([]float32, a.Elements())
		require.NoError(t, a.ReadF32(got, 0))
		want := make([]float32, len(got))
		for i := range want {
			want[i] = value(k, i)
		}
		require.True(t, slices.Equal(want, got), "%q: values differ", s.Name)
	}
	_, ok := f.Tensor("missing")
	require.False(t, ok, "found a tensor that is not there")
}

func TestReadParts(t *testing.T) {
	specs := []Spec{{"first", F16, []int{3}}, {"x", F16, []int{chunk + 100}}}
	f, err := open(write(t, specs, nil, func(_, i int) float32 { return float32(i % 2048) }))
	require.NoError(t, err)
	x, _ := f.Tensor("x")
	for _, r := range [][2]int{{0, 1}, {1, 5}, {chunk - 3, 10}, {chunk + 99, 1}, {chunk + 100, 0}, {7, chunk + 93}} {
		got := make([]float32, r[1])
		require.NoError(t, x.ReadF32(got, r[0]))
		raw := make([]byte, 2*r[1])
		require.NoError(t, x.ReadRaw(raw, int64(2*r[0])))
		again := make([]float32, r[1])
		decode(again, raw, F16)
		want := make([]float32, r[1])
		for i := range want {
			want[i] = float32((r[0] + i) % 2048)
		}
		require.True(t, slices.Equal(want, got), "%d from %d as floats", r[1], r[0])
		require.True(t, slices.Equal(want, again), "%d from %d as bytes", r[1], r[0])
	}
	for _, r := range [][2]int{{-1, 1}, {0, chunk + 101}, {chunk + 100, 1}, {math.MaxInt, 1}} {
		err := x.ReadF32(make([]float32, r[1]), r[0])
		assert.ErrorContains(t, err, `m.safetensors: tensor "x": elements`, "reading %d from %d", r[1], r[0])
		assert.Error(t, x.ReadRaw(make([]byte, 2*r[1]), int64(r[0])*2), "reading raw %d from %d", r[1], r[0])
	}
}

func TestReadF32WantsFloats(t *testing.T) {
	f, err := open(fileOf(one(`"I32"`, `[1]`, `[0,4]`), 4))
	require.NoError(t, err)
	a, _ := f.Tensor("a")
	want := `safetensors: m.safetensors: tensor "a": dtype is I32, expected F16, BF16, F32 or F64`
	require.EqualError(t, a.ReadF32(make([]float32, 1), 0), want)
}

// Bit patterns from the definitions of IEEE 754 and bfloat16, not from a library.
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
		decode(got, src, c.d)
		assert.Equal(t, c.value, got[0], "%s %#04x", c.d, c.bits)
		back := make([]byte, 2)
		encode(back, got, c.d)
		assert.Equal(t, src, back, "%s of %v", c.d, c.value)
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
		encode(got, []float32{c.value}, c.d)
		assert.Equal(t, c.bits, binary.LittleEndian.Uint16(got), "%s of %v", c.d, c.value)
	}
	nan := []float32{math.Float32frombits(0x7f800001)}
	for _, d := range []DType{F16, BF16, F32, F64} {
		b, got := make([]byte, 8), make([]float32, 1)
		encode(b, nan, d)
		decode(got, b, d)
		assert.True(t, got[0] != got[0], "%s turns NaN into %v", d, got[0])
	}
}

// NaN and infinity are kept, also at the end of a chunk.
func TestNonFinite(t *testing.T) {
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
				require.NoError(t, err)
				x, _ := f.Tensor("x")
				values := make([]float32, x.Elements())
				require.NoError(t, x.ReadF32(values, 0))
				first := slices.IndexFunc(values, func(v float32) bool { return v-v != 0 })
				require.Equal(t, at, first, "%s: %v", d, bad)
				if at >= 0 {
					require.Equal(t, fmt.Sprint(bad), fmt.Sprint(values[at]), "%s", d) // all NaN print alike
				}
			}
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	b := write(t, []Spec{{"x", F32, []int{1 << 20}}}, nil, func(_, i int) float32 { return float32(i) })
	require.NoError(t, os.WriteFile(path, b, 0o600))
	f, err := Open(path)
	require.NoError(t, err)
	x, _ := f.Tensor("x")
	got := make([]float32, 3)
	require.NoError(t, x.ReadF32(got, 1<<20-3))
	require.Equal(t, float32(1<<20-1), got[2], "last element")
	require.NoError(t, f.Close())
	require.NoError(t, f.Close(), "closed twice")
	err = x.ReadF32(got, 0)
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorContains(t, err, path+`: tensor "x"`)
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(dir)
	require.ErrorContains(t, err, dir)
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	var format *FormatError
	_, err = Open(empty)
	require.ErrorAs(t, err, &format)
}

// Truncating a mapped file causes an error, not a crash.
func TestTruncatedWhileOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be truncated here")
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	b := write(t, []Spec{{"x", F32, []int{1 << 20}}}, nil, func(_, i int) float32 { return 1 })
	require.NoError(t, os.WriteFile(path, b, 0o600))
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, os.Truncate(path, 4096))
	x, _ := f.Tensor("x")
	require.Error(t, x.ReadF32(make([]float32, 8), 1<<19), "read data that is gone")
}

// Reading a window of a large tensor allocates only the window.
func TestReadAllocatesLittle(t *testing.T) {
	f, err := open(write(t, []Spec{{"x", F16, []int{1 << 22}}}, nil, func(_, i int) float32 { return 1 }))
	require.NoError(t, err)
	x, _ := f.Tensor("x")
	window := make([]float32, chunk)
	got := allocated(func() {
		for i := 0; i < 64; i++ {
			require.NoError(t, x.ReadF32(window, i*chunk))
		}
	})
	require.LessOrEqual(t, got, uint64(64*3*chunk), "bytes allocated to read 64 windows of %d bytes", 2*chunk)
}
