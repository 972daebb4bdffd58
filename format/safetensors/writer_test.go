package safetensors

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// The layout of the reference implementation's own README example, byte for
// byte but for the padding.
func TestWriterLayout(t *testing.T) {
	b := write(t, []Spec{{"test", F32, []int{2, 2}}}, nil, func(_, i int) float32 { return 0 })
	want := "\x40\x00\x00\x00\x00\x00\x00\x00" + `{"test":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}    ` + strings.Repeat("\x00", 16)
	if string(b) != want {
		t.Errorf("got  %q\nwant %q", b, want)
	}
}

func TestWriterRefusesSpecs(t *testing.T) {
	cases := []struct {
		name     string
		specs    []Spec
		metadata map[string]string
		want     string
	}{
		{"twice", []Spec{{"a", F32, nil}, {"a", F32, nil}}, nil, `tensor "a": name is reserved or given twice`},
		{"reserved", []Spec{{"__metadata__", F32, nil}}, nil, `name is reserved`},
		{"dtype", []Spec{{"a", "F33", nil}}, nil, `tensor "a": dtype "F33" is unknown`},
		{"negative", []Spec{{"a", F32, []int{2, -1}}}, nil, `tensor "a": shape [2 -1] has a negative dimension`},
		{"overflow", []Spec{{"a", F32, []int{1 << 40, 1 << 40}}}, nil, `tensor "a": shape [1099511627776 1099511627776] has more`},
		{"sum overflow", append(repeat(Spec{"a", U8, []int{1 << 59}}, 15), Spec{"b", U8, []int{1 << 59}}), nil, `tensor "b": data passes 2^63 bytes`},
		{"name", []Spec{{"a\xff", F32, nil}}, nil, `name is not UTF-8`},
		{"metadata", nil, map[string]string{"k": "\xff"}, `metadata "k" is not UTF-8`},
	}
	for _, c := range cases {
		var out bytes.Buffer
		_, err := NewWriter(&out, c.specs, c.metadata)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		if out.Len() > 0 {
			t.Errorf("%s: %d bytes written all the same", c.name, out.Len())
		}
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
		w, err := NewWriter(&bytes.Buffer{}, specs, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range c.steps {
			err := step(w)
			if last := i == len(c.steps)-1; !last && err != nil {
				t.Errorf("%s: step %d: %v", c.name, i, err)
			} else if last && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: got %v, want %s", c.name, err, c.want)
			}
		}
	}
}

var errFull = errors.New("no space left")

// full takes n bytes and then fails, as a full disk does.
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
	if _, err := NewWriter(&full{20}, specs, nil); !errors.Is(err, errFull) {
		t.Errorf("header: %v", err)
	}
	w, err := NewWriter(&full{200}, specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Begin("a"); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteF32(make([]float32, 100)); !errors.Is(err, errFull) || !strings.Contains(err.Error(), `tensor "a"`) {
		t.Errorf("data: %v", err)
	}
	if err := w.Close(); err == nil {
		t.Error("Close called a cut file complete")
	}
}
