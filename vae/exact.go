package vae

import (
	"context"
	"slices"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// exact makes the two passes of exact tiles: the outer part of the network in
// tiles that read a halo around them, the inner part on the whole frame.
func (p *planner) exact(l *Layout) {
	c, net := p.m.Config, p.m.networks[p.half]
	cells := tiling.Rect{Y1: p.in.h, X1: p.in.w} // the whole latent
	scale, pixel := c.Patch, c.Channels*c.Patch*c.Patch
	if p.half == "encoder" {
		cells.Y1, cells.X1 = p.in.h/c.Spatial, p.in.w/c.Spatial
	}
	outer := &pass{
		sess: newSession(p.half+" outer", net.outer, p.m.set, p.m.limits), tiles: slices.Clone(l.Tiles.Tiles),
		cuts: make([]windows, len(l.Tiles.Tiles)), slices: p.slices(), cell: 1, c: net.width,
	}
	inner := &pass{
		sess:  newSession(p.half+" inner", net.inner, p.m.set, p.m.limits),
		tiles: []tiling.Tile{{In: cells, Out: cells}}, slices: outer.slices, cell: 1, c: c.Latent,
	}
	frame := cells.Size() // of the outer part's output
	l.passes = []*pass{inner, outer}
	if p.half == "encoder" {
		outer.cell, outer.c, outer.parts = scale, pixel, make([]tiling.Rect, len(outer.tiles))
		inner.c = net.width
		inner.slices = p.m.cut(l.out.frames, p.o.Chunk)
		if p.o.Independent {
			inner.slices = pictures(l.out.frames)
		}
		l.passes = []*pass{outer, inner}
	} else {
		side := c.Spatial / scale
		frame = tiling.Size{H: side * frame.H, W: side * frame.W}
	}
	for i := range outer.tiles {
		t := &outer.tiles[i]
		if p.half == "decoder" {
			out := tiling.Rect{Y0: t.Out.Y0 / scale, Y1: t.Out.Y1 / scale, X0: t.Out.X0 / scale, X1: t.Out.X1 / scale}
			t.In, outer.cuts[i], _ = net.outer.halo(out, frame)
			l.reach(t.In, t.Cells, c.Spatial)
			continue
		}
		in, cuts, part := net.outer.halo(t.Out, frame)
		t.In = tiling.Rect{Y0: in.Y0 * scale, Y1: in.Y1 * scale, X0: in.X0 * scale, X1: in.X1 * scale}
		outer.cuts[i], outer.parts[i] = cuts, part
		core := tiling.Rect{Y0: t.Cells.Y0 * c.Spatial, Y1: t.Cells.Y1 * c.Spatial, X0: t.Cells.X0 * c.Spatial, X1: t.Cells.X1 * c.Spatial}
		l.reach(t.In, core, 1)
	}
	l.between = between{size: cells.Size(), frames: p.in.frames, pixel: wgsl.Pad4(net.width) * p.m.Elem.Bytes()}
	if p.half == "encoder" {
		l.between.frames = l.out.frames
	}
	l.Spool = l.between.bytes()
}

// reach notes the halo of a tile that reads in to make core, in pixels of so
// many to a side.
func (l *Layout) reach(in, core tiling.Rect, scale int) {
	l.Halo.H = max(l.Halo.H, scale*max(core.Y0-in.Y0, in.Y1-core.Y1))
	l.Halo.W = max(l.Halo.W, scale*max(core.X0-in.X0, in.X1-core.X1))
}

// between is what the first pass of exact tiles leaves for the second: frames
// of a latent's size, with the channels that lie between inner and outer.
type between struct {
	size   tiling.Size
	frames int
	pixel  int // bytes
	spool  Spool
}

func (b between) bytes() int64 {
	return int64(b.frames) * int64(b.size.H) * int64(b.size.W) * int64(b.pixel)
}

// firstPass runs the first of two passes and gives the feed of the second; of one
// pass it is feed itself. The caller closes what it returns.
func (m *Model) firstPass(ctx context.Context, l *Layout, o Options, feed feedFunc) (feedFunc, func(), error) {
	if len(l.passes) == 1 {
		return feed, func() {}, nil
	}
	b := l.between
	var err error
	if b.spool, err = o.spool(b.bytes()); err != nil {
		return nil, nil, err
	}
	done := 0 // frames of the current tile
	err = m.run(ctx, l, 0, o, feed, func(tile int, s slice, p *plan) error {
		if s.t == 0 {
			done = 0
		}
		w := l.passes[0]
		part := tiling.Rect{Y1: p.out.H, X1: p.out.W}
		if w.parts != nil {
			part = w.parts[tile]
		}
		for t := range p.out.T {
			if err := b.put(ctx, m, p.out, t, part, done+t, w.tiles[tile].Out); err != nil {
				return err
			}
		}
		done += p.out.T
		return nil
	})
	if err != nil {
		b.spool.Close()
		return nil, nil, err
	}
	feed = func(t tiling.Tile, s slice, p *plan) error { return b.get(m, t.In, s, p) }
	return feed, func() { b.spool.Close() }, nil
}

// put keeps a part of frame xT of x as the part `to` of a frame.
func (b between) put(ctx context.Context, m *Model, x wgsl.Tensor, xT int, part tiling.Rect, frame int, to tiling.Rect) error {
	raw := make([]byte, x.FrameBytes())
	if err := m.dev.Read(ctx, raw, gpu.View{Buffer: x.Buffer, Offset: int64(xT) * x.FrameBytes()}); err != nil {
		return err
	}
	row := x.W * b.pixel
	size := part.Size()
	data := make([]byte, 0, size.H*size.W*b.pixel)
	for y := part.Y0; y < part.Y1; y++ {
		data = append(data, raw[y*row+part.X0*b.pixel:y*row+part.X1*b.pixel]...)
	}
	return moveRows(data, b.pixel, b.size, frame, to, b.spool.WriteAt)
}

// get fills a plan's input with a part of a slice's frames.
func (b between) get(m *Model, in tiling.Rect, s slice, p *plan) error {
	size := in.Size()
	frame := size.H * size.W * b.pixel
	data := make([]byte, s.n*frame, (s.n*frame+3)&^3)
	for t := range s.n {
		if err := moveRows(data[t*frame:][:frame], b.pixel, b.size, s.t+t, in, b.spool.ReadAt); err != nil {
			return err
		}
	}
	return m.dev.Write(p.in.Buffer.All(), data[:cap(data)])
}
