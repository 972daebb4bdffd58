package runner

import (
	"errors"

	"tessera/engine"
	"tessera/wgsl"
)

// fade fades a tile in and adds its part of the frame to the result.
func (r *run) fade(to *engine.LinearTile, raw []byte) error {
	v, tile, t := r.work.Joiner.(*engine.LinearCanvas), to.Of.Tile, to.Of.Frame
	px := make([]float32, 4*to.Of.X.Stride())
	engine.Decode(px, raw, to.Of.X.Elem)
	l, c := &v.Tiles, v.C
	at := l.Tiles[tile]
	size, e, col := at.Out.Size(), l.Extent, tile%l.Cols
	var above, before []float32
	rows, columns := 0, 0
	if tile >= l.Cols {
		rows = min(e.H, l.Tiles[tile-l.Cols].Out.Size().H)
		above = make([]float32, rows*size.W*c)
	}
	if col > 0 {
		columns = min(e.W, l.Tiles[tile-1].Out.Size().W)
		before = make([]float32, size.H*columns*c)
	}
	fromAbove, fromBefore := spoolOffsets(v, t, col)
	down, right := &offset{r.spools[v.Above], fromAbove}, &offset{r.spools[v.Before], fromBefore}
	if err := errors.Join(load32(above, down), load32(before, right)); err != nil {
		return err
	}
	l.Blend(px, size, c, above, rows, before, columns)
	rows, columns = min(e.H, size.H), min(e.W, size.W)
	last := make([]float32, 0, size.H*columns*c)
	for y := range size.H {
		last = append(last, px[(y*size.W+size.W-columns)*c:(y+1)*size.W*c]...)
	}
	if err := errors.Join(store32(px[(size.H-rows)*size.W*c:], down), store32(last, right)); err != nil {
		return err
	}
	keep := at.Final.Size()
	kept := make([]byte, 4*keep.H*keep.W*c)
	for y := range keep.H {
		engine.Encode(kept[4*y*keep.W*c:], px[y*size.W*c:][:keep.W*c], wgsl.F32)
	}
	return write(r.spools[v.Result], v.Rectangle(t, at.Final), kept)
}

// spoolOffsets returns where the last rows of the tile in a column, and the last columns
// of the previous tile, begin in their spools for frame t.
func spoolOffsets(v *engine.LinearCanvas, t, col int) (down, right int64) {
	pixel, l := int64(4*v.C), &v.Tiles
	down = (int64(t)*int64(l.Cols) + int64(col)) * int64(l.Extent.H) * int64(v.Widest.W) * pixel
	return down, int64(t) * int64(v.Widest.H) * int64(l.Extent.W) * pixel
}

// load32 and store32 move floats between v and a spool.
func load32(v []float32, from *offset) error {
	if len(v) == 0 {
		return nil
	}
	data := make([]byte, 4*len(v))
	err := read(from, flat(len(data)), data)
	engine.Decode(v, data, wgsl.F32)
	return err
}

func store32(v []float32, to *offset) error {
	if len(v) == 0 {
		return nil
	}
	data := make([]byte, 4*len(v))
	engine.Encode(data, v, wgsl.F32)
	return write(to, flat(len(data)), data)
}
