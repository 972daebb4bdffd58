package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A clip of an odd size and count comes back at its size and count, whatever
// the formats, and the metadata says how.
func TestOddSizes(t *testing.T) {
	needDevice(t)
	dir, clip := t.TempDir(), demoClip(t, 7, 50, 38)
	latent, video := filepath.Join(dir, "z.safetensors"), filepath.Join(dir, "out.safetensors")
	e := succeedJSON(t, "encode", "-m", tiny, clip, "-o", latent)
	if e.Frames != 7 || e.Height != 50 || e.Width != 38 || !slices.Equal(e.Latent, []int{16, 3, 7, 5}) {
		t.Errorf("encode says %+v", e)
	}
	z, meta := readTensor(t, latent)
	if z.name != "latent" || !slices.Equal(z.shape, []int{16, 3, 7, 5}) {
		t.Errorf("latent %q %v", z.name, z.shape)
	}
	want := map[string]string{
		"tessera.frames": "7", "tessera.height": "50", "tessera.width": "38", "tessera.scale": "pipeline", "tessera.kind": "latent",
	}
	for key, v := range want {
		if meta[key] != v {
			t.Errorf("metadata %s is %q, want %q", key, meta[key], v)
		}
	}
	d := succeedJSON(t, "decode", "-m", tiny, latent, "-o", video)
	if d.Frames != 7 || d.Height != 50 || d.Width != 38 {
		t.Errorf("decode says %+v", d)
	}
	x, _ := readTensor(t, video)
	if !slices.Equal(x.shape, []int{3, 7, 50, 38}) {
		t.Errorf("video is %v", x.shape)
	}

	// The 8-bit frames of the device are the floats, clamped and rounded.
	folder := filepath.Join(dir, "frames")
	succeed(t, "decode", "-m", tiny, latent, "-o", folder)
	files, _ := filepath.Glob(filepath.Join(folder, "frame_*.png"))
	if len(files) != 7 {
		t.Fatalf("%d frames in the folder", len(files))
	}
	for i, f := range files {
		if worst := pngError(t, f, x, i); worst > 1 {
			t.Errorf("frame %d: a code of the PNG is %d from the floats", i, worst)
		}
	}
	// And a roundtrip in one go gives the same.
	again := filepath.Join(dir, "again.npy")
	r := succeedJSON(t, "roundtrip", "-m", tiny, clip, "-o", again)
	if got := readNPY(t, again); !slices.Equal(got, x.data) {
		t.Error("roundtrip differs from encode and decode")
	}
	if len(r.Quality.Frames) != 7 || r.Quality.PSNR < 22 || math.Abs(float64(r.Quality.PSNR)-psnr(t, clip, x)) > 1e-3 {
		t.Errorf("quality %+v, PSNR over the files is %.4f", r.Quality, psnr(t, clip, x))
	}
	if r.Outputs[1] != filepath.Join(dir, "again-sheet.png") {
		t.Errorf("outputs %v", r.Outputs)
	}
	if img := readPNG(t, r.Outputs[1]); img.Bounds().Dx() < 3*38 {
		t.Errorf("the sheet is %v", img.Bounds())
	}
}

// Frames keep their order and number through a video file.
func TestVideoFile(t *testing.T) {
	needDevice(t)
	if !haveFFmpeg() {
		t.Skip("no ffmpeg")
	}
	dir, clip := t.TempDir(), demoClip(t, 6, 24, 32)
	out := filepath.Join(dir, "out.mp4")
	if r := succeedJSON(t, "roundtrip", "-m", tiny, clip, "-o", out, "--fps=30000/1001"); math.Abs(r.FPS-29.97) > 0.01 {
		t.Errorf("frame rate %v", r.FPS)
	}
	latent, again := filepath.Join(dir, "z.latent"), filepath.Join(dir, "again.mkv")
	succeed(t, "encode", "-m", tiny, out, "-o", latent)
	succeed(t, "decode", "-m", tiny, latent, "-o", again)
	var v struct {
		Kind                  string
		Frames, Height, Width int
		FPS                   float64
	}
	if err := json.Unmarshal([]byte(succeed(t, "info", again, "--json").stdout), &v); err != nil {
		t.Fatal(err)
	}
	if v.Kind != "video" || v.Frames != 6 || v.Height != 24 || v.Width != 32 || math.Abs(v.FPS-29.97) > 0.01 {
		t.Errorf("info says %+v", v)
	}
}

