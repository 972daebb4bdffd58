package vae

import (
	"tessera/engine"
	"tessera/tiling"
)

// taehvParts is a network of two parts: the outer one changes the size of frames, the
// inner one works at the latent's size.
type taehvParts struct {
	inner, outer engine.Module
	width        int        // channels between them
	steps        []sizeStep // of the outer part
}

func (p *taehvParts) Inner() engine.Module { return p.inner }
func (p *taehvParts) Outer() engine.Module { return p.outer }
func (p *taehvParts) Width() int           { return p.width }

// sizeStep is what layers read of a frame: the pixels within reach, or the input of a
// convolution that can compute a part of its output.
type sizeStep struct {
	reach   int
	conv    *engine.Conv
	shuffle bool // frames are enlarged after the convolution, not before
}

// recorded is a module made of a function.
type recorded func(g *engine.Graph, x engine.Value) engine.Value

// Forward calls the function.
func (f recorded) Forward(g *engine.Graph, x engine.Value) engine.Value { return f(g, x) }

func (p *taehvParts) Halo(out tiling.Rect, from, _ tiling.Size) (tiling.Rect, engine.Windows, tiling.Rect) {
	return halo(p.steps, out, from)
}

// halo follows a part of the output, made of frames of size from, back through the
// layers. Each convolution computes only what the next step reads.
func halo(steps []sizeStep, out tiling.Rect, from tiling.Size) (in tiling.Rect, windows engine.Windows, part tiling.Rect) {
	in, windows = out, engine.Windows{}
	frames := framesBetween(steps, from)
	before := func(tiling.Rect) {} // sets the window of the convolution behind, once the position of its input is known
	for i := len(steps) - 1; i >= 0; i-- {
		s, made, frame := steps[i], in, frames[i]
		if s.conv == nil {
			in = grown(in, s.reach, frame)
			continue
		}
		name := s.conv.Name
		y, x, size := made.Y0, made.X0, made.Size() // the convolution's first pixel in its own coordinates, and its output's size
		switch {
		case s.conv.Enlarge:
			before(made)
			up := &resample{up: true}
			in = up.reads(made, frame)
			before = func(at tiling.Rect) { windows[name] = up.makes(made, at) }
			continue
		case s.conv.Around:
			before(made)
			in = clip(tiling.Rect{Y0: 2*made.Y0 - 1, Y1: 2 * made.Y1, X0: 2*made.X0 - 1, X1: 2 * made.X1}, frame)
			y, x = 2*made.Y0-1, 2*made.X0-1
		case s.shuffle:
			small := tiling.Rect{Y0: made.Y0 / 2, Y1: (made.Y1 + 1) / 2, X0: made.X0 / 2, X1: (made.X1 + 1) / 2}
			before(multiplied(small, 2))
			in = grown(small, 1, frame)
			y, x, size = small.Y0, small.X0, small.Size()
		default:
			before(made)
			in = grown(made, 1, frame)
		}
		before = func(at tiling.Rect) { windows[name] = engine.Window{Y: y - at.Y0, X: x - at.X0, H: size.H, W: size.W} }
	}
	before(in)
	return in, windows, tiling.Rect{Y1: out.Size().H, X1: out.Size().W}
}

// framesBetween returns the frame sizes that the steps read; the first reads frames of
// size from.
func framesBetween(steps []sizeStep, from tiling.Size) []tiling.Size {
	sizes := []tiling.Size{from}
	for i, s := range steps {
		size := sizes[i]
		switch {
		case s.shuffle || s.conv != nil && s.conv.Enlarge:
			size = tiling.Size{H: 2 * size.H, W: 2 * size.W}
		case s.conv != nil && s.conv.Around:
			size = tiling.Size{H: (size.H + 1) / 2, W: (size.W + 1) / 2}
		}
		sizes = append(sizes, size)
	}
	return sizes
}

// multiplied scales a rectangle.
func multiplied(r tiling.Rect, by int) tiling.Rect {
	return tiling.Rect{Y0: by * r.Y0, Y1: by * r.Y1, X0: by * r.X0, X1: by * r.X1}
}
