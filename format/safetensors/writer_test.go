package safetensors

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The layout of the README example of the reference implementation, byte for byte except
// for the padding.
func TestWriterLayout(t *testing.T) {
	b := write(t, []Spec{{"test", F32, []int{2, 2}}}, nil, func(_, i int) float32 { return 0 })
	want := "\x40\x00\x00\x00\x00\x00\x00\x00" + `{"test":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}    ` + strings.Repeat("\x00", 16)
	require.Equal(t, want, string(b))
}

func TestWriterRefusesSpecs(t *testing.T) {
	cases := []struct {
		name     string
		specs    []Spec
		metadata map[string]string
		want     string
	}{
		{"twice", []Spec{{"a", F32, nil}, {"a", F32, nil}}, nil, `tensor "a": name is reserved or used twice`},
		{"reserved", []Spec{{"__metadata__", F32, nil}}, nil, `name is reserved`},
		{"dtype", []Spec{{"a", "F33", nil}}, nil, `tensor "a": dtype "F33" is unknown`},
		{"negative", []Spec{{"a", F32, []int{2, -1}}}, nil, `tensor "a": shape [2 -1] has a negative dimension`},
		{"overflow", []Spec{{"a", F32, []int{1 << 40, 1 << 40}}}, nil, `tensor "a": shape [1099511627776 1099511627776] has more`},
		{"sum overflow", append(repeat(Spec{"a", U8, []int{1 << 59}}, 15), Spec{"b", U8, []int{1 << 59}}), nil, `tensor "b": data passes 2^63 bytes`},
		{"name", []Spec{{"a\xff", F32, nil}}, nil, `name is not UTF-8`},
		{"metadata", nil, map[string]string{"k": "\xff"}, `metadata "k" is not UTF-8`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := NewWriter(&out, c.specs, c.metadata)
			require.ErrorContains(t, err, c.want)
			require.Zero(t, out.Len(), "bytes written all the same")
		})
	}
}

func repeat(s Spec, n int) []Spec {
	specs := make([]Spec, n)
	for i := range specs {
		specs[i] = s
		specs[i].Name += string(rune('0' + i))
	}
	return specs
}

func TestWriterCountsBytes(t *testing.T) {
	specs := []Spec{{"a", F32, []int{2}}, {"e", F16, []int{0}}, {"b", I32, []int{1}}}
	begin := func(name string) func(*Writer) error {
		return func(w *Writer) error { return w.Begin(name) }
	}
	raw := func(n int) func(*Writer) error {
		return func(w *Writer) error { _, err := w.Write(make([]byte, n)); return err }
	}
	floats := func(n int) func(*Writer) error {
		return func(w *Writer) error { return w.WriteF32(make([]float32, n)) }
	}
	end := (*Writer).Close
	cases := []struct {
		name  string
		steps []func(*Writer) error // the last one fails
		want  string
	}{
		{"nothing begun", []func(*Writer) error{raw(1)}, "before the first tensor: 1 bytes too many"},
		{"floats before", []func(*Writer) error{floats(1)}, "before the first tensor"},
		{"nothing written", []func(*Writer) error{end}, `0 of 3 tensors written, "a" is missing`},
		{"wrong order", []func(*Writer) error{begin("b")}, `tensor "b" written, expected "a"`},
		{"too few", []func(*Writer) error{begin("a"), raw(7), begin("e")}, `tensor "a": 1 bytes missing`},
		{"too few at the end", []func(*Writer) error{begin("a"), floats(1), end}, `tensor "a": 4 bytes missing`},
		{"too many", []func(*Writer) error{begin("a"), raw(6), raw(3)}, `tensor "a": 1 bytes too many`},
		{"floats as integers", []func(*Writer) error{begin("a"), floats(2), begin("e"), begin("b"), floats(1)}, `tensor "b": dtype is I32`},
		{"one more", []func(*Writer) error{begin("a"), floats(2), begin("e"), begin("b"), raw(4), begin("c")}, `tensor "c" written behind the last of 3`},
		{"last missing", []func(*Writer) error{begin("a"), floats(2), begin("e"), end}, `2 of 3 tensors written, "b" is missing`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w, err := NewWriter(&bytes.Buffer{}, specs, nil)
			require.NoError(t, err)
			last := len(c.steps) - 1
			for i, step := range c.steps[:last] {
				require.NoError(t, step(w), "step %d", i)
			}
			require.ErrorContains(t, c.steps[last](w), c.want)
		})
	}
}

var errFull = errors.New("no space left")

// full accepts n bytes and then fails, as a full disk does.
type full struct{ n int }

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.n {
		n := f.n
		f.n = 0
		return n, errFull
	}
	f.n -= len(p)
	return len(p), nil
}

func TestWriterFullDisk(t *testing.T) {
	specs := []Spec{{"a", F32, []int{100}}}
	_, err := NewWriter(&full{20}, specs, nil)
	require.ErrorIs(t, err, errFull, "header")
	w, err := NewWriter(&full{200}, specs, nil)
	require.NoError(t, err)
	require.NoError(t, w.Begin("a"))
	err = w.WriteF32(make([]float32, 100))
	require.ErrorIs(t, err, errFull)
	require.ErrorContains(t, err, `tensor "a"`)
	require.Error(t, w.Close(), "a cut file is called complete")
}
