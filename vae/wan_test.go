package vae

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
)

// wanTensor is a line of testdata/wan_names.txt, generated from the published classes:
// family, original name, diffusers' name, shape.
type wanTensor struct{ family, original, diffusers, shape string }

func wanTensors(t *testing.T) []wanTensor {
	text, err := os.ReadFile("testdata/wan_names.txt")
	require.NoError(t, err)
	var all []wanTensor
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		all = append(all, wanTensor{f[0], f[1], f[2], f[3]})
	}
	return all
}

// The files of the published sizes have these tensors, under these names.
func TestWanNames(t *testing.T) {
	for _, family := range []string{wan21, wan22, qwen21} {
		n := &wanNames{nested: family != wan21, blocks: 2}
		published := map[string]string{}
		for _, w := range wanTensors(t) {
			if w.family != family {
				continue
			}
			if family != qwen21 || !strings.Contains(w.original, ".time_conv.") {
				published[w.original] = w.shape
			}
			assert.Equal(t, w.diffusers, n.diffusers(w.original), "%s: diffusers' name of %s", family, w.original)
		}
		c := Config{Family: family, Latent: 16, Blocks: 2, Channels: 3, Patch: 1, Widths: []int{96, 192, 384, 384}, Decoder: []int{384, 384, 192, 96},
			TimeDown: []bool{false, true, true}, TimeUp: []bool{true, true, false}}
		if family == wan22 {
			c.Latent, c.Patch, c.Widths, c.Decoder = 48, 2, []int{160, 320, 640, 640}, []int{1024, 1024, 512, 256}
		} else if family == qwen21 {
			c = publishedQwen21
			c.Family = qwen21
		}
		m, err := newModel(c.family(), c, 0, 0, gpu.Info{}, Settings{})
		require.NoError(t, err)
		assert.Len(t, m.specs, len(published), "%s: tensors that the layers need, as many as the file has", family)
		needed := map[string]string{}
		for _, s := range m.specs {
			needed[s.name] = strings.Trim(strings.ReplaceAll(fmt.Sprint(s.shape), " ", "x"), "[]")
		}
		assert.Equal(t, published, needed, "%s: shapes by name", family)
	}
}

// The sizes of published files follow from names, shapes and types alone.
func TestPublishedWanFiles(t *testing.T) {
	count := func(family string, dtype safetensors.DType, diffusers bool, metadata map[string]string) int64 {
		var specs []safetensors.Spec
		for _, w := range wanTensors(t) {
			if w.family != family {
				continue
			}
			s := safetensors.Spec{Name: w.original, DType: dtype}
			if diffusers {
				s.Name = (&wanNames{nested: family == wan22, blocks: 2}).diffusers(w.original)
			}
			for _, d := range strings.Split(w.shape, "x") {
				var n int
				fmt.Sscan(d, &n)
				s.Shape = append(s.Shape, n)
			}
			specs = append(specs, s)
		}
		slices.SortFunc(specs, func(a, b safetensors.Spec) int { return strings.Compare(a.Name, b.Name) })
		header, data, err := safetensors.Size(specs, metadata)
		require.NoError(t, err)
		return 8 + header + data
	}
	pt := map[string]string{"format": "pt"}
	for _, c := range []struct {
		name      string
		got, want int64
	}{
		{"wan2.2_vae.safetensors", count(wan22, safetensors.F16, false, nil), 1_409_400_960},
		{"Wan 2.1 of diffusers", count(wan21, safetensors.F32, true, pt), 507_591_892},
		{"Wan 2.2 of diffusers", count(wan22, safetensors.F32, true, pt), 2_818_777_808},
	} {
		assert.Equal(t, c.want, c.got, "bytes of %s, as published", c.name)
	}
}

