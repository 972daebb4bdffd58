package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

// golden is a case of tests/goldens: outputs of the reference implementation.
type golden struct {
	name    string
	key     string // of the synthetic input
	shape   []int  // of the input, [C, T, H, W]
	of      int    // frames of the tensor that the input is cut from, 0: as many as the input
	moments bool   // an encode gives mean and log-variance, not the mean
	tiny    bool   // pixels from 0 to 1, and latents in a pipeline's scale
	flags   []string
	want    []float64
}

// smallGoldens returns SeedVR2's cases.
func smallGoldens(t testing.TB) []golden {
	return fromJSON(t, "seedvr2_small.json", "seedvr2/", []golden{
		{name: "encode_T9_moments", key: "input", shape: []int{3, 9, 16, 24}, moments: true},
		{name: "encode_T1_moments", key: "input", shape: []int{3, 1, 16, 24}, of: 9, moments: true},
		{name: "decode_L3", key: "latent", shape: []int{4, 3, 2, 3}},
		{name: "decode_L1", key: "latent", shape: []int{4, 1, 2, 3}, of: 3},
		{name: "tiled_decode_L2_tile24_ov8", key: "latent_tile", shape: []int{4, 2, 5, 6},
			flags: []string{"--tile=24", "--overlap=8"}},
		{name: "tiled_encode_T5_tile24x32_ov8x16_moments", key: "input_tile", shape: []int{3, 5, 40, 56}, moments: true,
			flags: []string{"--tile=24x32", "--overlap=8x16"}},
	})
}

// smallWan returns Wan's cases, with frames of h x w pixels.
func smallWan(t testing.TB, prefix string, h, w int) []golden {
	return fromJSON(t, "wan_small.json", prefix, []golden{
		{name: "encode_T9_mu", key: "input", shape: []int{3, 9, h, w}},
		{name: "encode_T1_mu", key: "input", shape: []int{3, 1, h, w}, of: 9},
		{name: "decode_L3", key: "latent", shape: []int{4, 3, 2, 3}},
		{name: "decode_L1", key: "latent", shape: []int{4, 1, 2, 3}, of: 3},
	})
}

// smallLayered returns Qwen-Image's cases with alpha.
func smallLayered(t testing.TB) []golden {
	return fromTensors(t, "qwen_rgba_small.safetensors", []golden{
		{name: "decode_4x3x4x5", key: "latent", shape: []int{4, 3, 4, 5}, flags: []string{"--no-independent-frames"}},
		{name: "independent_decode_4x3x4x5", key: "latent", shape: []int{4, 3, 4, 5}, flags: []string{"--independent-frames"}},
		{name: "encode_4x1x24x32", key: "input", shape: []int{4, 1, 24, 32}},
	})
}

func fullGoldens(t testing.TB) []golden {
	return fromTensors(t, "seedvr2_full.safetensors", []golden{
		{name: "decode_16x1x8x8", key: "latent", shape: []int{16, 1, 8, 8}},
		{name: "decode_16x3x4x6", key: "latent", shape: []int{16, 3, 4, 6}},
		{name: "encode_3x1x64x64", key: "input", shape: []int{3, 1, 64, 64}, moments: true},
		{name: "encode_3x9x32x48", key: "input", shape: []int{3, 9, 32, 48}, moments: true},
		{name: "tiled_decode_16x2x6x9_tile32x32_ov16x16", key: "latent_tile", shape: []int{16, 2, 6, 9},
			flags: []string{"--tile=32", "--overlap=16"}},
	})
}

// fullWan returns Wan's cases: a picture of s x s cells, a clip of h x w.
func fullWan(t testing.TB, file string, c, s, h, w int) []golden {
	return fromTensors(t, file, []golden{
		{name: fmt.Sprintf("decode_%dx1x%dx%d", c, s, s), key: "latent", shape: []int{c, 1, s, s}},
		{name: fmt.Sprintf("decode_%dx3x%dx%d", c, h, w), key: "latent", shape: []int{c, 3, h, w}},
		{name: "encode_3x1x64x64", key: "input", shape: []int{3, 1, 64, 64}},
		{name: "encode_3x9x32x48", key: "input", shape: []int{3, 9, 32, 48}},
	})
}

// fromJSON adds the expected outputs from a file that lists them by name.
func fromJSON(t testing.TB, file, prefix string, cases []golden) []golden {
	t.Helper()
	var all map[string]struct{ Data []float64 }
	data, err := os.ReadFile("../../tests/goldens/" + file)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	require.NoError(t, err)
	for i := range cases {
		cases[i].want = all[prefix+cases[i].name].Data
	}
	return cases
}

