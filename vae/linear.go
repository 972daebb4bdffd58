package vae

import (
	"context"
	"errors"
	"fmt"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// linearCanvas blends tiles as diffusers does, on the host: it is for comparing
// with that, not for speed. Spools keep the frames of the result, the last rows
// of the tiles above and the last columns of the tile before.
type linearCanvas struct {
	m      *Model
	l      tiling.Linear
	c      int // floats of a pixel
	frames int
	widest tiling.Size // tile

	result, above, before Spool
	y                     wgsl.Tensor // a band of a frame on its way out
	row                   []byte      // scratch
}

// planLinear says in l what that takes.
func planLinear(l *Layout, limits gpu.Limits) {
	if len(l.last().tiles) == 1 {
		return
	}
	v := &linearCanvas{l: l.linear, c: wgsl.Pad4(l.out.c), frames: l.out.frames}
	v.widest = v.largest()
	result, above, before := v.sizes()
	l.Spool = result + above + before
	l.Canvas = int64(bandRows(l.Tiles, l.out.c, limits)) * int64(l.Tiles.Out.W) * int64(4*v.c)
}

// largest is a size that holds every tile.
func (v *linearCanvas) largest() (s tiling.Size) {
	for _, t := range v.l.Tiles {
		s.H, s.W = max(s.H, t.Out.Size().H), max(s.W, t.Out.Size().W)
	}
	return s
}

// sizes are the bytes of the three spools.
func (v *linearCanvas) sizes() (result, above, before int64) {
	pixel := int64(4 * v.c * v.frames)
	out, e := v.l.Out, v.l.Extent
	return pixel * int64(out.H) * int64(out.W), pixel * int64(e.H) * int64(v.widest.W) * int64(v.l.Cols), pixel * int64(v.widest.H) * int64(e.W)
}

func newLinearCanvas(m *Model, l *Layout, o Options) (*linearCanvas, error) {
	v := &linearCanvas{m: m, l: l.linear, c: wgsl.Pad4(l.out.c), frames: l.out.frames}
	v.widest = v.largest()
	result, above, before := v.sizes()
	var err error
	for _, s := range []struct {
		spool *Spool
		size  int64
	}{{&v.result, result}, {&v.above, above}, {&v.before, before}} {
		if *s.spool, err = o.spool(s.size); err != nil {
			v.close()
			return nil, err
		}
	}
	v.y = wgsl.Tensor{Elem: wgsl.F32, T: 1, H: bandRows(l.Tiles, l.out.c, m.limits), W: l.Tiles.Out.W, C: l.out.c, Buffer: &gpu.Buffer{Label: "blended"}}
	v.y.Buffer.Size = v.y.Bytes()
	if err := m.dev.Alloc(v.y.Buffer); err != nil {
		v.close()
		return nil, fmt.Errorf("vae: canvas: %w", err)
	}
	return v, nil
}

// blend fades frame xT of a tile in and keeps its part of frame t.
func (v *linearCanvas) blend(ctx context.Context, tile int, x wgsl.Tensor, xT, t int) error {
	px, err := v.m.read(ctx, x, xT, &v.row)
	if err != nil {
		return err
	}
	at := v.l.Tiles[tile]
	size, e, col := at.Out.Size(), v.l.Extent, tile%v.l.Cols
	var above, before []float32
	rows, columns := 0, 0
	if tile >= v.l.Cols {
		rows = min(e.H, v.l.Tiles[tile-v.l.Cols].Out.Size().H)
		above = make([]float32, rows*size.W*v.c)
	}
	if col > 0 {
		columns = min(e.W, v.l.Tiles[tile-1].Out.Size().W)
		before = make([]float32, size.H*columns*v.c)
	}
	down, right := v.bands(t, col)
	if err := errors.Join(move(above, down, v.above.ReadAt), move(before, right, v.before.ReadAt)); err != nil {
		return err
	}
	v.l.Blend(px, size, v.c, above, rows, before, columns)
	rows, columns = min(e.H, size.H), min(e.W, size.W)
	last := make([]float32, 0, size.H*columns*v.c)
	for y := range size.H {
		last = append(last, px[(y*size.W+size.W-columns)*v.c:(y+1)*size.W*v.c]...)
	}
	if err := errors.Join(move(px[(size.H-rows)*size.W*v.c:], down, v.above.WriteAt), move(last, right, v.before.WriteAt)); err != nil {
		return err
	}
	keep := at.Final.Size()
	kept := make([]float32, 0, keep.H*keep.W*v.c)
	for y := range keep.H {
		kept = append(kept, px[y*size.W*v.c:][:keep.W*v.c]...)
	}
	return moveRows(bytes32(kept), 4*v.c, v.l.Out, t, at.Final, v.result.WriteAt)
}

// bands are where the last rows of the tile in a column, and the last columns
// of the tile before, begin in their spools for frame t.
func (v *linearCanvas) bands(t, col int) (down, right int64) {
	pixel := int64(4 * v.c)
	down = (int64(t)*int64(v.l.Cols) + int64(col)) * int64(v.l.Extent.H) * int64(v.widest.W) * pixel
	return down, int64(t) * int64(v.widest.H) * int64(v.l.Extent.W) * pixel
}

// move moves floats between v and a spool.
func move(v []float32, at int64, by moveFunc) error {
	if len(v) == 0 {
		return nil
	}
	data := bytes32(v)
	err := moveRows(data, len(data), tiling.Size{H: 1, W: 1}, 0, tiling.Rect{Y1: 1, X1: 1}, func(b []byte, _ int64) (int, error) { return by(b, at) })
	unpack(v, data, wgsl.F32)
	return err
}

// finish hands out frame t.
func (v *linearCanvas) finish(ctx context.Context, t int, take func(x wgsl.Tensor, xT, y0 int) error) error {
	out := v.l.Out
	for y0 := 0; y0 < out.H; y0 += v.y.H {
		y := v.y
		y.H = min(v.y.H, out.H-y0)
		data := make([]byte, y.Bytes())
		if err := moveRows(data, 4*v.c, out, t, tiling.Rect{Y0: y0, Y1: y0 + y.H, X1: out.W}, v.result.ReadAt); err != nil {
			return err
		}
		if err := v.m.dev.Write(y.Buffer.All(), data); err != nil {
			return err
		}
		if err := take(y, 0, y0); err != nil {
			return err
		}
	}
	return nil
}

func (v *linearCanvas) close() {
	for _, s := range []Spool{v.result, v.above, v.before} {
		if s != nil {
			s.Close()
		}
	}
	if v.y.Buffer != nil {
		v.m.dev.Free(v.y.Buffer)
	}
}
