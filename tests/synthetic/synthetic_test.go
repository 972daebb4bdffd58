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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
)

// Values published with the formula.
func TestValues(t *testing.T) {
	for key, want := range map[string][]float64{
		"input":                  {-0.8043633147, 0.3047208565, -0.5927514535, -0.4511106743},
		"encoder.conv_in.weight": {-0.1080307575, -0.3123829946},
	} {
		got := make([]float64, len(want))
		Fill(key, got)
		for i := range want {
			assert.InDelta(t, want[i], got[i], 5e-11, "%s[%d]", key, i)
			assert.Equal(t, Value(key, uint64(i)), got[i], "%s[%d]", key, i)
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
		t.Run(c.key, func(t *testing.T) {
			got := Weight(c.key, c.shape)
			require.Len(t, got, elements(c.shape))
			for i, g := range got {
				require.InDelta(t, float32(c.want(Value(c.key, uint64(i)))), g, 1e-7, "element %d", i)
			}
			part := make([]float32, 3)
			FillWeight(c.key, c.shape, 4, part)
			require.Equal(t, got[4:7], part, "elements from 4 on")
		})
	}
}

// testdata/seedvr2_tensors.txt has the key set and the shapes of the reference class's
// state_dict.
func TestSeedVR2Table(t *testing.T) {
	want, err := os.ReadFile("testdata/seedvr2_tensors.txt")
	require.NoError(t, err)
	var got strings.Builder
	params := 0
	for _, s := range SeedVR2([]int{128, 256, 512, 512}, 16) {
		dims := strings.ReplaceAll(strings.Trim(fmt.Sprint(s.Shape), "[]"), " ", ",")
		fmt.Fprintf(&got, "%s %s\n", s.Name, dims)
		params += elements(s.Shape)
	}
	require.Equal(t, string(want), got.String())
	require.Equal(t, 250_648_227, params, "parameters of the published model")
}

// The published half-precision file has 28,352 bytes of header, 501,324,814 bytes in
// all.
func TestSeedVR2FileSize(t *testing.T) {
	c := SeedVR2Config{}.withDefaults()
	specs, _ := layout(SeedVR2(c.Widths, c.Latent), safetensors.F16, func(name string) string { return name })
	metadata := c.metadata()
	header, data, err := safetensors.Size(specs, metadata)
	require.NoError(t, err)
	require.EqualValues(t, 28_352, header)
	require.EqualValues(t, 501_296_454, data)
	require.EqualValues(t, 501_324_814, 8+header+data)
}

func TestWriteSmall(t *testing.T) {
	for _, dtype := range []safetensors.DType{safetensors.F16, safetensors.F32} {
		c := SeedVR2Config{Widths: []int{8, 12, 16, 16}, Latent: 4, Groups: 4, DType: dtype}
		var out bytes.Buffer
		require.NoError(t, WriteSeedVR2(&out, c))
		f, err := safetensors.Read(bytes.NewReader(out.Bytes()), int64(out.Len()), "small")
		require.NoError(t, err)
		require.Equal(t, map[string]string{"norm_num_groups": "4"}, f.Metadata())
		specs := SeedVR2(c.Widths, c.Latent)
		require.Len(t, f.Names(), len(specs))
		require.IsIncreasing(t, f.Names(), "sorted by name")
		for _, s := range specs {
			a, ok := f.Tensor(s.Name)
			require.True(t, ok, s.Name)
			require.Equal(t, dtype, a.DType, s.Name)
			require.Equal(t, s.Shape, a.Shape, s.Name)
			got := make([]float32, a.Elements())
			require.NoError(t, a.ReadF32(got, 0))
			for i, want := range Weight(s.Name, s.Shape) {
				// Half precision keeps 11 bits; below 2^-14 its step is 2^-24.
				bound := 0.0
				if dtype == safetensors.F16 {
					bound = max(math.Abs(float64(want))*0x1p-11, 0x1p-25)
				}
				if math.Abs(float64(got[i]-want)) > bound {
					require.InDelta(t, want, got[i], bound, "%s[%d]", s.Name, i)
				}
			}
		}
	}
}

// A tensor longer than one buffer equals one created in one piece.
func TestFillParallel(t *testing.T) {
	shape := []int{64, 64, 3, 3, 3}
	want := Weight("w", shape)
	got := make([]float32, len(want))
	for start := 0; start < len(got); start += 50_021 {
		fillParallel("w", shape, start, got[start:min(start+50_021, len(got))])
	}
	require.True(t, slices.Equal(got, want), "values depend on how the work is split")
}

func BenchmarkWriteSeedVR2(b *testing.B) {
	for b.Loop() {
		require.NoError(b, WriteSeedVR2(io.Discard, SeedVR2Config{}))
	}
	b.SetBytes(501_324_814)
}

func TestCreateSeedVR2(t *testing.T) {
	c := SeedVR2Config{Widths: []int{4, 4, 4, 4}, Latent: 2, Groups: 2}
	var want bytes.Buffer
	require.NoError(t, WriteSeedVR2(&want, c))
	path := t.TempDir() + "/small.safetensors"
	require.NoError(t, CreateSeedVR2(path, c))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want.Bytes(), got), "file of %d bytes differs from the stream of %d", len(got), want.Len())
	require.Error(t, CreateSeedVR2(t.TempDir()+"/none/small.safetensors", c), "a folder that is not there")
}
