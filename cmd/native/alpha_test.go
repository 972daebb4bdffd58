package main

import (
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tessera/format/safetensors"
	"tessera/tests/synthetic"
)

// layered is a small model of 4 channels.
func layered(t testing.TB) string {
	return wan(t, "layered.safetensors", synthetic.WanConfig{Dim: 12, Latent: 4, Channels: 4, DType: safetensors.F32})
}

// decodePNG reads a picture that must have its alpha.
func decodePNG(t *testing.T, path string) *image.NRGBA {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	n, ok := img.(*image.NRGBA)
	if !ok {
		t.Fatalf("%s is a %T, expected straight alpha", path, img)
	}
	return n
}

// TestAlpha takes a picture with alpha through a model of 4 channels.
func TestAlpha(t *testing.T) {
	needDevice(t)
	model, dir := layered(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	img := image.NewNRGBA(image.Rect(0, 0, 22, 15))
	for y := range 15 {
		for x := range 22 {
			img.SetNRGBA(x, y, color.NRGBA{uint8(11 * x), uint8(17 * y), uint8(255 - 9*x), uint8(12 * (x + y) % 256)})
		}
	}
	f, err := os.Create(in("in.png"))
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(f, img); err != nil {
		t.Fatal(err)
	}
	f.Close()

	e := succeedJSON(t, "encode", "-m", model, in("in.png"), "-o", in("z.safetensors"), "--scale=none")
	if e.Frames != 1 || e.Height != 15 || e.Width != 22 {
		t.Errorf("encode says %+v", e)
	}
	succeed(t, "decode", "-m", model, in("z.safetensors"), "-o", in("out.png"))
	succeed(t, "decode", "-m", model, in("z.safetensors"), "-o", in("out.safetensors"))
	got := decodePNG(t, in("out.png"))
	x, _ := readTensor(t, in("out.safetensors"))
	if b := got.Bounds(); b.Dx() != 22 || b.Dy() != 15 || len(x.data) != 4*15*22 || x.shape[0] != 4 {
		t.Fatalf("picture of %v, floats of %v", b, x.shape)
	}
	alphas := map[byte]bool{}
	for i := range 15 * 22 {
		alphas[got.Pix[4*i+3]] = true
		for c := range 4 {
			want := math.Min(255, math.Max(0, float64(x.data[c*15*22+i])*127.5+127.5))
			if d := math.Abs(float64(got.Pix[4*i+c]) - want); d > 0.5001 {
				t.Fatalf("pixel %d, channel %d: %d, the floats have %.3f", i, c, got.Pix[4*i+c], want)
			}
		}
	}
	if len(alphas) < 5 {
		t.Errorf("only %d different alphas", len(alphas))
	}

	r := succeedJSON(t, "roundtrip", "-m", model, in("in.png"), "-o", in("again.png"))
	decodePNG(t, in("again.png"))
	if len(r.Outputs) != 2 {
		t.Errorf("roundtrip wrote %v", r.Outputs)
	}
	o := tessera(t, "decode", "-m", model, in("z.safetensors"), "-o", in("out.mp4"))
	if o.code == 0 || !strings.Contains(o.stderr, ".mp4 doesn't keep transparency, expected a folder of PNG") {
		t.Errorf("to .mp4: %+v", o)
	}
}

// TestImageBatch decodes a batch of latents, each an image.
func TestImageBatch(t *testing.T) {
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
	if d := succeedJSON(t, "decode", "-m", model, batch, "-o", frames); d.Frames != 3 || d.Height != 16 || d.Width != 24 {
		t.Errorf("decode says %+v", d)
	}
	for i, name := range []string{"frame_0000.png", "frame_0001.png", "frame_0002.png"} {
		one := filepath.Join(dir, "one.png")
		succeed(t, "decode", "-m", model, latent("one", []int{1, 4, 1, 2, 3}, data[24*i:24*i+24]), "-o", one)
		if string(decodePNG(t, filepath.Join(frames, name)).Pix) != string(decodePNG(t, one).Pix) {
			t.Errorf("%s differs from its latent decoded by itself", name)
		}
	}
	o := tessera(t, "decode", "-m", model, batch, "-o", filepath.Join(dir, "all.png"))
	if o.code == 0 || !strings.Contains(o.stderr, "3 frames don't fit into one PNG; the name "+filepath.Join(dir, "all")+" makes a folder") {
		t.Errorf("to one .png: %+v", o)
	}
}
