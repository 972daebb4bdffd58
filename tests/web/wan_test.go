package web

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
	"tessera/gpu/gputest"
	"tessera/latent"
	"tessera/media"
	"tessera/tests/synthetic"
	"tessera/tiling"
	"tessera/vae"
)

// wan is a small checkpoint of Wan in a file.
func wan(t *testing.T, name string, c synthetic.WanConfig) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	c.Dim, c.DType = 12, safetensors.F32
	if err := synthetic.CreateWan(path, c); err != nil {
		t.Fatal(err)
	}
	return path
}

// asPTH is a checkpoint as torch saves it.
func asPTH(t *testing.T, checkpoint, name string) string {
	t.Helper()
	f, err := safetensors.Open(checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	path := filepath.Join(t.TempDir(), name)
	if err := pthtest.Convert(path, f, pthtest.Options{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// flat is a copy of a checkpoint with quantisation convolutions of zeros.
func flat(t *testing.T, checkpoint string) string {
	t.Helper()
	f, err := safetensors.Open(checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := os.ReadFile(checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"conv1.weight", "conv2.weight"} {
		x, _ := f.Tensor(name)
		old := make([]byte, x.Bytes())
		if err := x.ReadRaw(old, 0); err != nil {
			t.Fatal(err)
		}
		i := bytes.Index(data, old)
		clear(data[i : i+len(old)])
	}
	path := filepath.Join(t.TempDir(), "brown.safetensors")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// straight is a clip of pictures with straight alpha.
type straight struct {
	frames   []*image.NRGBA
	channels int
}

func (c straight) Frames() int      { return len(c.frames) }
func (c straight) Size() (int, int) { return c.frames[0].Rect.Dy(), c.frames[0].Rect.Dx() }
func (c straight) Channels() int    { return c.channels }
func (c straight) ReadFrame(t int, dst []float32) error {
	media.FromRGBA(dst, c.frames[t].Pix, c.channels)
	return nil
}

// demoFrames are the original frames of what ?demo=2x6x6 shows.
func demoFrames(t *testing.T) straight {
	t.Helper()
	c := straight{channels: 3}
	for i := range 5 {
		picture := readPNG(t, filepath.Join(root, "assets/demo", fmt.Sprintf("frame_%04d.png", i)))
		part := image.NewNRGBA(image.Rect(0, 0, 48, 48))
		for y := range 48 {
			copy(part.Pix[y*part.Stride:][:4*48], picture.Pix[picture.PixOffset(48, 56+y):])
		}
		c.frames = append(c.frames, part)
	}
	return c
}

// readPNG reads a picture without loss.
func readPNG(t *testing.T, path string) *image.NRGBA {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	switch p := picture.(type) {
	case *image.NRGBA:
		return p
	case *image.RGBA: // opaque
		return &image.NRGBA{Pix: p.Pix, Stride: p.Stride, Rect: p.Rect}
	}
	t.Fatalf("%s is a %T", path, picture)
	return nil
}

// tripped are a clip's frames as this machine's engine encodes and decodes them.
func tripped(t *testing.T, checkpoint string, c straight, o vae.Options) [][]byte {
	t.Helper()
	m, err := vae.Open(gputest.Open(t), checkpoint, vae.Settings{Precision: vae.F32})
	if err != nil {
		t.Fatal(err)
	}
	z, err := m.Encode(t.Context(), c, vae.EncodeOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	for f, err := range m.Decode(t.Context(), z, vae.DecodeOptions{Options: o, RGBA8: true, Frames: c.Frames()}) {
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, bytes.Clone(f.RGBA))
	}
	return frames
}

// TestVisitorWan drops a .pth of Wan and runs the demo clip through it, in exact
// tiles.
func TestVisitorWan(t *testing.T) {
	checkpoint := wan(t, "wan.safetensors", synthetic.WanConfig{})
	v := newVisit(t, "")
	v.open("?demo=2x6x6", "&tile=32&overlap=16&precision=f32")
	v.ready()
	if !eval[bool](t, v.tab, `document.getElementById('tiling').hidden`) {
		t.Error("tilings are offered for a model that has one")
	}
	v.pick("model-file", asPTH(t, checkpoint, "Wan2.1_VAE.pth"))
	v.wait("the checkpoint", time.Minute, `document.getElementById('model-name').textContent === 'Wan2.1_VAE'`)
	v.ready()
	if facts, form := v.text("model-facts"), v.text("model-form"); !strings.HasPrefix(facts, "Wan 2.1 · ") || form != "RGB to 16 channels a cell of 8 × 8 pixels · original names" {
		t.Errorf("the model is %q, %q", facts, form)
	}
	if eval[bool](t, v.tab, `document.getElementById('tiling').hidden || !document.querySelector('input[name=task][value=decode]').disabled`) {
		t.Error("no tilings are offered, or SeedVR2's latent is to be decoded")
	}
	plan := v.text("plans")
	if !strings.Contains(plan, "4 exact tiles of 32 × 32, with up to ") || !strings.Contains(plan, "In one tile it would be ") {
		t.Errorf("the plan says %q", plan)
	}
	if got := v.text("demo"); got != "Run the demo clip through Wan 2.1" {
		t.Errorf("the button says %q", got)
	}
	v.click("#demo")
	v.ended("done", 4*time.Minute)
	exact := vae.Options{Tile: tiling.Choice{Tile: tiling.Square(32)}, Tiling: vae.Exact}
	v.sees(tripped(t, checkpoint, demoFrames(t), exact))
	if psnr := v.text("psnr"); !strings.HasSuffix(psnr, " dB") {
		t.Errorf("PSNR %q", psnr)
	}
	v.click("#save-latent")
	l, err := media.ReadLatent(v.download("demo.safetensors"), 16)
	if err != nil || l.Frames != 2 || l.Height != 6 || l.Meta[latent.MetaScale] != latent.ScalePipeline {
		t.Errorf("the latent is %v, %v, %v", l.Shape(), l.Meta, err)
	}
	set := func(name, value string) {
		eval[bool](t, v.tab, `(() => { const f = document.querySelector('select[name=' + $ + ']'); f.value = $; f.dispatchEvent(new Event('change', {bubbles: true})); return true; })()`, name, value)
		v.ready()
	}
	set("tiling", "feather")
	if plan := v.text("plans"); strings.Contains(plan, "exact") {
		t.Errorf("the plan says %q", plan)
	}
	set("frames", "pictures")
	if got := v.text("input-facts"); !strings.HasPrefix(got, "5 pictures of 48 × 48 pixels") {
		t.Errorf("the input is %q", got)
	}
	if hash := eval[string](t, v.tab, `location.hash`); !strings.Contains(hash, "tiling=feather") || !strings.Contains(hash, "frames=pictures") {
		t.Errorf("the address ends with %q", hash)
	}

	// A file that makes flat pictures is taken only where one insists.
	v.pick("model-file", flat(t, checkpoint))
	v.wait("a message", time.Minute, `!document.getElementById('notice').hidden`)
	if title, action := v.text("notice-title"), v.text("notice-action"); title != "Every picture of brown.safetensors would be flat" || action != "Use it anyway" {
		t.Errorf("the page says %q and offers %q", title, action)
	}
	v.ready()
	if got := v.text("model-name"); got != "Wan2.1_VAE" {
		t.Errorf("the checkpoint is %q", got)
	}
	v.click("#notice-action")
	v.wait("the checkpoint", time.Minute, `document.getElementById('model-name').textContent === 'brown'`)
	v.ready()
}

// glass is a picture of every alpha, coloured where it is clear too.
func glass() *image.NRGBA {
	picture := image.NewNRGBA(image.Rect(0, 0, 40, 24))
	for y := range 24 {
		for x := range 40 {
			picture.SetNRGBA(x, y, color.NRGBA{uint8(6 * x), uint8(10 * y), 200, uint8(max(0, 8*x-60))})
		}
	}
	return picture
}

func glassFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "glass.png")
	f, err := os.Create(path)
	if err == nil {
		err = png.Encode(f, glass())
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVisitorAlpha takes one picture with alpha through a model of 4 channels:
// in and out without loss, shown as a picture.
func TestVisitorAlpha(t *testing.T) {
	checkpoint := wan(t, "layered.safetensors", synthetic.WanConfig{Latent: 4, Channels: 4})
	v := newVisit(t, "")
	v.open("?demo=2x6x6", "&precision=f32")
	v.ready()
	v.pick("model-file", checkpoint)
	v.wait("the checkpoint", time.Minute, `document.getElementById('model-name').textContent === 'layered'`)
	v.ready()
	v.pick("input-file", glassFile(t))
	v.wait("the picture", time.Minute, `document.getElementById('input-name').textContent === 'glass.png'`)
	v.ready()
	if facts, form, input := v.text("model-facts"), v.text("model-form"), v.text("input-facts"); !strings.HasPrefix(facts, "Qwen-Image-Layered · ") ||
		!strings.HasPrefix(form, "RGBA to 4 channels") || input != "picture of 40 × 24 pixels" {
		t.Errorf("the model is %q, %q, the input %q", facts, form, input)
	}
	v.click("#run")
	v.ended("done", 4*time.Minute)
	if got := v.text("progress-text"); !strings.HasPrefix(got, "One picture in ") {
		t.Errorf("the page says %q", got)
	}
	if !eval[bool](t, v.tab, `getComputedStyle(document.getElementById('play')).visibility === 'hidden' && document.getElementById('save-mp4').disabled &&
		getComputedStyle(document.getElementById('picture')).backgroundImage.includes('conic')`) {
		t.Error("there is a player or a video, or no checkerboard")
	}
	v.click("#save-png")
	got := readPNG(t, v.download("glass.png")).Pix
	want := tripped(t, checkpoint, straight{[]*image.NRGBA{glass()}, 4}, vae.Options{Independent: true})[0]
	alphas := map[byte]bool{}
	for i := 3; i < len(got); i += 4 {
		alphas[got[i]] = true
	}
	if most, count, err := differ(got, want); err != nil || most > 1 || count > len(want)/100 || len(alphas) < 10 {
		t.Errorf("%d of %d values differ, by up to %d, %v; %d alphas", count, len(want), most, err, len(alphas))
	}
}
