package main

import (
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/format/safetensors"
	"tessera/tests/synthetic"
)

// layered returns a small model of 4 channels.
func layered(t testing.TB) string {
	return wan(t, "layered.safetensors", synthetic.WanConfig{Dim: 12, Latent: 4, Channels: 4, DType: safetensors.F32})
}

// decodePNG reads a picture that must have its alpha.
func decodePNG(t *testing.T, path string) *image.NRGBA {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	n, ok := img.(*image.NRGBA)
	require.True(t, ok, "%s is a %T, expected straight alpha", path, img)
	return n
}

// TestAlpha encodes and decodes a picture with alpha with models of 4 channels.
func TestAlpha(t *testing.T) {
	t.Parallel()
	needDevice(t)
	still := synthetic.WanConfig{Still: true, Dim: 8, Decoder: 12, Latent: 6, DType: safetensors.F32}
	for name, model := range map[string]string{"Qwen-Image-Layered": layered(t), "Qwen-Image 2.1": wan(t, "qwen21.safetensors", still)} {
		t.Run(name, func(t *testing.T) { testAlpha(t, model) })
	}
}

func testAlpha(t *testing.T, model string) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	img := image.NewNRGBA(image.Rect(0, 0, 22, 15))
	for y := range 15 {
		for x := range 22 {
			img.SetNRGBA(x, y, color.NRGBA{uint8(11 * x), uint8(17 * y), uint8(255 - 9*x), uint8(12 * (x + y) % 256)})
		}
	}
	f, err := os.Create(in("in.png"))
	require.NoError(t, err)
	require.NoError(t, png.Encode(f, img))
	f.Close()

	e := succeedJSON(t, "encode", "-m", model, in("in.png"), "-o", in("z.safetensors"), "--scale=none")
	assert.Equal(t, 1, e.Frames)
	assert.Equal(t, 15, e.Height)
	assert.Equal(t, 22, e.Width)
	succeed(t, "decode", "-m", model, in("z.safetensors"), "-o", in("out.png"))
	succeed(t, "decode", "-m", model, in("z.safetensors"), "-o", in("out.safetensors"))
	got := decodePNG(t, in("out.png"))
	x, _ := readTensor(t, in("out.safetensors"))
	b := got.Bounds()
	require.Equal(t, 22, b.Dx())
	require.Equal(t, 15, b.Dy())
	require.Len(t, x.data, 4*15*22)
	require.Equal(t, 4, x.shape[0])
	alphas := map[byte]bool{}
	for i := range 15 * 22 {
		alphas[got.Pix[4*i+3]] = true
		for c := range 4 {
			want := math.Min(255, math.Max(0, float64(x.data[c*15*22+i])*127.5+127.5))
			require.InDelta(t, want, got.Pix[4*i+c], 0.5001, "pixel %d, channel %d", i, c)
		}
	}
	assert.GreaterOrEqual(t, len(alphas), 5, "different alphas")

	r := succeedJSON(t, "roundtrip", "-m", model, in("in.png"), "-o", in("again.png"))
	decodePNG(t, in("again.png"))
	assert.Len(t, r.Outputs, 2)
	o := succeed(t, "decode", "-m", model, in("z.safetensors"), "-o", in("out.y4m"))
	assert.Contains(t, o.stderr, "out.y4m: doesn't keep transparency: frames are blended with black")
}

// TestAlphaModel combines the colours of one checkpoint with the alpha of another.
func TestAlphaModel(t *testing.T) {
	t.Parallel()
	needDevice(t)
	rgb, alpha := wan(t, "rgb.safetensors", synthetic.WanConfig{Dim: 4, Latent: 4, DType: safetensors.F32}), wan(t, "alpha.safetensors", synthetic.WanConfig{Dim: 6, Latent: 4, DType: safetensors.F32})
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	all := make([]float64, 2*4*2*2*3) // two clips
	synthetic.Fill("latent", all)
	data := make([]float32, len(all))
	for i, v := range all {
		data[i] = float32(v)
	}
	writeTensors(t, in("z.safetensors"), nil, tensor{"samples", []int{2, 4, 2, 2, 3}, data})
	for name, model := range map[string]string{"rgb": rgb, "a": alpha} {
		succeed(t, "decode", "-m", model, in("z.safetensors"), "-o", in(name+".safetensors"))
	}
	succeed(t, "decode", "-m", rgb, "--alpha-model", alpha, in("z.safetensors"), "-o", in("both.safetensors"))
	for _, clip := range []string{"_000", "_001"} {
		colours, _ := readTensor(t, in("rgb"+clip+".safetensors"))
		second, _ := readTensor(t, in("a"+clip+".safetensors"))
		both, _ := readTensor(t, in("both"+clip+".safetensors"))
		require.Equal(t, []int{4, 5, 16, 24}, both.shape)
		n := len(colours.data)
		require.Equal(t, colours.data, both.data[:n])
		for i, got := range both.data[n:] {
			want := (second.data[i] + second.data[i+n/3] + second.data[i+2*n/3]) / 3
			require.InDelta(t, want, got, 1e-6, "alpha %d", i)
		}
	}
	o := tessera(t, "decode", "-m", rgb, "--alpha-model", layered(t), in("z.safetensors"), "-o", in("no.png"))
	assert.Equal(t, job.ExitInput, o.code)
	assert.Contains(t, o.stderr, "is wan2.1 of 4 latent channels, cells of 8x8 pixels and 4 channels in one, expected wan2.1 of 4 latent channels, cells of 8x8 pixels and 3 channels in one")
	o = tessera(t, "decode", "-m", rgb, "--alpha-model", alpha, "--resume", in("z.safetensors"), "-o", in("no.mp4"))
	assert.Equal(t, job.ExitUsage, o.code)
	assert.Contains(t, o.stderr, "--resume and --alpha-model: expected one of the two")
}

// TestImageBatch decodes a batch of latents that are images.
func TestImageBatch(t *testing.T) {
	t.Parallel()
	needDevice(t)
	model, dir := layered(t), t.TempDir()
	all := make([]float64, 3*4*2*3)
	synthetic.Fill("latent", all)
	data := make([]float32, len(all))
	for i, v := range all {
		data[i] = float32(v)
	}
	latent := func(name string, shape []int, data []float32) string {
		return writeTensors(t, filepath.Join(dir, name+".safetensors"), nil, tensor{"samples", shape, data})
	}
	frames := filepath.Join(dir, "frames")
	batch := latent("batch", []int{3, 4, 1, 2, 3}, data)
	d := succeedJSON(t, "decode", "-m", model, batch, "-o", frames)
	assert.Equal(t, 3, d.Frames)
	assert.Equal(t, 16, d.Height)
	assert.Equal(t, 24, d.Width)
	for i, name := range []string{"frame_0000.png", "frame_0001.png", "frame_0002.png"} {
		one := filepath.Join(dir, "one.png")
		succeed(t, "decode", "-m", model, latent("one", []int{1, 4, 1, 2, 3}, data[24*i:24*i+24]), "-o", one)
		assert.Equal(t, decodePNG(t, one).Pix, decodePNG(t, filepath.Join(frames, name)).Pix, "%s differs from its latent decoded alone", name)
	}
	o := tessera(t, "decode", "-m", model, batch, "-o", filepath.Join(dir, "all.png"))
	assert.NotZero(t, o.code)
	assert.Contains(t, o.stderr, "3 frames don't fit into one PNG, expected a folder such as "+filepath.Join(dir, "all"))
}
