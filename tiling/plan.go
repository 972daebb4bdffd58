package tiling

import "fmt"

// Tile is one piece of a plan. WY and WX are shared between tiles: do not
// change them.
type Tile struct {
	Cells Rect // of the latent, in both directions
	In    Rect // what the model reads: latent cells to decode, pixels to encode
	Out   Rect // what it contributes to: pixels to decode, latent cells to encode

	// Weights of the rows and columns of Out, from 0 to 1. A sample's weight is the
	// product of its row's and its column's, for every channel and frame. The tiles of a
	// Linear plan have no weights.
	WY, WX []float32

	// Final is the part of the result, in samples like Out, that this tile completes: no
	// later tile changes it. The parts of all tiles cover the result exactly once.
	Final Rect
}

// Plan is a frame cut into tiles, row by row. The result is
// sum(weight·tile) / max(count, MinCount).
type Plan struct {
	Tiles      []Tile
	Rows, Cols int  // len(Tiles) = Rows*Cols
	Out        Size // of the blended result: pixels to decode, latent cells to encode
}

// Decode plans the decoding of a latent of h by w cells; RGB is blended. Each axis is
// from 1 cell to 2^24 pixels long. It returns ErrTile or ErrOverlap for impossible
// options.
func Decode(h, w int, o Options) (Plan, error) {
	if err := o.check(); err != nil {
		return Plan{}, err
	}
	factor := o.factor()
	if h < 1 || w < 1 || h > maxSide/factor || w > maxSide/factor {
		return Plan{}, fmt.Errorf("tiling: %w: latent of %dx%d cells, expected 1 to %d per axis", ErrFrame, w, h, maxSide/factor)
	}
	y, x := o.axes(h, w)
	// The fade has the given overlap's length, even where the tiles overlap by less.
	y.ramp, x.ramp = o.Overlap.H, o.Overlap.W
	y.unit, x.unit = factor, factor
	return build(y, x, 1, o)
}

// Encode plans the encoding of a frame of height by width pixels, which the caller has
// padded to multiples of o.Factor, at most 2^24; the moments are blended. It returns
// ErrTile or ErrOverlap for impossible options.
func Encode(height, width int, o Options) (Plan, error) {
	if err := o.check(); err != nil {
		return Plan{}, err
	}
	if height < 1 || width < 1 || height > maxSide || width > maxSide {
		return Plan{}, fmt.Errorf("tiling: %w: frame of %dx%d pixels, expected 1 to %d per axis", ErrFrame, width, height, maxSide)
	}
	factor := o.factor()
	if height%factor != 0 || width%factor != 0 {
		return Plan{}, fmt.Errorf("tiling: frame of %dx%d pixels, expected multiples of %d", width, height, factor)
	}
	y, x := o.axes(height/factor, width/factor)
	y.ramp, x.ramp = y.overlap, x.overlap
	y.unit, x.unit = 1, 1
	return build(y, x, factor, o)
}

// axes cut a frame of h by w cells.
func (o Options) axes(h, w int) (y, x axis) {
	factor := o.factor()
	if o.Tile == (Size{}) {
		o = Options{Tile: Size{h * factor, w * factor}}
	}
	return newAxis(h, o.Tile.H, o.Overlap.H, factor), newAxis(w, o.Tile.W, o.Overlap.W, factor)
}

// build crosses the spans of both axes. in is the scale of Tile.In to cells.
func build(y, x axis, in int, o Options) (Plan, error) {
	if n := ceil(y.cells, y.step) * ceil(x.cells, x.step); n > maxTiles {
		return Plan{}, fmt.Errorf("tiling: tile %v with overlap %v: %w: makes %d tiles of %dx%d cells, expected at most %d",
			o.Tile, o.Overlap, ErrTile, n, x.cells, y.cells, maxTiles)
	}
	rows, cols := y.spans(), x.spans()
	leastY, atY := y.least(rows)
	leastX, atX := x.least(cols)
	if leastY*leastX <= MinCount {
		return Plan{}, fmt.Errorf("tiling: overlap %v with tile %v: %w: the fades leave black at row %d, column %d",
			o.Overlap, o.Tile, ErrOverlap, atY, atX)
	}
	p := Plan{Rows: len(rows), Cols: len(cols), Out: Size{y.cells * y.unit, x.cells * x.unit}}
	p.Tiles = make([]Tile, 0, len(rows)*len(cols))
	for _, r := range rows {
		for _, c := range cols {
			cells := Rect{r.start, r.end, c.start, c.end}
			final := Rect{r.start, r.final, c.start, c.final}
			p.Tiles = append(p.Tiles, Tile{
				Cells: cells, In: cells.scaled(in), Out: cells.scaled(y.unit), Final: final.scaled(y.unit),
				WY: r.weight, WX: c.weight,
			})
		}
	}
	return p, nil
}

// Whole reports whether the frame is a single tile, which needs no blending.
func (p Plan) Whole() bool { return len(p.Tiles) == 1 }

// Count returns the sum of the weights at each sample of the result, [Out.H, Out.W],
// added in float32 in the order of the tiles. It exceeds MinCount everywhere: Decode and
// Encode refuse plans that would leave black samples. A Linear plan has no weights to
// count.
func (p Plan) Count() []float32 {
	count := make([]float32, p.Out.H*p.Out.W)
	for y := range p.Out.H {
		p.CountRow(y, count[y*p.Out.W:][:p.Out.W])
	}
	return count
}

// CountRow sets dst, of length Out.W, to row y of Count, from 0 to Out.H-1.
func (p Plan) CountRow(y int, dst []float32) {
	clear(dst)
	for row := range p.Rows {
		tiles := p.Tiles[row*p.Cols:][:p.Cols]
		out := tiles[0].Out
		if y < out.Y0 || y >= out.Y1 {
			continue
		}
		for _, t := range tiles {
			wy := t.WY[y-out.Y0]
			for i, wx := range t.WX {
				dst[t.Out.X0+i] += float32(wy * wx) // rounded, never fused
			}
		}
	}
}

func ceil(n, d int) int { return (n + d - 1) / d }