// fromTensors adds the expected outputs from a file of tensors named after cases.
func fromTensors(t testing.TB, file string, cases []golden) []golden {
	t.Helper()
	f, err := safetensors.Open("../../tests/goldens/" + file)
	require.NoError(t, err)
	defer f.Close()
	for i, c := range cases {
		x, _ := f.Tensor(c.name + ".out")
		v := make([]float32, x.Elements())
		require.NoError(t, x.ReadF32(v, 0))
		for _, x := range v {
			cases[i].want = append(cases[i].want, float64(x))
		}
	}
	return cases
}

var bounds = map[string]float64{"f32": 1e-9, "f16": 1e-5}

// input returns the case's input. A clip shorter than its tensor consists of whole frames
// of it, channel by channel.
func (g golden) input() []float32 {
	frames, long := g.shape[1], max(g.of, g.shape[1])
	pixels := g.shape[2] * g.shape[3]
	all := make([]float64, g.shape[0]*long*pixels)
	synthetic.Fill(g.key, all)
	var v []float32
	for c := range g.shape[0] {
		for _, x := range all[c*long*pixels:][:frames*pixels] {
			if g.tiny && strings.Contains(g.name, "encode") {
				x = 2*x - 1
			}
			v = append(v, float32(x))
		}
	}
	return v
}

// scale returns the scale of latents: the VAE's, or a pipeline's, whose pixels are
// clamped.
func (g golden) scale() string {
	if g.tiny || strings.HasPrefix(g.name, "pipeline_") {
		return "pipeline"
	}
	return "none"
}

// expected returns the expected output.
func (g golden) expected() []float64 {
	want := slices.Clone(g.want)
	for i, v := range want {
		if strings.Contains(g.name, "encode") || g.scale() == "none" {
			return want
		}
		if g.tiny {
			v = 2*v - 1
		}
		want[i] = min(max(v, -1), 1)
	}
	return want
}

func TestGoldensSmall(t *testing.T) {
	t.Parallel()
	needDevice(t)
	model := checkpoint(t, "small.safetensors", synthetic.SeedVR2Config{
		Widths: []int{32, 64, 96, 96}, Latent: 4, DType: safetensors.F32,
	})
	for i, g := range smallGoldens(t) {
		g.testSmall(t, i, g.name, model)
	}
}

// testSmall runs case i of a model in both precisions. With -short it runs one of them,
// because package vae compares each with its golden; not under Wine, where that package
// does not use this driver.
func (g golden) testSmall(t *testing.T, i int, name, model string) {
	for j, c := range []struct{ precision, kind string }{{"f32", ".safetensors"}, {"f16", ".npy"}} {
		t.Run(name+"/"+c.precision, func(t *testing.T) {
			if (i%3 != 0 || i%2 != j) && runtime.GOOS != "windows" {
				testenv.Long(t)
			}
			g.test(t, model, c.precision, c.kind)
		})
	}
}

func TestGoldensSmallWan(t *testing.T) {
	t.Parallel()
	needDevice(t)
	for _, s := range []struct {
		name  string
		model synthetic.WanConfig
		cases []golden
	}{
		{"wan21", synthetic.WanConfig{Dim: 16, Latent: 4}, smallWan(t, "wan21/", 16, 24)},
		{"wan22", synthetic.WanConfig{Nested: true, Dim: 20, Decoder: 32, Latent: 4}, smallWan(t, "wan22/", 32, 48)},
		{"layered", synthetic.WanConfig{Dim: 12, Latent: 4, Channels: 4}, smallLayered(t)},
	} {
		s.model.DType = safetensors.F32
		model := wan(t, s.name+"_small.safetensors", s.model)
		for i, g := range s.cases {
			g.testSmall(t, i, s.name+"/"+g.name, model)
		}
	}
}

func TestGoldensFull(t *testing.T) {
	testenv.Long(t)
	needDevice(t)
	model := checkpoint(t, "full.safetensors", synthetic.SeedVR2Config{})
	for _, g := range fullGoldens(t) {
		for _, precision := range []string{"f32", "f16"} {
			t.Run(g.name+"/"+precision, func(t *testing.T) {
				// Package vae compares every case in every precision; here each runs
				// through the command line in one, and those that take minutes on a
				// processor only on request.
				once := map[string]string{"decode_16x1x8x8": "f32", "encode_3x1x64x64": "f32", "encode_3x9x32x48": "f16"}
				if once[g.name] != precision {
					onRequest(t)
				}
				g.test(t, model, precision, ".safetensors")
			})
		}
	}
}

