//go:build !js

package media

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

const (
	sheetMargin = 8  // pixels around and between pictures
	sheetLine   = 18 // height of a line of text
	sheetLarge  = 512
	sheetSmall  = 104 // the widest label, in pixels

	// differenceGain is how much the difference is amplified around mid-gray.
	differenceGain = 4

	// backdrop is the 8-bit gray behind transparent pictures.
	backdrop = 128
)

// SheetOptions choose what a Sheet shows.
type SheetOptions struct {
	// Rows is the number of frames, spread over the clip; 0 means 4.
	Rows int
	// NoDifference leaves out the third column.
	NoDifference bool
	// Note is a line below the frames; "" is no line.
	Note string
}

// Sheet is a picture of a few frames, original | decoded | difference, with the
// difference amplified four times around mid-gray. It scales frames wider than 512 pixels
// down, and tiny ones up. Frames with alpha are shown and compared in front of mid-gray.
type Sheet struct {
	height, width int
	channels      int
	frames        []int // frame of each row
	columns       []string
	down, up      int // scale; one of them is 1
	img           *image.RGBA
}

// NewSheet lays out a sheet for a clip of the given frames, at least 1, of
// [height,width,channels]; channels is 3 or 4.
func NewSheet(height, width, channels, frames int, o SheetOptions) *Sheet {
	rows := o.Rows
	if rows <= 0 {
		rows = 4
	}
	s := &Sheet{
		height: height, width: width, channels: channels, frames: spread(min(rows, frames), frames),
		columns: []string{"original", "decoded", fmt.Sprintf("difference x%d", differenceGain)},
		down:    (max(width, height) + sheetLarge - 1) / sheetLarge,
		up:      (sheetSmall + width - 1) / width,
	}
	if s.down > 1 {
		s.up = 1
	}
	if o.NoDifference {
		s.columns = s.columns[:2]
	}
	h, w := s.cell()
	s.img = image.NewRGBA(image.Rect(0, 0,
		sheetMargin+len(s.columns)*(w+sheetMargin), 2*sheetMargin+sheetLine+len(s.frames)*(h+sheetLine)+s.noteHeight(o.Note)))
	draw.Draw(s.img, s.img.Bounds(), image.NewUniform(color.Gray{Y: 24}), image.Point{}, draw.Src)
	for i, name := range s.columns {
		s.text(s.left(i), sheetMargin, name)
	}
	s.text(s.left(0), s.img.Rect.Max.Y-s.noteHeight(o.Note)-sheetMargin/2, o.Note)
	return s
}

// noteHeight returns the height of the line below the frames.
func (s *Sheet) noteHeight(note string) int {
	if note == "" {
		return 0
	}
	return sheetLine
}

// spread picks rows of n frames, including the first and the last; for one row, the
// middle.
func spread(rows, n int) []int {
	if rows == 1 {
		return []int{n / 2}
	}
	picked := make([]int, rows)
	for i := range picked {
		picked[i] = (2*i*(n-1) + rows - 1) / (2 * (rows - 1)) // rounded
	}
	return picked
}

// cell returns the size of a picture on the sheet.
func (s *Sheet) cell() (height, width int) {
	return max(1, s.height/s.down) * s.up, max(1, s.width/s.down) * s.up
}

func (s *Sheet) left(column int) int {
	_, w := s.cell()
	return sheetMargin + column*(w+sheetMargin)
}

// row returns the row of frame t, -1 if it is not shown.
func (s *Sheet) row(t int) int {
	for i, frame := range s.frames {
		if frame == t {
			return i
		}
	}
	return -1
}

// Add draws frame t, from 0, both [H,W,C] in [-1,1], if the sheet shows it, with a note
// such as its PSNR. It clamps values. It panics if a length is wrong.
func (s *Sheet) Add(t int, original, decoded []float32, note string) {
	if n := s.height * s.width * s.channels; len(original) != n || len(decoded) != n {
		panic(fmt.Sprintf("media: sheet of %d and %d values, expected %d", len(original), len(decoded), n))
	}
	row := s.row(t)
	if row < 0 {
		return
	}
	if s.channels == 4 {
		original, decoded = composite(original), composite(decoded)
	}
	h, _ := s.cell()
	top := sheetMargin + sheetLine + row*(h+sheetLine)
	s.picture(s.left(0), top, original)
	s.picture(s.left(1), top, decoded)
	if len(s.columns) > 2 {
		difference := make([]float32, len(original))
		for i := range difference {
			difference[i] = differenceGain * (clamp1(decoded[i]) - clamp1(original[i]))
		}
		s.picture(s.left(2), top, difference)
	}
	s.text(s.left(0), top+h, fmt.Sprintf("frame %d  %s", t, note))
}

// composite returns a frame [H,W,4] in front of the backdrop, [H,W,3].
func composite(frame []float32) []float32 {
	out := make([]float32, len(frame)/4*3)
	behind := byteFloat(backdrop)
	for i := range len(frame) / 4 {
		opacity := (clamp1(frame[4*i+3]) + 1) / 2
		for c := range 3 {
			out[3*i+c] = float32(opacity*clamp1(frame[4*i+c])) + float32((1-opacity)*behind) // not fused: one result everywhere
		}
	}
	return out
}

// picture draws a frame [H,W,3], each pixel the mean of down x down.
func (s *Sheet) picture(left, top int, frame []float32) {
	h, w := s.cell()
	for y := range h {
		for x := range w {
			i := s.img.PixOffset(left+x, top+y)
			for c := range 3 {
				s.img.Pix[i+c] = floatByte(s.mean(frame, y/s.up*s.down, x/s.up*s.down, c))
			}
		}
	}
}

func (s *Sheet) mean(frame []float32, y0, x0, channel int) float32 {
	var sum float32
	n := 0
	for y := y0; y < min(y0+s.down, s.height); y++ {
		for x := x0; x < min(x0+s.down, s.width); x++ {
			sum += clamp1(frame[(y*s.width+x)*3+channel])
			n++
		}
	}
	return sum / float32(n)
}

func (s *Sheet) text(left, top int, words string) {
	face := basicfont.Face7x13
	d := font.Drawer{Dst: s.img, Src: image.NewUniform(color.Gray{Y: 220}), Face: face,
		Dot: fixed.P(left, top+face.Ascent+2)}
	d.DrawString(words)
}

// WritePNG writes the whole sheet to path, or nothing. A full disk is syscall.ENOSPC.
func (s *Sheet) WritePNG(path string) error {
	p, err := createPending(path, 0)
	if err != nil {
		return err
	}
	if err := writePNG(p, s.img, png.DefaultCompression); err != nil {
		return p.discard(err)
	}
	return p.commit()
}
