package engine

import (
	"slices"

	"tessera/tiling"
	"tessera/wgsl"
)

// exact plans the two passes of exact tiles: the outer part of the network in
// tiles that read a halo around them, the inner part on the whole frame.
func (p *planner) exact(l *Plan) error {
	net := p.Network.Parts
	h, w := (p.Height+p.In-1)/p.In, (p.Width+p.In-1)/p.In
	cells := tiling.Rect{Y1: h, X1: w} // the whole latent
	frames := p.Frames                 // of the latent
	if p.shrinks() {
		frames = l.Frames
	}
	b := &Intermediate{Size: cells.Size(), Frames: frames, Pixel: wgsl.Pad4(net.Width()) * p.Kernels.Activations.Elem.Bytes()}
	b.Spool = &Spooled{int64(frames) * int64(h) * int64(w) * int64(b.Pixel)}
	l.Work.Intermediate, l.Spool = b, b.Spool.Bytes

	outer := &Pass{
		Tiles: slices.Clone(l.Tiles.Tiles), windows: make([]Windows, len(l.Tiles.Tiles)), parts: make([]tiling.Rect, len(l.Tiles.Tiles)),
		Slices: p.slices(p.Frames, p.o.Chunk*p.InFrames, p.Independent), cell: p.InPatch, c: net.Width(),
	}
	inner := &Pass{
		Tiles: []tiling.Tile{{In: cells, Out: cells}}, Slices: p.slices(frames, p.o.Chunk, p.Independent), cell: 1, c: p.InChannels,
	}
	if p.Groups { // the network reads one frame per output frame
		latents := p.Direction
		latents.Groups = false
		inner.Slices = latents.slices(frames, p.o.Chunk, p.Independent)
	}
	if p.joint() {
		inner.Slices, inner.Once = wholeClip(frames), true
	}
	var first, second Source = Clip{}, l.Work.Intermediate
	l.Work.Passes = []*Pass{inner, outer}
	if p.shrinks() {
		outer.c, inner.c = p.InChannels, net.Width()
		l.Work.Passes = []*Pass{outer, inner}
		outer.recordings = p.recordings(l, p.Network.Name+" outer", net.Outer(), first)
		inner.recordings = p.recordings(l, p.Network.Name+" inner", net.Inner(), second)
	} else {
		inner.recordings = p.recordings(l, p.Network.Name+" inner", net.Inner(), first)
		outer.recordings = p.recordings(l, p.Network.Name+" outer", net.Outer(), second)
	}

	side := p.Out / p.OutPatch // pixels of the outer part's output per cell
	from, frame := tiling.Size{H: p.Height / p.InPatch, W: p.Width / p.InPatch}, tiling.Size{H: side * h, W: side * w}
	for i := range outer.Tiles {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		t := &outer.Tiles[i]
		in, windows, part := net.Halo(divideRect(t.Out, p.OutPatch), from, frame)
		t.In = scaleRect(in, p.InPatch)
		outer.windows[i], outer.parts[i] = windows, part
		l.reach(t.In, scaleRect(t.Cells, p.In), p.factor()/p.In)
	}
	if !p.shrinks() {
		outer.parts = nil // its last window is the part
	}
	return nil
}

// joint reports whether layers see all frames at once.
func (p *planner) joint() bool { return p.Network.Joint && !p.Independent }

// wholeClip returns a clip of the given frames as one slice.
func wholeClip(frames int) []Slice { return []Slice{{N: frames, at: Whole}} }

func scaleRect(r tiling.Rect, by int) tiling.Rect {
	return tiling.Rect{Y0: r.Y0 * by, Y1: r.Y1 * by, X0: r.X0 * by, X1: r.X1 * by}
}

func divideRect(r tiling.Rect, by int) tiling.Rect {
	return tiling.Rect{Y0: r.Y0 / by, Y1: r.Y1 / by, X0: r.X0 / by, X1: r.X1 / by}
}

// reach records the halo of a tile that reads in to make core. A sample has scale pixels.
func (p *Plan) reach(in, core tiling.Rect, scale int) {
	p.Halo.H = max(p.Halo.H, scale*max(core.Y0-in.Y0, in.Y1-core.Y1))
	p.Halo.W = max(p.Halo.W, scale*max(core.X0-in.X0, in.X1-core.X1))
}

// Intermediate is the output of the first pass of exact tiles: frames of the latent's
// size, with the channels between the inner and outer part. As a source it is the part
// that a slice of a tile reads.
type Intermediate struct {
	Size   tiling.Size
	Frames int
	Pixel  int // bytes
	Spool  *Spooled
}

// Rectangle returns a part of a frame.
func (b *Intermediate) Rectangle(frame int, part tiling.Rect) *Rectangle {
	return &Rectangle{b.Spool, b.Pixel, b.Size, frame, part}
}

// Store returns the step that stores a frame of the first pass.
func (b *Intermediate) Store(w *Pass, out TileFrame) Step {
	part := w.part(out.Tile, tiling.Size{H: out.X.H, W: out.X.W})
	return &Download{From: out.View(), To: &Crop{b.Rectangle(out.Frame, w.Tiles[out.Tile].Out), out.X.W, part}}
}