// --sample is reproducible and not the mean; --moments are unscaled; --scale
// changes the numbers by the model's factor and is followed when decoding.
func TestNumbers(t *testing.T) {
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

	if meta["tessera.scale"] != "none" || kind["tessera.kind"] != "moments" || kind["tessera.scale"] != "none" {
		t.Errorf("metadata %v and %v", meta, kind)
	}
	if !slices.Equal(moments.shape, []int{32, 1, 2, 3}) || !slices.Equal(moments.data[:len(plain.data)], plain.data) {
		t.Errorf("moments %v don't begin with the unscaled mean", moments.shape)
	}
	for i, v := range plain.data {
		if math.Abs(float64(mean.data[i])-0.9152*float64(v)) > 1e-6*math.Abs(float64(v)) {
			t.Fatalf("value %d: %v scaled, %v unscaled", i, mean.data[i], v)
		}
	}
	if !slices.Equal(first.data, second.data) {
		t.Error("a seed does not repeat its sample")
	}
	if slices.Equal(first.data, other.data) || slices.Equal(first.data, mean.data) {
		t.Error("samples don't differ")
	}
	// (sample - mean) / deviation is standard normal.
	var sum, squares float64
	for i, v := range first.data {
		deviation := 0.9152 * math.Exp(float64(moments.data[len(plain.data)+i])/2)
		e := (float64(v) - float64(mean.data[i])) / deviation
		sum, squares = sum+e, squares+e*e
	}
	n := float64(len(first.data))
	if math.Abs(sum/n) > 0.35 || squares/n < 0.6 || squares/n > 1.5 {
		t.Errorf("noise has mean %.2f and variance %.2f", sum/n, squares/n)
	}

	decode := func(name string, flags ...string) ([]float32, outcome) {
		out := filepath.Join(dir, "out.npy")
		o := succeed(t, append([]string{"decode", "-m", tiny, filepath.Join(dir, name+".safetensors"), "-o", out}, flags...)...)
		return readNPY(t, out), o
	}
	fromMean, _ := decode("mean")
	fromPlain, o := decode("plain")
	if o.stderr != "" && strings.Contains(o.stderr, "warning") {
		t.Errorf("warned: %s", o.stderr)
	}
	if e := nmse32(fromPlain, fromMean); e > 1e-10 {
		t.Errorf("the metadata's scale is not followed: NMSE %.2g", e)
	}
	wrong, o := decode("plain", "--scale=pipeline")
	if e := nmse32(wrong, fromMean); e < 1e-6 || !strings.Contains(o.stderr, "--scale none") {
		t.Errorf("an explicit --scale is not followed with a warning: NMSE %.2g, %s", e, o.stderr)
	}
}

// Without --tile a smaller tile is taken where 512 does not fit, and said so.
func TestShrink(t *testing.T) {
	needDevice(t)
	dir, latent := t.TempDir(), latentFile(t, 16, 1, 20, 36)
	out := filepath.Join(dir, "out.npy")
	o := succeed(t, "decode", "-m", tiny, latent, "-o", out, "--overlap=16", "--memory=14MiB")
	if !strings.Contains(o.stderr, "tiles of 512x512 don't fit 14.0 MiB") {
		t.Errorf("no word of the smaller tile in\n%s", o.stderr)
	}
	r := succeedJSON(t, "decode", "-m", tiny, latent, "-o", out, "--overlap=16", "--memory=14MiB")
	if !r.Decode.Shrunk || r.Decode.Tiles < 2 || r.PeakBytes > 14<<20 || r.Decode.PlannedBytes > 14<<20 {
		t.Errorf("%+v at a peak of %d bytes", r.Decode, r.PeakBytes)
	}
	auto := succeedJSON(t, "decode", "-m", tiny, latent, "-o", out, "--overlap=16", "--memory=14MiB", "--tile=auto")
	if auto.Decode.Tile != r.Decode.Tile || auto.Decode.Shrunk {
		t.Errorf("--tile auto takes %s, the default came to %s", auto.Decode.Tile, r.Decode.Tile)
	}
}

// Metadata that can't be of the latent is ignored, with a warning.
func TestForeignMetadata(t *testing.T) {
	needDevice(t)
	dir := t.TempDir()
	in := filepath.Join(dir, "in.safetensors")
	writeTensors(t, in, map[string]string{"tessera.frames": "90", "tessera.height": "16", "tessera.width": "700"},
		tensor{"latent", []int{16, 1, 2, 2}, make([]float32, 64)})
	r := succeedJSON(t, "decode", "-m", tiny, in, "-o", filepath.Join(dir, "out.png"))
	if r.Frames != 1 || r.Height != 16 || r.Width != 16 || len(r.Warnings) != 2 {
		t.Errorf("%+v", r)
	}
}

// --quiet prints nothing, and the summary says what the issue asks for.
func TestSummary(t *testing.T) {
	needDevice(t)
	dir, latent := t.TempDir(), latentFile(t, 16, 1, 2, 2)
	out := filepath.Join(dir, "out.png")
	o := succeed(t, "decode", "-m", tiny, latent, "-o", out)
	for _, word := range []string{"1 frame of 16x16", "frames/s", "peak memory", "MiB", "f32", "one tile", out} {
		if !strings.Contains(o.stdout, word) {
			t.Errorf("no %q in\n%s", word, o.stdout)
		}
	}
	if o := succeed(t, "decode", "-m", tiny, latent, "-o", out, "--quiet"); o.stdout != "" {
		t.Errorf("--quiet prints %s", o.stdout)
	}
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
	}
}

// A clip smaller than the overlap is one tile, also where the largest is sought.
func TestAutoOnSmallClip(t *testing.T) {
	needDevice(t)
	out := filepath.Join(t.TempDir(), "out.png")
	r := succeedJSON(t, "decode", "-m", tiny, latentFile(t, 16, 1, 2, 3), "-o", out, "--tile=auto")
	if r.Decode.Tiles != 1 {
		t.Errorf("%+v", r.Decode)
	}
}
