package tiling

import "fmt"

// Linear is a plan whose tiles are blended as diffusers does for Wan
// (autoencoder_kl_wan.py, tiled_encode and tiled_decode). Row by row, each tile's top
// fades in from the tile above and its left side from the previous tile, both after their
// own blending. The tile keeps its upper left part, Tile.Final. Tiles have no weights, so
// Count does not apply.
type Linear struct {
	Plan
	Extent Size // most samples of Out that fade along each axis
	Unit   int  // samples along an axis that share a weight: the patch, or 1 to encode
}

// The defaults of diffusers' tiled_encode and tiled_decode, in pixels.
const (
	DiffusersTile    = 256 // side of a tile
	DiffusersOverlap = 64  // along each axis
)

// LinearDecode plans the decoding of a latent of h by w cells, each axis from 1 cell to
// 2^24 pixels long. patch, at least 1, is the side of the blocks of pixels that share a
// blending weight. It returns ErrTile or ErrOverlap for impossible options.
func LinearDecode(h, w, patch int, o Options) (Linear, error) {
	cells := Size{h, w}
	pixels := Size{h * o.factor(), w * o.factor()}
	return o.linear(cells, pixels.H > o.Tile.H || pixels.W > o.Tile.W, 1, o.factor(), patch)
}

// LinearEncode plans the encoding of a frame of height by width pixels, which the caller
// has padded to multiples of o.Factor, at most 2^24. patch, at least 1, is the side of a
// block of pixels that the model reads as one. As in the reference, a tile has as many
// patches as o.Tile has pixels, but the pixels decide whether a frame is cut at all. It
// returns ErrTile or ErrOverlap for impossible options.
func LinearEncode(height, width, patch int, o Options) (Linear, error) {
	factor := o.factor()
	if height%factor != 0 || width%factor != 0 {
		return Linear{}, fmt.Errorf("tiling: frame of %dx%d pixels, expected multiples of %d", width, height, factor)
	}
	cut := height > o.Tile.H || width > o.Tile.W
	o.Tile, o.Overlap = Size{o.Tile.H * patch, o.Tile.W * patch}, Size{o.Overlap.H * patch, o.Overlap.W * patch}
	return o.linear(Size{height / factor, width / factor}, cut, factor, 1, 1)
}

// linear cuts cells into tiles, or makes one tile of them. in and out are the pixels or
// cells per cell on each side of the model.
func (o Options) linear(cells Size, cut bool, in, out, unit int) (Linear, error) {
	factor := o.factor()
	if err := o.check(); err != nil {
		return Linear{}, err
	}
	if cells.H < 1 || cells.W < 1 || cells.H > maxSide/factor || cells.W > maxSide/factor {
		return Linear{}, fmt.Errorf("tiling: %w: latent of %v cells, expected 1 to %d per axis", ErrFrame, cells, maxSide/factor)
	}
	tile := Size{o.Tile.H / factor, o.Tile.W / factor}
	step := Size{(o.Tile.H - o.Overlap.H) / factor, (o.Tile.W - o.Overlap.W) / factor}
	if !cut || o.Tile == (Size{}) {
		tile, step = cells, cells
	}
	if step.H < 1 || step.W < 1 {
		return Linear{}, fmt.Errorf("tiling: overlap %v with tile %v: %w: tiles would advance by less than a latent cell", o.Overlap, o.Tile, ErrOverlap)
	}
	rows, cols := ceil(cells.H, step.H), ceil(cells.W, step.W)
	if rows*cols > maxTiles {
		return Linear{}, fmt.Errorf("tiling: tile %v with overlap %v: %w: makes %d tiles, expected at most %d", o.Tile, o.Overlap, ErrTile, rows*cols, maxTiles)
	}
	l := Linear{
		Plan:   Plan{Rows: rows, Cols: cols, Out: Size{cells.H * out, cells.W * out}},
		Extent: Size{(tile.H - step.H) * out, (tile.W - step.W) * out}, Unit: unit,
	}
	for y := 0; y < cells.H; y += step.H {
		for x := 0; x < cells.W; x += step.W {
			at := Rect{y, min(y+tile.H, cells.H), x, min(x+tile.W, cells.W)}
			keep := Rect{y, min(y+step.H, cells.H), x, min(x+step.W, cells.W)}
			l.Tiles = append(l.Tiles, Tile{Cells: at, In: at.scaled(in), Out: at.scaled(out), Final: keep.scaled(out)})
		}
	}
	return l, nil
}

// Blend fades tile in from its neighbours, in place: first from the last rows of the tile
// above, then from the last columns of the previous tile. tile is [H, W, C] of the given
// size in samples and c channels. above is [rows, W, C] with the tile's width, before is
// [H, columns, C]; rows or columns are 0 if that neighbour does not exist. Both are read
// only, and may hold more than Extent.
func (l Linear) Blend(tile []float32, size Size, c int, above []float32, rows int, before []float32, columns int) {
	rows, e := min(rows, l.Extent.H, size.H), rows
	for y := range rows {
		a, b := l.fade(y, rows)
		from := above[(e-rows+y)*size.W*c:]
		for i, v := range tile[y*size.W*c:][:size.W*c] {
			tile[y*size.W*c+i] = from[i]*a + v*b
		}
	}
	columns, e = min(columns, l.Extent.W, size.W), columns
	for y := range size.H {
		row, from := tile[y*size.W*c:], before[y*e*c:]
		for x := range columns {
			a, b := l.fade(x, columns)
			for i := range c {
				row[x*c+i] = from[(e-columns+x)*c+i]*a + row[x*c+i]*b
			}
		}
	}
}

// fade returns the shares of the neighbour and of the tile in sample i of n.
func (l Linear) fade(i, n int) (neighbour, own float32) {
	share := float64(i/l.Unit) / float64(n/l.Unit)
	return float32(1 - share), float32(share)
}
