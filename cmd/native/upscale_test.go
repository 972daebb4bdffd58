package main

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/format/safetensors"
	"tessera/tests/synthetic"
)

// A decoder that enlarges makes frames twice as high and wide as the encoded ones,
// without their padding; its round trips are refused with advice.
func TestUpscale(t *testing.T) {
	t.Parallel()
	needDevice(t)
	model, dir := wan(t, "upscale.safetensors", synthetic.WanConfig{Dim: 4, Outputs: 12, DType: safetensors.F32}), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	img := image.NewNRGBA(image.Rect(0, 0, 22, 15))
	for y := range 15 {
		for x := range 22 {
			img.SetNRGBA(x, y, color.NRGBA{uint8(11 * x), uint8(17 * y), uint8(255 - 9*x), 255})
		}
	}
	f, err := os.Create(in("in.png"))
	require.NoError(t, err)
	require.NoError(t, png.Encode(f, img))
	f.Close()
	e := succeedJSON(t, "encode", "-m", model, in("in.png"), "-o", in("z.safetensors"))
	assert.Equal(t, []int{15, 22}, []int{e.Height, e.Width})
	d := succeedJSON(t, "decode", "-m", model, in("z.safetensors"), "-o", in("out.safetensors"), "--tile=24")
	assert.Equal(t, []int{30, 44}, []int{d.Height, d.Width})
	x, _ := readTensor(t, in("out.safetensors"))
	assert.Equal(t, []int{3, 1, 30, 44}, x.shape)
	o := tessera(t, "roundtrip", "-m", model, in("in.png"), "-o", in("again.png"))
	assert.Equal(t, job.ExitInput, o.code)
	assert.Contains(t, o.stderr, "decodes frames to 2 times the encoded height and width, so a round trip cannot compare them: use encode, then decode")
}
