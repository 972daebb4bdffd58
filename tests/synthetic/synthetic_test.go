package synthetic

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"tessera/format/safetensors"
)

// The values that were published with the formula.
func TestValues(t *testing.T) {
	for key, want := range map[string][]float64{
		"input":                  {-0.8043633147, 0.3047208565, -0.5927514535, -0.4511106743},
		"encoder.conv_in.weight": {-0.1080307575, -0.3123829946},
	} {
		got := make([]float64, len(want))
		Fill(key, got)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 5e-11 || got[i] != Value(key, uint64(i)) {
				t.Errorf("%s[%d] = %.10f, want %.10f", key, i, got[i], want[i])
			}
		}
	}
}

func TestWeightScales(t *testing.T) {
	cases := []struct {
		key   string
		shape []int
		want  func(v float64) float64
	}{
		{"encoder.conv_in.weight", []int{8, 3, 3, 3, 3}, func(v float64) float64 { return v * math.Sqrt(3./81) }},
		{"a.to_out.0.weight", []int{8, 6}, func(v float64) float64 { return v * math.Sqrt(3./6) }},
		{"a.group_norm.weight", []int{8}, func(v float64) float64 { return 1 + 0.1*v }},
		{"a.norm1.weight", []int{8}, func(v float64) float64 { return 1 + 0.1*v }},
		{"decoder.conv_norm_out.bias", []int{8}, func(v float64) float64 { return 0.1 * v }},
		{"encoder.conv_in.bias", []int{8}, func(v float64) float64 { return 0.1 * v }},
		{"middle.0.residual.0.gamma", []int{8, 1, 1, 1}, func(v float64) float64 { return 1 + 0.1*v }},
	}
	for _, c := range cases {
		got := Weight(c.key, c.shape)
		if len(got) != elements(c.shape) {
			t.Fatalf("%s: %d values for %v", c.key, len(got), c.shape)
		}
		for i, g := range got {
			if want := float32(c.want(Value(c.key, uint64(i)))); math.Abs(float64(g-want)) > 1e-7 {
				t.Fatalf("%s[%d] = %v, want %v", c.key, i, g, want)
			}
		}
		part := make([]float32, 3)
		if FillWeight(c.key, c.shape, 4, part); !slices.Equal(part, got[4:7]) {
			t.Errorf("%s: elements from 4 on are %v, want %v", c.key, part, got[4:7])
		}
	}
}

// testdata/seedvr2_tensors.txt is the key set and the shapes of the reference
// class's state_dict.
func TestSeedVR2Table(t *testing.T) {
	want, err := os.ReadFile("testdata/seedvr2_tensors.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	params := 0
	for _, s := range SeedVR2([]int{128, 256, 512, 512}, 16) {
		dims := strings.ReplaceAll(strings.Trim(fmt.Sprint(s.Shape), "[]"), " ", ",")
		fmt.Fprintf(&got, "%s %s\n", s.Name, dims)
		params += elements(s.Shape)
	}
	lines := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(lines) || line != lines[i] {
			t.Fatalf("tensor %d is %q, want %q", i, line, lines[min(i, len(lines)-1)])
		}
	}
	if got.String() != string(want) {
		t.Error("tensors are missing at the end")
	}
	if params != 250_648_227 {
		t.Errorf("%d parameters, the published model has 250648227", params)
	}
}

// The published half-precision file: 28,352 bytes of header, 501,324,814 bytes
// in all.
func TestSeedVR2FileSize(t *testing.T) {
	c := SeedVR2Config{}.withDefaults()
	specs, _ := layout(SeedVR2(c.Widths, c.Latent), c.DType, func(name string) string { return name })
	metadata := c.metadata()
	header, data, err := safetensors.Size(specs, metadata)
	if err != nil {
		t.Fatal(err)
	}
	if header != 28_352 || data != 501_296_454 || 8+header+data != 501_324_814 {
		t.Errorf("header %d and data %d bytes, want 28352 and 501296454", header, data)
	}
}

func TestWriteSmall(t *testing.T) {
	for _, dtype := range []safetensors.DType{safetensors.F16, safetensors.F32} {
		c := SeedVR2Config{Widths: []int{8, 12, 16, 16}, Latent: 4, Groups: 4, DType: dtype}
		var out bytes.Buffer
		if err := WriteSeedVR2(&out, c); err != nil {
			t.Fatal(err)
		}
		f, err := safetensors.Read(bytes.NewReader(out.Bytes()), int64(out.Len()), "small")
		if err != nil {
			t.Fatal(err)
		}
		if m := f.Metadata(); len(m) != 1 || m["norm_num_groups"] != "4" {
			t.Errorf("metadata %v", m)
		}
		specs := SeedVR2(c.Widths, c.Latent)
		if len(f.Names()) != len(specs) || !slices.IsSorted(f.Names()) {
			t.Errorf("%d tensors, want %d sorted by name", len(f.Names()), len(specs))
		}
		for _, s := range specs {
			a, ok := f.Tensor(s.Name)
			if !ok || a.DType != dtype || !slices.Equal(a.Shape, s.Shape) {
				t.Fatalf("%s: found %v, %s %v, want %s %v", s.Name, ok, a.DType, a.Shape, dtype, s.Shape)
			}
			got := make([]float32, a.Elements())
			if err := a.ReadF32(got, 0); err != nil {
				t.Fatal(err)
			}
			for i, want := range Weight(s.Name, s.Shape) {
				// Half precision keeps 11 bits; below 2^-14 its step is 2^-24.
				bound := 0.0
				if dtype == safetensors.F16 {
					bound = max(math.Abs(float64(want))*0x1p-11, 0x1p-25)
				}
				if math.Abs(float64(got[i]-want)) > bound {
					t.Fatalf("%s[%d] = %v, want %v", s.Name, i, got[i], want)
				}
			}
		}
	}
}

// A tensor over one buffer long is the same as one made in a piece.
func TestFillParallel(t *testing.T) {
	shape := []int{64, 64, 3, 3, 3}
	want := Weight("w", shape)
	got := make([]float32, len(want))
	for start := 0; start < len(got); start += 50_021 {
		fillParallel("w", shape, start, got[start:min(start+50_021, len(got))])
	}
	if !slices.Equal(got, want) {
		t.Error("values depend on how the work is split")
	}
}

func BenchmarkWriteSeedVR2(b *testing.B) {
	for b.Loop() {
		if err := WriteSeedVR2(io.Discard, SeedVR2Config{}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(501_324_814)
}

func TestCreateSeedVR2(t *testing.T) {
	c := SeedVR2Config{Widths: []int{4, 4, 4, 4}, Latent: 2, Groups: 2}
	var want bytes.Buffer
	if err := WriteSeedVR2(&want, c); err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/small.safetensors"
	if err := CreateSeedVR2(path, c); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("file of %d bytes (%v) differs from the stream of %d", len(got), err, want.Len())
	}
	if err := CreateSeedVR2(t.TempDir()+"/none/small.safetensors", c); err == nil {
		t.Error("created a file in a folder that is not there")
	}
}
