//go:build !js

package media

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"image"
	"io"
	"os"

	"tessera/latent"
)

// animation is a PNG or WebP file of several pictures, each drawn over the previous ones.
type animation struct {
	path          string
	file          *os.File
	format        pictureFormat
	height, width int // of the canvas, as stored
	parts         []animationPart

	canvas []float32 // [H,W,4], showing frame next-1
	before []float32 // canvas under that frame, if it will be restored
	next   int
}

// animationPart is one picture of an animation.
type animationPart struct {
	at      image.Rectangle
	seconds float64                   // how long it is shown
	over    bool                      // blend it with the canvas; otherwise it replaces its area
	after   disposal                  // what happens to it before the next picture
	data    func() (io.Reader, error) // returns the picture as a separate file, in the same format
}

// disposal is what happens to a picture before the next one is drawn.
type disposal uint8

const (
	stays disposal = iota
	cleared
	undone // the canvas before it is restored
)

// openAnimation opens a file whose header says that it is animated.
func openAnimation(path string, h pictureHeader, o OpenOptions) (*animation, error) {
	f, format, err := openPicture(path)
	if err != nil {
		return nil, err
	}
	a := &animation{path: path, file: f, format: format, height: h.height, width: h.width}
	if h.turn >= 5 {
		a.height, a.width = h.width, h.height
	}
	if err := a.index(o); err != nil {
		f.Close()
		return nil, badInput(path, err)
	}
	return a, nil
}

// index finds the pictures.
func (a *animation) index(o OpenOptions) error {
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	a.parts, err = a.format.animation(a.file, info.Size())
	var short *damagedError
	switch damaged := errors.As(err, &short); {
	case err != nil && !damaged:
		return err
	case len(a.parts) == 0:
		return cmp.Or(err, errors.New("is animated but has no picture"))
	case damaged:
		short.text += fmt.Sprintf("; %d frames read", len(a.parts))
		if !o.AcceptDamaged {
			return short
		}
		o.warn(a.path + ": " + short.text)
	}
	for i, p := range a.parts {
		if p.at.Empty() || !p.at.In(image.Rect(0, 0, a.width, a.height)) {
			return fmt.Errorf("picture %d of its animation lies at %v, expected a place within %d x %d", i, p.at, a.width, a.height)
		}
	}
	return nil
}

// blank returns a transparent canvas.
func (a *animation) blank() []float32 {
	canvas := make([]float32, a.height*a.width*4)
	for i := range canvas {
		canvas[i] = -1
	}
	return canvas
}

// frame returns the canvas, [H,W,4], that shows frame t.
func (a *animation) frame(t int) ([]float32, error) {
	if a.canvas == nil || t < a.next-1 {
		a.canvas, a.next = a.blank(), 0
	}
	for a.next <= t {
		if a.next > 0 {
			a.dispose(a.parts[a.next-1])
		}
		if err := a.draw(a.parts[a.next]); err != nil {
			return nil, badInputf(a.path, "unreadable %s: picture %d of %d: %w", a.format.name, a.next, len(a.parts), err)
		}
		a.next++
	}
	return a.canvas, nil
}

// rows calls do for each row of a part, with its position on the canvas.
func (a *animation) rows(p animationPart, do func(y int, row []float32)) {
	for y := range p.at.Dy() {
		do(y, a.canvas[((p.at.Min.Y+y)*a.width+p.at.Min.X)*4:][:4*p.at.Dx()])
	}
}

func (a *animation) dispose(p animationPart) {
	n := 4 * p.at.Dx()
	a.rows(p, func(y int, row []float32) {
		switch p.after {
		case cleared:
			for i := range row {
				row[i] = -1
			}
		case undone:
			copy(row, a.before[y*n:])
		}
	})
}

func (a *animation) draw(p animationPart) error {
	r, err := p.data()
	if err != nil {
		return err
	}
	img, err := a.format.decode(bufio.NewReaderSize(r, 1<<16))
	if err != nil {
		return err
	}
	if img.Bounds().Size() != p.at.Size() {
		return fmt.Errorf("is %v pixels, expected %v", img.Bounds().Size(), p.at.Size())
	}
	n := 4 * p.at.Dx()
	pixels := make([]float32, n*p.at.Dy())
	if err := imageFloats(pixels, 4, img); err != nil {
		return err
	}
	if p.after == undone {
		a.before = a.before[:0]
		a.rows(p, func(_ int, row []float32) { a.before = append(a.before, row...) })
	}
	a.rows(p, func(y int, row []float32) {
		if p.over {
			blend(row, pixels[y*n:][:n])
		} else {
			copy(row, pixels[y*n:])
		}
	})
	return nil
}

// blend draws a row of pixels over another; both have straight alpha.
func blend(dst, src []float32) {
	for i := 0; i < len(src); i += 4 {
		over, under := (src[i+3]+1)/2, (dst[i+3]+1)/2
		alpha := over + under*(1-over)
		if over == 0 {
			continue
		}
		for c := range 3 {
			dst[i+c] = (src[i+c]*over + dst[i+c]*under*(1-over)) / alpha
		}
		dst[i+3] = 2*alpha - 1
	}
}

// rate returns the frame rate that keeps the file's total duration, and a remark if
// pictures have different durations.
func (a *animation) rate() (latent.Rational, string) {
	n := len(a.parts)
	if n < 2 {
		return latent.Rational{}, ""
	}
	times, length := make([]float64, n), 0.0
	for i, p := range a.parts {
		times[i] = length
		length += p.seconds
	}
	const rounded = 0.0005 // seconds; WebP rounds its times
	rate := simplest(float64(n)/(length+rounded), float64(n)/max(length-rounded, length/2))
	return rate, unevenText(times, rate)
}

// opaque reports whether a canvas has no transparent pixel.
func opaque(canvas []float32) bool {
	for i := 3; i < len(canvas); i += 4 {
		if canvas[i] < 1 {
			return false
		}
	}
	return true
}