// Relatives of Wan have the published numbers of tensors and parameters.
func TestPublishedWanRelatives(t *testing.T) {
	for name, c := range map[string]struct {
		config              synthetic.WanConfig
		tensors, parameters int
	}{
		"LightVAE":       {synthetic.WanConfig{Dim: 24}, 194, 8_035_003},
		"upscale2x":      {synthetic.WanConfig{Outputs: 12}, 194, 126_915_868},
		"Qwen-Image 2.1": {synthetic.WanConfig{Still: true}, 238, 337_740_404},
	} {
		all, sum := synthetic.Wan(c.config), 0
		for _, s := range all {
			n := 1
			for _, d := range s.Shape {
				n *= d
			}
			sum += n
		}
		assert.Len(t, all, c.tensors, name)
		assert.Equal(t, c.parameters, sum, name)
	}
}

// inLayouts writes the same weights with original names, with diffusers' names and as a
// torch zip.
func inLayouts(t *testing.T, c synthetic.WanConfig) map[string]string {
	c.Latent, c.DType = 4, safetensors.F32
	c.Nested = c.Nested || c.Still
	dir := t.TempDir()
	paths := map[string]string{}
	for layout, name := range map[string]func(string) string{"original": nil, "diffusers": (&wanNames{nested: c.Nested, blocks: 2}).diffusers} {
		c.Name = name
		paths[layout] = filepath.Join(dir, layout+".safetensors")
		require.NoError(t, synthetic.CreateWan(paths[layout], c), layout)
		if c.Still && layout == "diffusers" {
			paths[layout] = thin(t, paths[layout])
		}
	}
	for _, layout := range []string{"original", "diffusers"} {
		f, err := safetensors.Open(paths[layout])
		require.NoError(t, err)
		defer f.Close()
		paths[layout+" pth"] = filepath.Join(dir, layout+".pth")
		require.NoError(t, pthtest.Convert(paths[layout+" pth"], f, pthtest.Options{Ordered: layout == "original"}), layout)
	}
	return paths
}

// thin writes a checkpoint whose convolutions' shapes lack the single temporal tap, as in
// diffusers' class of Qwen-Image-2.1.
func thin(t *testing.T, path string) string {
	return changed(t, path, func(x *synthetic.Raw) bool {
		if len(x.Shape) == 5 {
			x.Shape = slices.Delete(x.Shape, 2, 3)
		}
		return true
	})
}

// The layouts of a checkpoint are one model, with the same bits.
func TestLayoutsAreOneModel(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []synthetic.WanConfig{{Dim: 4}, {Nested: true, Dim: 4, Decoder: 8}, {Still: true, Dim: 4, Decoder: 8}} {
		var video, latent []float32
		for layout, path := range inLayouts(t, c) {
			m := open(t, dev, path, F32)
			want, _, _ := strings.Cut(layout, " ")
			assert.Equal(t, want, m.Config.Layout, "nested %v, %s", c.Nested, layout)
			s := m.Config.Spatial
			z := Latent{Channels: 4, Frames: 2, Height: 2, Width: 2, Data: noise(4 * 2 * 4)}
			clip := floats{5, 2 * s, s, noise(m.Config.Channels * 5 * 2 * s * s)}
			v, l := decodeAll(t, m, z, DecodeOptions{}), encodeAll(t, m, clip, EncodeOptions{})
			if video == nil {
				video, latent = v, l
			}
			assert.True(t, slices.Equal(v, video), "nested %v, %s: another video", c.Nested, layout)
			assert.True(t, slices.Equal(l, latent), "nested %v, %s: another latent", c.Nested, layout)
		}
	}
}

