package web

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
	"tessera/gpu/gputest"
	"tessera/latent"
	"tessera/media"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
	"tessera/vae"
)

// wan creates a small checkpoint of Wan.
func wan(t *testing.T, name string, c synthetic.WanConfig) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	c.Dim, c.DType = 12, safetensors.F32
	require.NoError(t, synthetic.CreateWan(path, c))
	return path
}

// asPTH converts a checkpoint to torch's format.
func asPTH(t *testing.T, checkpoint, name string) string {
	t.Helper()
	f, err := safetensors.Open(checkpoint)
	require.NoError(t, err)
	defer f.Close()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, pthtest.Convert(path, f, pthtest.Options{}))
	return path
}

// flat copies a checkpoint with zeros in its quantisation convolutions.
func flat(t *testing.T, checkpoint string) string {
	t.Helper()
	f, err := safetensors.Open(checkpoint)
	require.NoError(t, err)
	defer f.Close()
	data, err := os.ReadFile(checkpoint)
	require.NoError(t, err)
	for _, name := range []string{"conv1.weight", "conv2.weight"} {
		x, _ := f.Tensor(name)
		old := make([]byte, x.Bytes())
		require.NoError(t, x.ReadRaw(old, 0))
		i := bytes.Index(data, old)
		clear(data[i : i+len(old)])
	}
	path := filepath.Join(t.TempDir(), "brown.safetensors")
	require.NoError(t, os.WriteFile(path, data, 0o666))
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

// demoFrames returns the original frames of ?demo=2x6x6.
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
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	switch p := picture.(type) {
	case *image.NRGBA:
		return p
	case *image.RGBA: // opaque
		return &image.NRGBA{Pix: p.Pix, Stride: p.Stride, Rect: p.Rect}
	}
	require.Fail(t, "a picture of another kind", "%s is a %T", path, picture)
	return nil
}

// tripped returns a clip's frames after this machine's engine has encoded and decoded
// them.
func tripped(t *testing.T, checkpoint string, c straight, o vae.Options) [][]byte {
	t.Helper()
	m, err := vae.Open(gputest.Open(t), checkpoint, vae.Settings{Precision: vae.F32})
	require.NoError(t, err)
	z, err := m.Encode(t.Context(), c, vae.EncodeOptions{Options: o})
	require.NoError(t, err)
	var frames [][]byte
	h, w := c.Size()
	for f, err := range m.Decode(t.Context(), z, vae.DecodeOptions{Options: o, RGBA8: true, Frames: c.Frames(), Height: h, Width: w}) {
		require.NoError(t, err)
		frames = append(frames, bytes.Clone(f.RGBA))
	}
	return frames
}

// TestVisitorWan drops a .pth of Wan and runs the demo clip with it, in exact tiles.
func TestVisitorWan(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	checkpoint := wan(t, "wan.safetensors", synthetic.WanConfig{})
	v := newVisit(t, "")
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	assert.True(t, eval[bool](t, v.tab, `document.getElementById('tiling').hidden`), "tilings are offered for a model that has one")
	v.takes(asPTH(t, checkpoint, "Wan2.1_VAE.pth"))
	assert.Regexp(t, "^Wan 2.1 · ", v.text("model-facts"))
	assert.Equal(t, "RGB to 16 channels per cell of 8 × 8 pixels · original names", v.text("model-form"))
	assert.False(t, eval[bool](t, v.tab, `document.getElementById('tiling').hidden`), "no tilings are offered")
	assert.True(t, eval[bool](t, v.tab, `document.querySelector('input[name=task][value=decode]').disabled`), "SeedVR2's latent is to be decoded")
	plan := v.text("plans")
	assert.Contains(t, plan, "4 exact tiles of 32 × 32, with up to ")
	assert.Contains(t, plan, "In one tile it would be ")
	assert.Regexp(t, "^Run the demo clip through Wan 2.1(: about .*)?$", v.text("demo"))
	v.click("#demo")
	v.ended("done", 4*time.Minute)
	exact := vae.Options{Tile: tiling.Choice{Tile: tiling.Square(32)}, Tiling: vae.Exact}
	v.sees(tripped(t, checkpoint, demoFrames(t), exact))
	assert.Regexp(t, " dB$", v.text("psnr"))
	v.click("#save-latent")
	l, err := media.ReadLatent(v.download("demo.safetensors"), 16)
	require.NoError(t, err)
	assert.Equal(t, []int{16, 2, 6, 6}, l.Shape())
	assert.Equal(t, latent.ScalePipeline, l.Meta[latent.MetaScale])
	v.set("tiling", "feather")
	v.ready()
	assert.NotContains(t, v.text("plans"), "exact")
	v.set("frames", "pictures")
	v.ready()
	assert.Regexp(t, "^5 pictures of 48 × 48 pixels", v.text("input-facts"))
	hash := eval[string](t, v.tab, `location.hash`)
	assert.Contains(t, hash, "tiling=feather")
	assert.Contains(t, hash, "frames=pictures")

	// A file that makes flat pictures is used only if the user insists.
	v.pick("model-file", flat(t, checkpoint))
	assert.Equal(t, "Every picture of brown.safetensors would be flat", v.problem())
	assert.Equal(t, "Use it anyway", v.text("notice-action"))
	v.ready()
	assert.Equal(t, "Wan2.1_VAE", v.text("model-name"))
	v.click("#notice-action")
	v.named("model-name", "brown")
	v.ready()
}

// glass returns a picture with every alpha; transparent pixels have colours, too.
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
	writePNG(t, path, glass())
	return path
}

// TestVisitorAlpha runs one picture with alpha through a model of 4 channels,
// Qwen-Image 2.1: in and out without loss, shown as a picture.
func TestVisitorAlpha(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	checkpoint := wan(t, "pictures.safetensors", synthetic.WanConfig{Still: true, Decoder: 4, Latent: 4})
	v := newVisit(t, "")
	v.open("?demo=2x6x6", "&precision=f32")
	v.ready()
	v.takes(checkpoint)
	v.picks(glassFile(t))
	v.ready()
	assert.Regexp(t, "^Qwen-Image 2.1 · ", v.text("model-facts"))
	assert.Regexp(t, "^RGBA to 4 channels per cell of 16 × 16 pixels", v.text("model-form"))
	assert.Equal(t, "picture of 40 × 24 pixels", v.text("input-facts"))
	v.run()
	assert.Regexp(t, "^One picture in ", v.text("progress-text"))
	assert.True(t, eval[bool](t, v.tab, `getComputedStyle(document.getElementById('play')).visibility === 'hidden'`), "there is a player")
	assert.True(t, eval[bool](t, v.tab, `document.getElementById('save-mp4').disabled`), "there is a video")
	assert.True(t, eval[bool](t, v.tab, `getComputedStyle(document.getElementById('picture')).backgroundImage.includes('conic')`), "there is no checkerboard")
	v.click("#save-png")
	got := readPNG(t, v.download("glass.png")).Pix
	want := tripped(t, checkpoint, straight{[]*image.NRGBA{glass()}, 4}, vae.Options{Independent: true})[0]
	alphas := map[byte]bool{}
	for i := 3; i < len(got); i += 4 {
		alphas[got[i]] = true
	}
	alike(t, 0, got, want)
	assert.GreaterOrEqual(t, len(alphas), 10, "alphas")
}
