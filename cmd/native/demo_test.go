package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

// The demo prints the quality that the model's README states, and writes all files that
// it lists.
func TestDemo(t *testing.T) {
	testenv.Long(t)
	needDevice(t)
	dir := filepath.Join(t.TempDir(), "a", "demo")
	r := succeedJSON(t, "demo", "-o", dir)
	assert.InDelta(t, 30.23, float64(r.Quality.PSNR), 0.01)
	assert.InDelta(t, 0.832, r.Quality.SSIM, 0.0005)
	assert.InDelta(t, 32.3, float64(r.Quality.Frames[0].PSNR), 0.05, "the first frame")
	require.Len(t, r.Quality.Frames, 17)
	assert.Equal(t, 17, r.Frames)
	assert.Equal(t, 256, r.Height)
	assert.Equal(t, 256, r.Width)
	want := []string{"decoded", "latent.safetensors", "sheet.png"}
	if haveFFmpeg() {
		want = append(want, "decoded.mp4")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	require.Len(t, files, len(want))
	assert.Len(t, r.Outputs, len(want))
	frames, _ := filepath.Glob(filepath.Join(dir, "decoded", "frame_*.png"))
	assert.Len(t, frames, 17)
	img := readPNG(t, filepath.Join(dir, "sheet.png"))
	assert.GreaterOrEqual(t, img.Bounds().Dx(), 3*256, "the sheet")
	assert.GreaterOrEqual(t, img.Bounds().Dy(), 4*256, "the sheet")
	z, _ := readTensor(t, filepath.Join(dir, "latent.safetensors"))
	assert.Len(t, z.data, 16*5*32*32, "latent %v", z.shape)
}

// The demo runs its clip with any checkpoint. With alpha there is no mp4.
func TestDemoModel(t *testing.T) {
	testenv.Long(t)
	needDevice(t)
	dir := t.TempDir()
	model := wan(t, "narrow_layered.safetensors", synthetic.WanConfig{Dim: 4, Latent: 4, Channels: 4})
	o := succeed(t, "demo", "-m", model, "-o", dir)
	for _, word := range []string{"encoded  17 frames of 256x256", "decoded  17", "one tile", "sheet.png"} {
		assert.Contains(t, o.stdout, word)
	}
	assert.Contains(t, o.stderr, "with Qwen-Image-Layered, narrow_layered.safetensors")
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	assert.Len(t, files, 3)
	decodePNG(t, filepath.Join(dir, "decoded", "frame_0016.png"))
	z, meta := readTensor(t, filepath.Join(dir, "latent.safetensors"))
	assert.Equal(t, []int{4, 17, 32, 32}, z.shape)
	assert.Equal(t, "true", meta["tessera.images"])
}

func TestInfoWan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, name, family string
		words               []string
	}{
		{wan21(t), "Wan 2.1", "wan2.1", []string{"4, 8, 16, 16, 2 blocks", "16, 16, 8, 4, 3 blocks", "mean -0.9497 to 1.5508, deviation 1.1253 to 3.2687", "1 frame per 4", "Decoding clips"}},
		{wan22(t), "Wan 2.2", "wan2.2", []string{"patches of 2x2", "48 channels", "16x16 pixels", "mean -0.2944 to 0.5109, deviation 0.3523 to 1.6887"}},
		{qwen(t), "Qwen-Image", "wan2.1", []string{"1 frame per picture", "--no-independent-frames", "Decoding pictures"}},
		{wan(t, "upscale2x.safetensors", synthetic.WanConfig{Dim: 4, Outputs: 12}), "Wan 2.1", "wan2.1", []string{"RGB, decoded at 2 times the size", "8x8 pixels"}},
		{layered(t), "Qwen-Image-Layered", "wan2.1", []string{"RGB and alpha", "unknown for 4 channels"}},
	} {
		o := succeed(t, "info", c.model)
		for _, word := range append(c.words, c.name+" VAE ("+c.family+")", "safetensors, original names", "RMS norm", "in one tile", "exact tiles of 512") {
			assert.Contains(t, o.stdout, word, c.name)
		}
		var m modelInfo
		require.NoError(t, json.Unmarshal([]byte(succeed(t, "info", c.model, "--json").stdout), &m))
		assert.Equal(t, c.name, m.Model)
		assert.Equal(t, c.family, m.Family)
		require.Len(t, m.Needs, 3)
		assert.Equal(t, m.Needs[0].Whole, m.Needs[0].Exact)
		assert.Positive(t, m.Needs[2].Exact, c.name)
		assert.Positive(t, m.Needs[2].GFLOPs, c.name)
	}
	// An invalid .pth is reported as such, not as a video.
	bad := filepath.Join(t.TempDir(), "bad.pth")
	write(t, bad, []byte("PK\x03\x04 and nothing of a zip"))
	o := tessera(t, "info", bad)
	assert.Equal(t, job.ExitInput, o.code)
	assert.Contains(t, o.stderr, "bad.pth")
	assert.NotContains(t, o.stderr, "ffmpeg")
}