// Names and shapes give the configuration, for widths of no published model.
func TestWanConfigs(t *testing.T) {
	a := gpu.Info{Limits: gpu.DefaultLimits}
	dir := t.TempDir()
	for _, c := range []struct {
		file   string
		config synthetic.WanConfig
		beside string // config.json
		want   Config
	}{
		{"a.safetensors", synthetic.WanConfig{Dim: 12, Decoder: 20, Latent: 16}, "", Config{
			Family: wan21, Model: "Wan 2.1", Widths: []int{12, 24, 48, 48}, Decoder: []int{80, 80, 40, 20}, Latent: 16, Spatial: 8, Channels: 3, Patch: 1}},
		{"b.safetensors", synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 12, Latent: 48}, "", Config{
			Family: wan22, Model: "Wan 2.2", Widths: []int{4, 8, 16, 16}, Decoder: []int{48, 48, 24, 12}, Latent: 48, Spatial: 16, Channels: 3, Patch: 2}},
		{"qwen_image_vae.safetensors", synthetic.WanConfig{Dim: 4, Latent: 16}, "", Config{
			Family: wan21, Model: "Qwen-Image", Widths: []int{4, 8, 16, 16}, Decoder: []int{16, 16, 8, 4}, Latent: 16, Spatial: 8, Channels: 3, Patch: 1, Independent: true}},
		{"Wan2.1_VAE_upscale2x.safetensors", synthetic.WanConfig{Dim: 4, Latent: 16, Outputs: 12}, "", Config{
			Family: wan21, Model: "Wan 2.1", Widths: []int{4, 8, 16, 16}, Decoder: []int{16, 16, 8, 4}, Latent: 16, Spatial: 8, Channels: 3, Patch: 1, Upscale: 2}},
		{"qwen_image_2.1_vae.safetensors", synthetic.WanConfig{Still: true, Dim: 4, Decoder: 8}, "", Config{
			Family: qwen21, Model: "Qwen-Image 2.1", Widths: []int{4, 8, 16, 32, 32}, Decoder: []int{64, 64, 32, 16, 8}, Latent: 64, Spatial: 16, Channels: 4, Patch: 1, Independent: true}},
		{"layered.safetensors", synthetic.WanConfig{Dim: 4, Latent: 16, Channels: 4}, "", Config{
			Family: wan21, Model: "Qwen-Image-Layered", Widths: []int{4, 8, 16, 16}, Decoder: []int{16, 16, 8, 4}, Latent: 16, Spatial: 8, Channels: 4, Patch: 1, Independent: true}},
		{"vae/diffusion_pytorch_model.safetensors", synthetic.WanConfig{Dim: 4, Latent: 16}, `{"_class_name": "AutoencoderKLQwenImage"}`, Config{
			Family: wan21, Model: "Qwen-Image", Widths: []int{4, 8, 16, 16}, Decoder: []int{16, 16, 8, 4}, Latent: 16, Spatial: 8, Channels: 3, Patch: 1, Independent: true}},
	} {
		path := filepath.Join(dir, c.file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		if c.beside != "" {
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "config.json"), []byte(c.beside), 0o666))
		}
		require.NoError(t, synthetic.CreateWan(path, c.config))
		m, err := Inspect(path, a, Settings{Precision: F32})
		require.NoError(t, err, c.file)
		defer m.Close()
		got := m.Config
		assert.Len(t, got.Mean, got.Latent, c.file)
		assert.Len(t, got.Scale, got.Latent, c.file)
		got.Mean, got.Scale = nil, nil
		c.want.Layout, c.want.Blocks, c.want.Temporal = "original", 2, 4
		c.want.Tilings, c.want.ComfyUIUnscaled = []Tiling{Exact, Feather, Diffusers}, true
		c.want.TimeDown, c.want.TimeUp = []bool{false, true, true}, []bool{true, true, false}
		if c.config.Still {
			c.want.Temporal, c.want.TimeDown, c.want.TimeUp = 1, make([]bool, 4), make([]bool, 4)
		}
		assert.Equal(t, c.want, got, c.file)
	}
}