func TestGoldensFullWan(t *testing.T) {
	onRequest(t)
	needDevice(t)
	for _, s := range []struct {
		name  string
		model synthetic.WanConfig
		cases []golden
	}{
		{"wan21", synthetic.WanConfig{}, fullWan(t, "wan21_full.safetensors", 16, 8, 4, 6)},
		{"wan22", synthetic.WanConfig{Nested: true}, fullWan(t, "wan22_full.safetensors", 48, 4, 2, 3)},
	} {
		model := wan(t, s.name+"_full.safetensors", s.model)
		for _, g := range s.cases {
			for _, precision := range []string{"f32", "f16"} {
				t.Run(s.name+"/"+g.name+"/"+precision, func(t *testing.T) { g.test(t, model, precision, ".safetensors") })
			}
		}
	}
}

// onRequest skips a slow test that package vae has too.
func onRequest(t *testing.T) {
	t.Helper()
	if os.Getenv("GOLDENS") != "all" {
		t.Skip("GOLDENS=all runs all cases through the command line")
	}
}

// test runs a case through files and the command line.
func (g golden) test(t *testing.T, model, precision, ext string) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"+ext), filepath.Join(dir, "out"+ext)
	if ext == ".npy" {
		write(t, in, npy(g.shape, g.input()))
	} else {
		writeTensors(t, in, nil, tensor{"x", g.shape, g.input()})
	}
	args := []string{"decode", "-m", model, in, "-o", out, "--scale", g.scale(), "--precision", precision}
	if strings.Contains(g.name, "encode") {
		args[0] = "encode"
	}
	if g.moments {
		args = append(args, "--moments")
	}
	if !slices.ContainsFunc(g.flags, func(f string) bool { return strings.HasPrefix(f, "--tile=") }) {
		args = append(args, "--tile=off")
	}
	succeed(t, append(args, g.flags...)...)
	var got []float32
	if ext == ".npy" {
		got = readNPY(t, out)
	} else {
		x, _ := readTensor(t, out)
		got = x.data
	}
	want := g.expected()
	if g.name == "encode_3x6x21x30" { // the reference encodes 6 frames to 2 latent frames, which decode to 5
		got = twoOfThree(t, got, 16, len(want))
	}
	e := nmse(got, want)
	t.Logf("NMSE %.2e", e)
	assert.True(t, e <= bounds[precision], "NMSE %.3g, bound %.0e; `go test ./vae -run TestGoldens` names the layer", e, bounds[precision])
}

// twoOfThree returns the first two frames of a latent of three, with the given count of
// numbers.
func twoOfThree(t *testing.T, z []float32, channels, numbers int) (v []float32) {
	require.Equal(t, 3*numbers, 2*len(z))
	for c := range slices.Chunk(z, len(z)/channels) {
		v = append(v, c[:numbers/channels]...)
	}
	return v
}

// nmse returns the sum of squared differences over that of want, infinite if the lengths
// differ or a value is not finite.
func nmse(got []float32, want []float64) float64 {
	if len(got) != len(want) || len(want) == 0 {
		return math.Inf(1)
	}
	var d, s float64
	for i := range got {
		e := float64(got[i]) - want[i]
		d += e * e
		s += want[i] * want[i]
	}
	if d != d {
		return math.Inf(1)
	}
	return d / s
}

// npy returns a NumPy file of version 1.0.
func npy(shape []int, data []float32) []byte {
	dims := strings.Trim(jsonText(shape), "[]")
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': (" + dims + ",), }"
	for (10+len(header)+1)%64 != 0 {
		header += " "
	}
	header += "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	b = append(b, header...)
	for _, v := range data {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// readNPY reads the data of a float32 file of version 1.0.
func readNPY(t *testing.T, path string) []float32 {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(b), 128, path)
	require.True(t, bytes.HasPrefix(b, []byte("\x93NUMPY\x01")), path)
	require.True(t, bytes.Contains(b[:128], []byte("'<f4'")), "%s is no NumPy file of float32", path)
	b = b[10+int(binary.LittleEndian.Uint16(b[8:])):]
	v := make([]float32, 0, len(b)/4)
	for c := range slices.Chunk(b, 4) {
		v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(c)))
	}
	return v
}
