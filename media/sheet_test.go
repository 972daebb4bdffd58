//go:build !js

package media

import (
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSheetFrames(t *testing.T) {
	for _, c := range []struct {
		frames, rows int
		want         []int
	}{
		{17, 0, []int{0, 5, 11, 16}}, {1, 0, []int{0}}, {2, 4, []int{0, 1}},
		{5, 1, []int{2}}, {17, 2, []int{0, 16}}, {9, 3, []int{0, 4, 8}},
	} {
		s := NewSheet(8, 8, 3, c.frames, SheetOptions{Rows: c.rows})
		assert.Equal(t, c.want, s.frames, "%d rows of %d frames", c.rows, c.frames)
		for i := range c.frames {
			assert.Equal(t, slices.Index(c.want, i), s.row(i), "row of frame %d", i)
		}
	}
}

// TestSheetPixels writes a sheet and checks each picture at its place.
func TestSheetPixels(t *testing.T) {
	for _, c := range []struct{ height, width int }{{200, 160}, {40, 8}, {1100, 1100}} {
		flat := func(v float32) []float32 {
			frame := make([]float32, c.height*c.width*3)
			for i := range frame {
				frame[i] = v
			}
			return frame
		}
		s := NewSheet(c.height, c.width, 3, 3, SheetOptions{Rows: 3})
		s.Add(0, flat(0.5), flat(0.6), "30.0 dB")
		s.Add(2, flat(-1), flat(-1.5), "")
		path := filepath.Join(t.TempDir(), "sheet.png")
		require.NoError(t, s.WritePNG(path))
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		img, err := png.Decode(f)
		require.NoError(t, err)
		h, w := s.cell()
		assert.GreaterOrEqual(t, w, 100, "%d pixels are shown narrower", c.width)
		assert.LessOrEqual(t, w, 512, "%d pixels are shown wider", c.width)
		for row, want := range map[int][3]byte{
			0: {191, 204, 179}, // 127.5+127.5*(0.5, 0.6, 4*0.1)
			2: {0, 0, 128},     // clamped: no difference, mid-gray
		} {
			top := sheetMargin + sheetLine + row*(h+sheetLine)
			for column, v := range want {
				for _, at := range [][2]int{{0, 0}, {h - 1, w - 1}, {h / 2, w / 2}} {
					got := color.NRGBAModel.Convert(img.At(s.left(column)+at[1], top+at[0])).(color.NRGBA)
					assert.Equal(t, color.NRGBA{v, v, v, 255}, got, "%d x %d, row %d, column %d", c.width, c.height, row, column)
				}
			}
		}
		for _, at := range [][2]int{{0, sheetMargin}, {2, sheetMargin}, {0, sheetMargin + sheetLine + h}} {
			assert.True(t, hasText(s, s.left(at[0]), at[1]), "no label above column %d at row %d", at[0], at[1])
		}
	}
	s := NewSheet(64, 128, 3, 2, SheetOptions{Rows: 1, NoDifference: true})
	require.Equal(t, 3*sheetMargin+2*128, s.img.Bounds().Dx(), "width side by side")
}

// TestSheetAlpha: pictures with alpha appear in front of mid-gray, and opaque ones as
// without alpha.
func TestSheetAlpha(t *testing.T) {
	const h, w = 120, 110
	sheet := func(channels int, original, decoded []float32) *Sheet {
		s := NewSheet(h, w, channels, 1, SheetOptions{})
		s.Add(0, original, decoded, "")
		return s
	}
	flat := func(r, g, b, a float32) []float32 {
		var frame []float32
		for range h * w {
			frame = append(frame, r, g, b, a)
		}
		return frame
	}
	// Half of red in front of 128, and no green; the difference is that of the visible
	// colours, times 4 around 128.
	s := sheet(4, flat(1, -1, -1, 0), flat(-1, 1, -1, -1))
	for column, want := range []color.RGBA{{192, 64, 64, 255}, {128, 128, 128, 255}, {0, 255, 255, 255}} {
		assert.Equal(t, want, s.img.RGBAAt(s.left(column)+w/2, sheetMargin+sheetLine+h/2), "column %d", column)
	}
	a, b := testFrame(0, h, w), testFrame(1, h, w)
	plain, alpha := sheet(3, a, b), sheet(4, withAlpha(a), withAlpha(b))
	require.True(t, slices.Equal(plain.img.Pix, alpha.img.Pix), "opaque frames look different from frames without alpha")
}

// hasText looks for bright pixels in a line of text.
func hasText(s *Sheet, left, top int) bool {
	for y := top; y < top+sheetLine; y++ {
		for x := left; x < left+80; x++ {
			if s.img.RGBAAt(x, y).R > 200 {
				return true
			}
		}
	}
	return false
}

// A note is a line below the frames.
func TestSheetNote(t *testing.T) {
	s, plain := NewSheet(200, 160, 3, 3, SheetOptions{Note: "of a tiny model"}), NewSheet(200, 160, 3, 3, SheetOptions{})
	require.Equal(t, plain.img.Rect.Dy()+sheetLine, s.img.Rect.Dy())
	written := func(s *Sheet) (n int) {
		for y := s.img.Rect.Dy() - sheetMargin/2 - sheetLine; y < s.img.Rect.Dy(); y++ {
			for x := range s.img.Rect.Dx() {
				if s.img.RGBAAt(x, y).R > 200 {
					n++
				}
			}
		}
		return n
	}
	assert.Zero(t, written(plain))
	assert.Greater(t, written(s), 100, "bright pixels below the last frame")
}