// A few of the published statistics, by channel.
func TestWanStatistics(t *testing.T) {
	for _, s := range []struct {
		family    string
		latent    int
		channel   int
		mean, std float64
	}{
		{wan21, 16, 0, -0.7571, 2.8184}, {wan21, 16, 7, 1.5508, 2.0743}, {wan21, 16, 15, -0.2921, 1.9160},
		{wan22, 48, 0, -0.2289, 0.4765}, {wan22, 48, 21, -0.2108, 1.4146}, {wan22, 48, 47, -0.0667, 0.7744},
		{qwen21, 64, 0, 0.5126, 3.2001}, {qwen21, 64, 52, -5.0179, 5.5614}, {qwen21, 64, 63, 0.0304, 3.8161},
	} {
		c := Config{Family: s.family, Latent: s.latent}
		c.statistics()
		scale, mean := c.scales(s.channel, 0, 0)
		assert.Equal(t, [2]float64{s.mean, s.mean}, mean, "%s channel %d", s.family, s.channel)
		assert.Equal(t, scale[0], scale[1])
		assert.InDelta(t, 1, scale[0]*s.std, 1e-12, "%s channel %d", s.family, s.channel)
	}
	sums := [6]float64{}
	for i, list := range [][]float64{wan21Mean, wan21Std, wan22Mean, wan22Std, qwen21Mean, qwen21Std} {
		for _, v := range list {
			sums[i] += v
		}
	}
	// Sums of the published tables.
	for i, want := range []float64{-0.7332, 34.2747, -0.5589, 32.536, 7.721, 240.5952} {
		assert.InDelta(t, want, sums[i], 1e-9, "sum of table %d", i)
	}
}

// A pipeline's latent is (the model's own - mean) / deviation.
func TestWanScaling(t *testing.T) {
	dev := gputest.Open(t)
	path := wan(t, "scaled", synthetic.WanConfig{Dim: 4, DType: safetensors.F32})
	m := open(t, dev, path, F32)
	clip := floats{1, 16, 16, noise(3 * 256)}
	own := encodeAll(t, m, clip, EncodeOptions{Options: Options{Unscaled: true}})
	scaled := encodeAll(t, m, clip, EncodeOptions{})
	want := make([]float64, len(own))
	for i, v := range own {
		c := i / 4
		want[i] = (float64(v) - wan21Mean[c]) / wan21Std[c]
	}
	require.Len(t, scaled, len(want))
	require.InDeltaSlice(t, want, scaled, 1e-6)
	moments := encodeAll(t, m, clip, EncodeOptions{Moments: true}) // twice as many channels as statistics
	require.Len(t, moments, 2*len(own))
	closeTo(t, moments[:len(own)], own, 1e-11, "means of moments")
	a := decodeAll(t, m, Latent{Channels: 16, Frames: 1, Height: 2, Width: 2, Data: own}, DecodeOptions{Options: Options{Unscaled: true}})
	b := decodeAll(t, m, Latent{Channels: 16, Frames: 1, Height: 2, Width: 2, Data: scaled}, DecodeOptions{})
	closeTo(t, b, a, 1e-9, "scaled and the model's own decode otherwise")
}

// Pixels are clamped, except with the model's own numbers.
func TestWanClamps(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, wan22Checkpoint(t), F32) // four channels have no statistics
	z := Latent{Channels: 4, Frames: 1, Height: 2, Width: 3, Data: noise(24)}
	own := decodeAll(t, m, z, DecodeOptions{Options: Options{Unscaled: true}})
	clamped := decodeAll(t, m, z, DecodeOptions{})
	want := make([]float32, len(own))
	for i, v := range own {
		want[i] = min(max(v, -1), 1)
	}
	require.False(t, slices.Equal(own, want), "nothing to clamp")
	require.True(t, slices.Equal(clamped, want), "NMSE %.3g from the model's own, clamped", nmse(clamped, want))
}

// Clips of any size are padded, and trimmed in decoding.
func TestWanPadding(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []synthetic.WanConfig{{Dim: 4}, {Nested: true, Dim: 4, Decoder: 4}} {
		m := open(t, dev, tiny(t, c), F32)
		s := m.Config.Spatial
		z, err := m.Encode(context.Background(), floats{7, s + 5, 2*s - 3, noise(3 * 7 * (s + 5) * (2*s - 3))}, EncodeOptions{})
		require.NoError(t, err, m.Config.Model)
		require.Equal(t, [3]int{3, 2, 2}, [3]int{z.Frames, z.Height, z.Width}, "%s: frames, height and width of the latent", m.Config.Model)
		v := decodeAll(t, m, z, DecodeOptions{Frames: 7, Height: s + 5, Width: 2*s - 3})
		require.Len(t, v, 3*7*(s+5)*(2*s-3), m.Config.Model)
	}
}