func TestInfo(t *testing.T) {
	var m modelInfo
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "info", tiny, "--json").stdout), &m))
	assert.Equal(t, "model", m.Kind)
	assert.Equal(t, "seedvr2", m.Family)
	assert.Equal(t, 250, m.Tensors)
	assert.EqualValues(t, 2_550_187, m.Parameters)
	assert.Equal(t, 250, m.DTypes["F16"])
	assert.Equal(t, 16, m.Config.Latent)
	assert.Equal(t, 8, m.Config.Groups)
	assert.EqualValues(t, 5_127_934, m.Bytes)
	require.Len(t, m.Needs, 3)
	assert.Positive(t, m.Needs[0].Tiled)
	assert.GreaterOrEqual(t, m.Needs[1].Tiled, m.Needs[0].Tiled)
	o := succeed(t, "info", tiny)
	for _, word := range []string{"SeedVR2 VAE (seedvr2)", "scaling 0.9152, shift 0", "in tiles of 512", "24, 32, 48, 48", "2,550,187 in 250 tensors", "250 F16", "16 channels", "512x512", "1280x720", "1920x1080", "time per frame", "GiB"} {
		assert.Contains(t, o.stdout, word)
	}
	// Without a device info still prints a description.
	o = tesseraEnv(t, []string{"TESSERA_DAWN=/nonexistent"}, "info", tiny)
	assert.Zero(t, o.code)
	assert.Contains(t, o.stderr, "default limits")
	assert.Contains(t, o.stdout, "2,550,187")
	assert.Contains(t, succeed(t, "info", latentFile(t, 16, 2, 3, 4)).stdout, "latent of 16 channels, 2 frames, 4x3 cells")
	assert.Contains(t, succeed(t, "info", demoClip(t, 2, 10, 12)).stdout, "video of 2 frames of 12x10")
	layers := filepath.Join(t.TempDir(), "layers.npy")
	write(t, layers, npy([]int{4, 3, 2, 5}, make([]float32, 120)))
	assert.Contains(t, succeed(t, "info", layers).stdout, "video of 3 frames of 5x2")
}

func TestDevices(t *testing.T) {
	needDevice(t)
	o := succeed(t, "devices")
	for _, word := range []string{"* ", "f16", "subgroups", "matrices", "kernel", "binding", "workgroups", "Dawn: "} {
		assert.Contains(t, o.stdout, word)
	}
	var list struct {
		Library string
		Devices []device
	}
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "devices", "--json").stdout), &list))
	taken := 0
	for i, d := range list.Devices {
		assert.Equal(t, i, d.Index)
		require.NotEmpty(t, d.Name)
		assert.NotZero(t, d.Limits.MaxBuffer)
		assert.NotZero(t, d.Budget)
		assert.NotNil(t, d.Matrices, "matrices")
		assert.NotNil(t, d.Kernels.Trials, "trials of kernels")
		assert.Equal(t, d.F16, d.NoF16 == "", "f16 %t, and why not: %q", d.F16, d.NoF16)
		if d.Taken {
			taken++
		}
	}
	assert.Equal(t, 1, taken)
	assert.NotEmpty(t, list.Library)
}

func TestMatrixSizes(t *testing.T) {
	assert.Equal(t, "none", sizes(nil))
	assert.Equal(t, "f16 to f32 16x16x16, 16x8x8; i8 to i32 8x8x16", sizes([]matrix{
		{16, 16, 16, "f16", "f32"}, {8, 8, 16, "i8", "i32"}, {16, 8, 8, "f16", "f32"},
	}))
}
