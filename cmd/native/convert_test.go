package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"tessera/app/report"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A clip of odd size and length keeps both, in all formats, because of the metadata.
func TestOddSizes(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir, clip := t.TempDir(), demoClip(t, 7, 50, 38)
	latent, video := filepath.Join(dir, "z.safetensors"), filepath.Join(dir, "out.safetensors")
	e := succeedJSON(t, "encode", "-m", tiny, clip, "-o", latent)
	assert.Equal(t, 7, e.Frames)
	assert.Equal(t, 50, e.Height)
	assert.Equal(t, 38, e.Width)
	assert.Equal(t, []int{16, 3, 7, 5}, e.Latent)
	z, meta := readTensor(t, latent)
	assert.Equal(t, "latent", z.name)
	assert.Equal(t, []int{16, 3, 7, 5}, z.shape)
	want := map[string]string{
		"tessera.frames": "7", "tessera.height": "50", "tessera.width": "38", "tessera.scale": "pipeline", "tessera.kind": "latent",
	}
	for key, v := range want {
		assert.Equal(t, v, meta[key], key)
	}
	d := succeedJSON(t, "decode", "-m", tiny, latent, "-o", video)
	assert.Equal(t, 7, d.Frames)
	assert.Equal(t, 50, d.Height)
	assert.Equal(t, 38, d.Width)
	x, _ := readTensor(t, video)
	assert.Equal(t, []int{3, 7, 50, 38}, x.shape)

	// The device's 8-bit frames equal the floats, clamped and rounded.
	folder := filepath.Join(dir, "frames")
	succeed(t, "decode", "-m", tiny, latent, "-o", folder)
	files, _ := filepath.Glob(filepath.Join(folder, "frame_*.png"))
	require.Len(t, files, 7)
	for i, f := range files {
		assert.LessOrEqual(t, pngError(t, f, x, i), 1, "frame %d: a code of the PNG from the floats", i)
	}
	// A roundtrip gives the same result in one run.
	again := filepath.Join(dir, "again.npy")
	r := succeedJSON(t, "roundtrip", "-m", tiny, clip, "-o", again)
	assert.Equal(t, x.data, readNPY(t, again), "roundtrip differs from encode and decode")
	require.Len(t, r.Quality.Frames, 7)
	assert.GreaterOrEqual(t, r.Quality.PSNR, report.Decibels(22))
	assert.InDelta(t, psnr(t, clip, x), float64(r.Quality.PSNR), 1e-3, "over the files")
	assert.Equal(t, filepath.Join(dir, "again-sheet.png"), string(r.Outputs[1]))
	assert.GreaterOrEqual(t, readPNG(t, string(r.Outputs[1])).Bounds().Dx(), 3*38, "the sheet")
}

// Frames keep their order and number through a video file.
func TestVideoFile(t *testing.T) {
	t.Parallel()
	needDevice(t)
	if !haveFFmpeg() {
		t.Skip("no ffmpeg")
	}
	dir, clip := t.TempDir(), demoClip(t, 6, 24, 32)
	out := filepath.Join(dir, "out.mp4")
	r := succeedJSON(t, "roundtrip", "-m", tiny, clip, "-o", out, "--fps=30000/1001")
	assert.InDelta(t, 29.97, r.FPS, 0.01)
	latent, again := filepath.Join(dir, "z.latent"), filepath.Join(dir, "again.mkv")
	succeed(t, "encode", "-m", tiny, out, "-o", latent)
	succeed(t, "decode", "-m", tiny, latent, "-o", again)
	var v struct {
		Kind                  string
		Frames, Height, Width int
		FPS                   float64
	}
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "info", again, "--json").stdout), &v))
	assert.Equal(t, "video", v.Kind)
	assert.Equal(t, 6, v.Frames)
	assert.Equal(t, 24, v.Height)
	assert.Equal(t, 32, v.Width)
	assert.InDelta(t, 29.97, v.FPS, 0.01)
}

