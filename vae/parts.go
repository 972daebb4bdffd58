package vae

import (
	"tessera/engine"
	"tessera/tiling"
)

// twoParts is a network of two parts: an outer one that changes the size, and an inner
// one at the latent's size.
type twoParts struct {
	*outerPart
	inner engine.Module
	width int // channels between them
}

func (p *twoParts) Inner() engine.Module { return p.inner }
func (p *twoParts) Outer() engine.Module { return p.outerPart }
func (p *twoParts) Width() int           { return p.width }

// outerPart is the part that changes the size, in Wan's networks and HunyuanVideo 1.5's:
// stem and stages of the encoder, stages and head of the decoder. A pixel of its output
// depends only on nearby pixels, as Halo computes.
type outerPart struct {
	stem       *engine.Conv // in the encoder
	stages     []*outerStage
	head       *head // in the decoder
	unpatchify *engine.Unpatchify
}

// Forward returns the part's output. The encoder's pixels are already in patches.
func (o *outerPart) Forward(g *engine.Graph, x engine.Value) engine.Value {
	all := &stages{}
	for _, s := range o.stages { // a shortcut spans a whole stage
		all.all = append(all.all, stage{before: engine.Series{}, after: s, frames: s.frames})
	}
	if o.stem != nil {
		all.start = &marked{name: o.stem.Name, layer: o.stem}
	} else if all.end = o.head; o.unpatchify != nil {
		all.end = engine.Series{o.head, o.unpatchify}
	}
	return all.Forward(g, x)
}

// Halo follows a part of the output, within frames of size frame, back through the
// layers. Pixels are the network's, which may be patches. In the encoder the last stage
// has no window, so the wanted part lies somewhere inside its output.
func (o *outerPart) Halo(out tiling.Rect, _, frame tiling.Size) (in tiling.Rect, windows engine.Windows, part tiling.Rect) {
	at := out
	windows = engine.Windows{}
	last := len(o.stages) - 1
	if o.head != nil {
		at = grown(out, o.head.conv.Reach(), frame)
	}
	for i := last; i >= 0; i-- {
		s := o.stages[i]
		made := at
		if s.sampler != nil {
			frame = s.sampler.before(frame)
			at = s.sampler.reads(made, frame)
		}
		reach := s.Reach()
		if i == 0 && o.stem != nil {
			reach += o.stem.Reach()
		}
		at = grown(at, reach, frame)
		if s.sampler != nil {
			windows[s.sampler.layer()] = s.sampler.makes(made, at)
		}
		if i == last {
			part = tiling.Rect{Y0: out.Y0 - at.Y0, Y1: out.Y1 - at.Y0, X0: out.X0 - at.X0, X1: out.X1 - at.X0}
		}
	}
	if o.head != nil {
		windows[o.head.conv.Name] = engine.Window{Y: part.Y0, X: part.X0, H: part.Size().H, W: part.Size().W}
	}
	return at, windows, part
}

// clip returns the part of a rectangle within a frame.
func clip(r tiling.Rect, frame tiling.Size) tiling.Rect {
	return tiling.Rect{Y0: max(r.Y0, 0), Y1: min(r.Y1, frame.H), X0: max(r.X0, 0), X1: min(r.X1, frame.W)}
}

// grown returns a rectangle with n more pixels on each side, within a frame.
func grown(r tiling.Rect, n int, frame tiling.Size) tiling.Rect {
	return clip(tiling.Rect{Y0: r.Y0 - n, Y1: r.Y1 + n, X0: r.X0 - n, X1: r.X1 + n}, frame)
}

// outerStage is residual blocks, then a sampler if there is one. In Wan 2.2 a shortcut
// spans both.
type outerStage struct {
	names    []string // of the blocks as modules, or of the whole stage
	resnets  []*resnet
	sampler  resizer // nil if the size stays
	shortcut *shortcut
	frames   int // in the encoder: frames of the clip that the stage turns into one, after the first
}

// Forward is the stage's output.
func (s *outerStage) Forward(g *engine.Graph, x engine.Value) engine.Value {
	var skip engine.Value
	if s.shortcut != nil {
		skip = s.shortcut.before(g, x)
	}
	last := len(s.names) - 1
	for i, b := range s.resnets {
		x = b.Forward(g, x)
		if i < last {
			g.Mark(s.names[i], x)
		}
	}
	if s.sampler != nil {
		x = s.sampler.Forward(g, x)
	}
	if s.shortcut != nil {
		x = s.shortcut.after(g, skip, x)
	}
	g.Mark(s.names[last], x)
	return x
}

// Reach returns how far the residual blocks read to each side.
func (s *outerStage) Reach() int {
	n := 0
	for _, b := range s.resnets {
		n += b.Reach()
	}
	return n
}

// resizer changes the size of frames at the end of a stage.
type resizer interface {
	engine.Module
	// layer names the layer that can compute a part of its output.
	layer() string
	// before returns the size of the input's frames.
	before(frame tiling.Size) tiling.Size
	// reads returns the part of the input's frames, of size frame, that a part of the
	// output depends on.
	reads(out tiling.Rect, frame tiling.Size) tiling.Rect
	// makes returns the window that turns the input in into the output out; both are
	// positions in their frames.
	makes(out, in tiling.Rect) engine.Window
}
