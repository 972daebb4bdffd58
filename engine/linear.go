package engine

import (
	"errors"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// linearCanvas blends tiles as diffusers does, on the host: it is for comparing
// with that, not for speed. Spools keep the frames of the result, the last rows
// of the tiles above and the last columns of the tile before.
type linearCanvas struct {
	l      tiling.Linear
	c      int // floats of a pixel
	frames int
	widest tiling.Size // tile

	result, above, before Spool       // when open
	y                     wgsl.Tensor // a band of a frame on its way out
}

// newLinearCanvas declares one for so many frames.
func newLinearCanvas(j *Job, l tiling.Linear, frames int) *linearCanvas {
	v := &linearCanvas{l: l, c: wgsl.Pad4(j.OutChannels), frames: frames}
	for _, t := range l.Tiles {
		v.widest.H, v.widest.W = max(v.widest.H, t.Out.Size().H), max(v.widest.W, t.Out.Size().W)
	}
	v.y = wgsl.Tensor{Elem: wgsl.F32, T: 1, H: bandRows(l.Out, j.OutChannels, j.Adapter.Limits), W: l.Out.W, C: j.OutChannels}
	v.y.Buffer = &gpu.Buffer{Label: "blended", Size: v.y.Bytes()}
	return v
}

// sizes are the bytes of the three spools.
func (v *linearCanvas) sizes() (result, above, before int64) {
	pixel := int64(4 * v.c * v.frames)
	out, e := v.l.Out, v.l.Extent
	return pixel * int64(out.H) * int64(out.W), pixel * int64(e.H) * int64(v.widest.W) * int64(v.l.Cols), pixel * int64(v.widest.H) * int64(e.W)
}

func (v *linearCanvas) buffers() []*gpu.Buffer { return []*gpu.Buffer{v.y.Buffer} }
func (v *linearCanvas) bands() wgsl.Tensor     { return v.y }

func (v *linearCanvas) spooled() int64 {
	result, above, before := v.sizes()
	return result + above + before
}

func (v *linearCanvas) open(o Options) error {
	result, above, before := v.sizes()
	var err error
	for _, s := range []struct {
		spool *Spool
		size  int64
	}{{&v.result, result}, {&v.above, above}, {&v.before, before}} {
		if *s.spool, err = o.spool(s.size); err != nil {
			return err
		}
	}
	return nil
}

func (v *linearCanvas) close() {
	for _, s := range []*Spool{&v.result, &v.above, &v.before} {
		if *s != nil {
			(*s).Close()
			*s = nil
		}
	}
}

func (v *linearCanvas) add(out TileFrame) []Step {
	return []Step{&takeOut{now: true, from: frameOf(&out.X, out.T), to: into(func(raw []byte) error {
		px := make([]float32, 4*out.X.Stride())
		decode(px, raw, out.X.Elem)
		return v.fade(px, out.Tile, out.Frame)
	})}}
}

// fade fades a tile in and keeps its part of frame t.
func (v *linearCanvas) fade(px []float32, tile, t int) error {
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
	down, right := v.bandsAt(t, col)
	if err := errors.Join(load32(above, v.above, down), load32(before, v.before, right)); err != nil {
		return err
	}
	v.l.Blend(px, size, v.c, above, rows, before, columns)
	rows, columns = min(e.H, size.H), min(e.W, size.W)
	last := make([]float32, 0, size.H*columns*v.c)
	for y := range size.H {
		last = append(last, px[(y*size.W+size.W-columns)*v.c:(y+1)*size.W*v.c]...)
	}
	if err := errors.Join(store32(px[(size.H-rows)*size.W*v.c:], v.above, down), store32(last, v.before, right)); err != nil {
		return err
	}
	keep := at.Final.Size()
	kept := make([]byte, 4*keep.H*keep.W*v.c)
	for y := range keep.H {
		encode(kept[4*y*keep.W*v.c:], px[y*size.W*v.c:][:keep.W*v.c], wgsl.F32)
	}
	return v.rectangle(t, at.Final).put(nil, kept)
}

func (v *linearCanvas) rectangle(t int, part tiling.Rect) *rectangle {
	return &rectangle{v.result, 4 * v.c, v.l.Out, t, part}
}

// bandsAt are where the last rows of the tile in a column, and the last columns
// of the tile before, begin in their spools for frame t.
func (v *linearCanvas) bandsAt(t, col int) (down, right int64) {
	pixel := int64(4 * v.c)
	down = (int64(t)*int64(v.l.Cols) + int64(col)) * int64(v.l.Extent.H) * int64(v.widest.W) * pixel
	return down, int64(t) * int64(v.widest.H) * int64(v.l.Extent.W) * pixel
}

// load32 and store32 move floats between v and a spool.
func load32(v []float32, from Spool, at int64) error {
	if len(v) == 0 {
		return nil
	}
	data := make([]byte, 4*len(v))
	err := flat(from, at, len(data)).get(nil, data)
	decode(v, data, wgsl.F32)
	return err
}

func store32(v []float32, to Spool, at int64) error {
	if len(v) == 0 {
		return nil
	}
	data := make([]byte, 4*len(v))
	encode(data, v, wgsl.F32)
	return flat(to, at, len(data)).put(nil, data)
}

// flat is n bytes of a spool as a rectangle of one pixel.
func flat(s Spool, at int64, n int) *rectangle {
	return &rectangle{&offset{s, at}, n, tiling.Size{H: 1, W: 1}, 0, tiling.Rect{Y1: 1, X1: 1}}
}

// offset is a spool from a byte on.
type offset struct {
	spool Spool
	at    int64
}

func (s *offset) ReadAt(b []byte, at int64) (int, error)  { return s.spool.ReadAt(b, s.at+at) }
func (s *offset) WriteAt(b []byte, at int64) (int, error) { return s.spool.WriteAt(b, s.at+at) }

func (v *linearCanvas) band(frame, y0 int) ([]Step, wgsl.Tensor) {
	y, out := v.y, v.l.Out
	y.H = min(y.H, out.H-y0)
	return []Step{&bringIn{allOf(y), v.rectangle(frame, tiling.Rect{Y0: y0, Y1: y0 + y.H, X1: out.W})}}, y
}