// --sample is reproducible and not the mean; --moments are unscaled; --scale
// changes the numbers by the model's factor and is followed when decoding.
func TestNumbers(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir, clip := t.TempDir(), demoClip(t, 1, 16, 24)
	encode := func(name string, flags ...string) (tensor, map[string]string) {
		out := filepath.Join(dir, name+".safetensors")
		succeed(t, append([]string{"encode", "-m", tiny, clip, "-o", out}, flags...)...)
		return readTensor(t, out)
	}
	mean, _ := encode("mean")
	plain, meta := encode("plain", "--scale=none")
	moments, kind := encode("moments", "--moments")
	first, _ := encode("first", "--sample", "--seed=7")
	second, _ := encode("second", "--sample", "--seed=7")
	other, _ := encode("other", "--sample", "--seed=8")

	assert.Equal(t, "none", meta["tessera.scale"])
	assert.Equal(t, "moments", kind["tessera.kind"])
	assert.Equal(t, "none", kind["tessera.scale"])
	assert.Equal(t, []int{32, 1, 2, 3}, moments.shape)
	assert.Equal(t, plain.data, moments.data[:len(plain.data)])
	for i, v := range plain.data {
		require.InDelta(t, 0.9152*float64(v), mean.data[i], 1e-6*math.Abs(float64(v)), "value %d", i)
	}
	assert.Equal(t, second.data, first.data, "a seed does not repeat its sample")
	assert.NotEqual(t, other.data, first.data, "samples don't differ")
	assert.NotEqual(t, mean.data, first.data, "samples don't differ")
	// (sample - mean) / deviation is standard normal.
	var sum, squares float64
	for i, v := range first.data {
		deviation := 0.9152 * math.Exp(float64(moments.data[len(plain.data)+i])/2)
		e := (float64(v) - float64(mean.data[i])) / deviation
		sum, squares = sum+e, squares+e*e
	}
	n := float64(len(first.data))
	assert.InDelta(t, 0, sum/n, 0.35, "mean of the noise")
	assert.True(t, squares/n >= 0.6 && squares/n <= 1.5, "variance of the noise: %.2f", squares/n)

	decode := func(name string, flags ...string) ([]float32, outcome) {
		out := filepath.Join(dir, "out.npy")
		o := succeed(t, append([]string{"decode", "-m", tiny, filepath.Join(dir, name+".safetensors"), "-o", out}, flags...)...)
		return readNPY(t, out), o
	}
	fromMean, _ := decode("mean")
	fromPlain, o := decode("plain")
	assert.NotContains(t, o.stderr, "warning")
	assert.LessOrEqual(t, nmse32(fromPlain, fromMean), 1e-10, "the metadata's scale is not followed: NMSE")
	wrong, o := decode("plain", "--scale=pipeline")
	assert.GreaterOrEqual(t, nmse32(wrong, fromMean), 1e-6, "an explicit --scale is not followed: NMSE")
	assert.Contains(t, o.stderr, "--scale none")
}

// Without --tile a smaller tile is used if 512 does not fit, with a note.
func TestShrink(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir, latent := t.TempDir(), latentFile(t, 16, 1, 20, 36)
	out := filepath.Join(dir, "out.npy")
	o := succeed(t, "decode", "-m", tiny, latent, "-o", out, "--overlap=16", "--memory=14MiB")
	assert.Contains(t, o.stderr, "tiles of 512x512 don't fit 14.0 MiB")
	r := succeedJSON(t, "decode", "-m", tiny, latent, "-o", out, "--overlap=16", "--memory=14MiB")
	assert.True(t, r.Decode.Shrunk)
	assert.GreaterOrEqual(t, r.Decode.Tiles, 2)
	assert.LessOrEqual(t, r.PeakBytes, int64(14<<20))
	assert.LessOrEqual(t, r.Decode.PlannedBytes, int64(14<<20))
	auto := succeedJSON(t, "decode", "-m", tiny, latent, "-o", out, "--overlap=16", "--memory=14MiB", "--tile=auto")
	assert.Equal(t, r.Decode.Tile, auto.Decode.Tile, "--tile auto, and what the default came to")
	assert.False(t, auto.Decode.Shrunk)
}

// Metadata that cannot belong to the latent is ignored, with a warning.
func TestForeignMetadata(t *testing.T) {
	needDevice(t)
	dir := t.TempDir()
	in := filepath.Join(dir, "in.safetensors")
	writeTensors(t, in, map[string]string{"tessera.frames": "90", "tessera.height": "16", "tessera.width": "700", "tessera.scale": "pipeline"},
		tensor{"latent", []int{16, 1, 2, 2}, make([]float32, 64)})
	r := succeedJSON(t, "decode", "-m", tiny, in, "-o", filepath.Join(dir, "out.png"))
	assert.Equal(t, 1, r.Frames)
	assert.Equal(t, 16, r.Height)
	assert.Equal(t, 16, r.Width)
	assert.Len(t, r.Warnings, 2)
}

// --quiet prints nothing, and the summary has the promised values.
func TestSummary(t *testing.T) {
	needDevice(t)
	dir, latent := t.TempDir(), latentFile(t, 16, 1, 2, 2)
	out := filepath.Join(dir, "out.png")
	o := succeed(t, "decode", "-m", tiny, latent, "-o", out)
	for _, word := range []string{"1 frame of 16x16", "frames/s", "peak memory", "MiB", "f32", "one tile", out} {
		assert.Contains(t, o.stdout, word)
	}
	assert.Empty(t, succeed(t, "decode", "-m", tiny, latent, "-o", out, "--quiet").stdout)
	_, err := os.Stat(out)
	assert.NoError(t, err)
}

// A clip smaller than the overlap is one tile, also with --tile auto.
func TestAutoOnSmallClip(t *testing.T) {
	needDevice(t)
	out := filepath.Join(t.TempDir(), "out.png")
	r := succeedJSON(t, "decode", "-m", tiny, latentFile(t, 16, 1, 2, 3), "-o", out, "--tile=auto")
	assert.Equal(t, 1, r.Decode.Tiles, "%+v", r.Decode)
}