// One latent frame at a time, as in the reference, or more: the result is the same.
func TestWanChunks(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []synthetic.WanConfig{{Dim: 4}, {Nested: true, Dim: 4, Decoder: 4}} {
		m := open(t, dev, tiny(t, c), F32)
		s := m.Config.Spatial
		z, clip := Latent{Channels: 4, Frames: 6, Height: 2, Width: 1, Data: noise(4 * 6 * 2)}, floats{21, s, 2 * s, noise(3 * 21 * 2 * s * s)}
		var video, latent []float32
		for _, chunk := range []int{1, 2, 3, 5, 9} {
			o := Options{Chunk: chunk}
			v, e := decodeAll(t, m, z, DecodeOptions{Options: o}), encodeAll(t, m, clip, EncodeOptions{Options: o})
			if video == nil {
				video, latent = v, e
			}
			t.Run(fmt.Sprintf("%s in chunks of %d", m.Config.Model, chunk), func(t *testing.T) {
				l, err := m.PlanDecode(t.Context(), 6, 2, 1, DecodeOptions{Options: o})
				require.NoError(t, err)
				require.Equal(t, 1+(5+chunk-1)/chunk, l.Slices)
				closeTo(t, v, video, 1e-11, "the video is another than in chunks of one")
				closeTo(t, e, latent, 1e-11, "the latent is another than in chunks of one")
			})
		}
	}
}

// Independent frames are separate pictures, however many there are.
func TestIndependentFrames(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, tiny(t, synthetic.WanConfig{Dim: 4, Channels: 4}), F32)
	clip := floats{3, 16, 16, noise(4 * 3 * 256)}
	z, err := m.Encode(context.Background(), clip, EncodeOptions{Options: Options{Independent: true}})
	require.NoError(t, err)
	require.Equal(t, 3, z.Frames, "latent frames of 3 pictures")
	video := decodeAll(t, m, z, DecodeOptions{Options: Options{Independent: true}})
	for f := range 3 {
		one := floats{1, 16, 16, nil}
		for c := range 4 {
			one.v = append(one.v, clip.v[(c*3+f)*256:][:256]...)
		}
		a := encodeAll(t, m, one, EncodeOptions{})
		b := make([]float32, 0, len(a))
		for c := range 4 {
			b = append(b, z.Data[(c*3+f)*4:][:4]...)
		}
		assert.True(t, slices.Equal(a, b), "picture %d has another latent in a row of three", f)
		a = decodeAll(t, m, Latent{Channels: 4, Frames: 1, Height: 2, Width: 2, Data: b}, DecodeOptions{})
		b = b[:0]
		for c := range 4 {
			b = append(b, video[(c*3+f)*256:][:256]...)
		}
		assert.True(t, slices.Equal(a, b), "latent %d is another picture in a row of three", f)
	}
	n := 0
	for f, err := range m.Decode(context.Background(), z, DecodeOptions{RGBA8: true, Options: Options{Independent: true}}) {
		require.NoError(t, err, "picture %d", n)
		want := make([]byte, 4*256)
		for i := range want {
			at := video[(i%4*3+n)*256+i/4]
			want[i] = byte(math.Floor((float64(min(max(at, -1), 1))+1)*127.5 + 0.5))
		}
		require.Equal(t, want, f.RGBA, "picture %d", n)
		n++
	}
	require.Equal(t, 3, n, "pictures")
	_, err = m.Encode(context.Background(), floats{1, 16, 16, noise(3 * 256)}, EncodeOptions{})
	require.ErrorContains(t, err, "clip has 3 channels", "a clip without alpha")
}

