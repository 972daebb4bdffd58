//go:build !js

package media

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFloatByteRounds(t *testing.T) {
	for code := range 256 {
		v := float64(code)/255*2 - 1
		for _, shift := range []float64{-0.49, 0, 0.49} { // of a level
			assert.Equal(t, byte(code), floatByte(float32(v+shift*2/255)), "code %d %+.2f levels", code, shift)
		}
		assert.Equal(t, byte(code), floatByte(byteFloat(byte(code))), "code %d", code)
		assert.InDelta(t, v, byteFloat(byte(code)), 1e-7, "byteFloat(%d)", code)
	}
	for v, want := range map[float32]byte{-1.5: 0, -1: 0, 1: 255, 1.01: 255, 1e30: 255, -1e30: 0} {
		assert.Equal(t, want, floatByte(v), "floatByte(%v)", v)
	}
}

// TestPNGKinds reads each kind of PNG. The colours are known, and only image/png decodes
// them.
func TestPNGKinds(t *testing.T) {
	rect := image.Rect(0, 0, 2, 1)
	rgb := image.NewNRGBA(rect)
	copy(rgb.Pix, []byte{10, 20, 30, 255, 200, 100, 0, 255})
	alpha := image.NewNRGBA(rect)
	copy(alpha.Pix, []byte{10, 20, 30, 128, 200, 100, 0, 0}) // dropped, even where 0
	gray := image.NewGray(rect)
	copy(gray.Pix, []byte{0, 77})
	gray16 := image.NewGray16(rect)
	gray16.SetGray16(0, 0, color.Gray16{Y: 0x1234})
	gray16.SetGray16(1, 0, color.Gray16{Y: 0xffff})
	deep := image.NewNRGBA64(rect)
	deep.SetNRGBA64(0, 0, color.NRGBA64{R: 1, G: 0x8000, B: 0xffff, A: 0xffff})
	deep.SetNRGBA64(1, 0, color.NRGBA64{R: 0x0102, G: 0x0304, B: 0x0506, A: 0x10})
	opaque := image.NewRGBA64(rect)
	for i := range opaque.Pix {
		opaque.Pix[i] = 0xff
	}
	opaque.SetRGBA64(0, 0, color.RGBA64{R: 1, G: 2, B: 0x0300, A: 0xffff})
	palette := image.NewPaletted(rect, color.Palette{color.RGBA{1, 2, 3, 255}, color.NRGBA{200, 50, 25, 7}})
	palette.Pix[1] = 1
	cases := []struct {
		name  string
		img   image.Image
		scale float64
		want  [6]float64
	}{
		{"rgb", rgb, 255, [6]float64{10, 20, 30, 200, 100, 0}},
		{"alpha", alpha, 255, [6]float64{10, 20, 30, 200, 100, 0}},
		{"gray", gray, 255, [6]float64{0, 0, 0, 77, 77, 77}},
		{"gray16", gray16, 65535, [6]float64{0x1234, 0x1234, 0x1234, 65535, 65535, 65535}},
		{"rgba64", deep, 65535, [6]float64{1, 0x8000, 65535, 0x0102, 0x0304, 0x0506}},
		{"rgb48", opaque, 65535, [6]float64{1, 2, 0x0300, 65535, 65535, 65535}},
		{"palette", palette, 255, [6]float64{1, 2, 3, 200, 50, 25}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.png")
			f, err := os.Create(path)
			require.NoError(t, err)
			require.NoError(t, png.Encode(f, c.img))
			f.Close()
			got := readFrame(t, openClip(t, path, Format{Height: 1, Width: 2, Frames: 1}), 0)
			for i, want := range c.want {
				assert.InDelta(t, want/c.scale*2-1, got[i], 1e-6, "value %d", i)
			}
		})
	}
}

func TestNaturalOrder(t *testing.T) {
	ordered := []string{"10a", "a1", "a02", "a2", "a9", "a10", "a10b", "a010c2", "b", "frame_9", "frame_10"}
	for i, a := range ordered {
		for j, b := range ordered {
			assert.Equal(t, cmp.Compare(i, j), cmp.Compare(naturalCompare(a, b), 0), "compare(%q, %q)", a, b)
		}
	}
}

// TestFolderOrder: names without leading zeros play in order.
func TestFolderOrder(t *testing.T) {
	dir := t.TempDir()
	for i := range 12 {
		img := image.NewGray(image.Rect(0, 0, 1, 1))
		img.Pix[0] = byte(i)
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("shot%d.PNG", i)))
		require.NoError(t, err)
		require.NoError(t, png.Encode(f, img))
		f.Close()
	}
	clip := openClip(t, dir, Format{Height: 1, Width: 1, Frames: 12})
	for i := range 12 {
		assert.Equal(t, byte(i), floatByte(readFrame(t, clip, i)[0]), "frame %d", i)
	}
}
