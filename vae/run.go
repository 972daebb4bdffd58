package vae

import (
	"context"
	"errors"
	"fmt"

	"tessera/tiling"
	"tessera/wgsl"
)

// ErrTiling: the model has no such tiling.
var ErrTiling = errors.New("not for this model: its group norms see the whole tile, so only feathered tiles can be blended")

// feedFunc fills the input of a slice of a tile.
type feedFunc func(tile tiling.Tile, s slice, in *plan) error

// run feeds every tile's slices through pass n. take gets the output of each,
// valid until it returns.
func (m *Model) run(ctx context.Context, l *Layout, n int, o Options, feed feedFunc, take func(tile int, s slice, out *plan) error) error {
	w := l.passes[n]
	buffers := w.sess.buffers()
	defer m.dev.Free(buffers...)
	if err := m.dev.Alloc(buffers...); err != nil {
		return fmt.Errorf("vae: %w", err)
	}
	for i, tile := range w.tiles {
		for k, s := range w.slices {
			p, err := w.sess.plan(w.shape(i), s)
			if err != nil {
				return err
			}
			if err := feed(tile, s, p); err != nil {
				return err
			}
			if err := m.dev.Submit(ctx, p.batch); err != nil {
				return err
			}
			if err := take(i, s, p); err != nil {
				return err
			}
			if o.Progress != nil {
				o.Progress(l.progress(n, i, k))
			}
		}
	}
	return nil
}

// progress after slice k of tile i of pass n. A pass that has the frame whole
// while the other has tiles counts as part of the tile next to it.
func (l *Layout) progress(n, i, k int) Progress {
	w := l.passes[n]
	s := w.slices[k]
	frames := w.slices[len(w.slices)-1].t + w.slices[len(w.slices)-1].n
	p := Progress{
		Tile: i, Tiles: len(l.Tiles.Tiles), Slice: k + 1, Slices: len(w.slices), Frame: s.t + s.n, Frames: frames,
		Done: (float64(i) + float64(s.t+s.n)/float64(frames)) / float64(len(w.tiles)),
	}
	if k == len(w.slices)-1 {
		p.Tile++
	}
	if len(l.passes) == 1 {
		return p
	}
	if len(w.tiles) == 1 {
		p.Tile, p.Middle = 0, true
		if n == 1 {
			p.Tile = p.Tiles
		}
	}
	before := int64(0)
	if n == 1 {
		before = l.passes[0].flops
	}
	p.Done = (float64(before) + p.Done*float64(w.flops)) / float64(l.Cost.FLOPs)
	return p
}

// blend runs the last pass of a job, puts its tiles together where there are
// several, each frame of which show gets first, and hands every frame of the
// result to take, in order: in bands of rows, the first of which is row y0.
func (m *Model) blend(ctx context.Context, l *Layout, o Options, feed feedFunc,
	show func(tile int, x wgsl.Tensor, xT, frame int) error,
	take func(x wgsl.Tensor, xT, frame, y0 int) error,
) error {
	feed, close, err := m.firstPass(ctx, l, o, feed)
	if err != nil {
		return err
	}
	defer close()
	done := 0 // frames of the current tile
	last := len(l.last().tiles) - 1
	var v blender
	if last > 0 {
		if v, err = m.newBlender(l, o); err != nil {
			return err
		}
		defer v.close()
	}
	return m.run(ctx, l, len(l.passes)-1, o, feed, func(tile int, s slice, p *plan) error {
		if s.t == 0 {
			done = 0
		}
		for t := range p.out.T {
			frame := done + t
			if v == nil {
				if err := take(p.out, t, frame, 0); err != nil {
					return err
				}
				continue
			}
			if err := show(tile, p.out, t, frame); err != nil {
				return err
			}
			if err := v.blend(ctx, tile, p.out, t, frame); err != nil {
				return err
			}
			if tile < last {
				continue
			}
			if err := v.finish(ctx, frame, func(x wgsl.Tensor, xT, y0 int) error { return take(x, xT, frame, y0) }); err != nil {
				return err
			}
		}
		done += p.out.T
		return nil
	})
}

// newBlender is the one of a layout's tiling.
func (m *Model) newBlender(l *Layout, o Options) (blender, error) {
	if l.Tiling == Diffusers {
		return newLinearCanvas(m, l, o)
	}
	return newCanvas(m, l, o)
}