// For one picture only the last temporal tap is computed: a third of the work.
func TestOneFrameComputesOneTap(t *testing.T) {
	m, err := Inspect(wan21Checkpoint(t), gpu.Info{Limits: gpu.DefaultLimits, Memory: 8 << 30}, Settings{Precision: F32})
	require.NoError(t, err)
	defer m.Close()
	one, err := m.PlanDecode(t.Context(), 1, 8, 8, DecodeOptions{})
	require.NoError(t, err)
	// Steady frames: the difference of two lengths, four pixel frames a latent frame.
	long, err := m.PlanDecode(t.Context(), 9, 8, 8, DecodeOptions{})
	require.NoError(t, err)
	longer, err := m.PlanDecode(t.Context(), 10, 8, 8, DecodeOptions{})
	require.NoError(t, err)
	steady := float64(longer.Cost.FLOPs-long.Cost.FLOPs) / 4
	t.Logf("one frame %d FLOPs, a steady one %.0f", one.Cost.FLOPs, steady)
	// The middle runs at a quarter of the frame rate, so it is a larger part of one
	// picture's work.
	require.LessOrEqual(t, float64(one.Cost.FLOPs)/steady, 0.62, "one frame's part of a steady one")
}

func TestFlatFileIsRefused(t *testing.T) {
	path := tiny(t, synthetic.WanConfig{Dim: 4})
	f, err := safetensors.Open(path)
	require.NoError(t, err)
	defer f.Close()
	flat := filepath.Join(t.TempDir(), "flat.safetensors")
	out, err := os.Create(flat)
	require.NoError(t, err)
	defer out.Close()
	var specs []safetensors.Spec
	for _, name := range f.Names() {
		x, _ := f.Tensor(name)
		specs = append(specs, safetensors.Spec{Name: name, DType: x.DType, Shape: x.Shape})
	}
	w, err := safetensors.NewWriter(out, specs, nil)
	require.NoError(t, err)
	for _, s := range specs {
		x, _ := f.Tensor(s.Name)
		v := make([]float32, x.Elements())
		if s.Name != "conv1.weight" && s.Name != "conv2.weight" {
			require.NoError(t, x.ReadF32(v, 0), s.Name)
		}
		require.NoError(t, w.Begin(s.Name))
		require.NoError(t, w.WriteF32(v), s.Name)
	}
	require.NoError(t, w.Close())
	a := gpu.Info{Limits: gpu.DefaultLimits}
	_, err = Inspect(flat, a, Settings{})
	require.ErrorIs(t, err, ErrFlat)
	require.ErrorIs(t, err, ErrBadModel)
	require.ErrorContains(t, err, "conv2.weight")
	m, err := Inspect(flat, a, Settings{Force: true})
	require.NoError(t, err, "forced")
	require.NoError(t, m.Close())
}

// Faults of a file are reported with the file's own names.
func TestUnfitWan(t *testing.T) {
	a := gpu.Info{Limits: gpu.DefaultLimits}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	n := &wanNames{blocks: 2}
	err := synthetic.CreateWan(path, synthetic.WanConfig{Dim: 4, Latent: 4, Name: func(name string) string {
		if name == "decoder.head.0.gamma" {
			return "decoder.norm.gamma"
		}
		return n.diffusers(name)
	}})
	require.NoError(t, err)
	_, err = Inspect(path, a, Settings{})
	for _, want := range []string{"1 missing: decoder.norm_out.gamma", "1 unknown: decoder.norm.gamma"} {
		assert.ErrorContains(t, err, want)
	}
	for _, c := range []synthetic.WanConfig{{Channels: 3, Outputs: 6}, {Channels: 3, Outputs: 4}, {Nested: true, Channels: 3, Outputs: 48}} {
		c.Dim, c.Decoder, c.Latent = 4, 4, 4
		require.NoError(t, synthetic.CreateWan(path, c))
		_, err = Inspect(path, a, Settings{})
		require.ErrorIs(t, err, ErrBadModel)
		require.ErrorContains(t, err, fmt.Sprintf("tensor decoder.head.2.weight makes %d channels, expected", c.Outputs))
	}
}
