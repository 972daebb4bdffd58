package tiling

import "math"

// span is one tile's range along one axis.
type span struct {
	start, end int       // latent cells
	final      int       // cell from which on a later span contributes
	weight     []float32 // per blended unit: pixels for decode, cells for encode
}

// axis cuts one axis. tile and overlap are the reference's latent sizes, made
// of pixels by flooring; ramp is how many blended units a fade is given, unit
// how many of them a cell has.
type axis struct {
	cells               int
	tile, overlap, step int // cells
	ramp, unit          int
}

func newAxis(cells, tilePixels, overlapPixels, factor int) axis {
	a := axis{cells: cells, tile: max(1, tilePixels/factor)}
	a.overlap = max(0, min(overlapPixels/factor, a.tile-1))
	a.step = max(1, a.tile-a.overlap)
	return a
}

// spans lists the tiles along the axis. It skips a last tile that lies wholly in the
// overlap of the previous one; border tiles are cut, not shifted. An axis that fits one
// tile is one span of full weight, so the reference's early exit needs no code here.
func (a axis) spans() []span {
	var list []span
	for start := 0; start < a.cells; start += a.step {
		end := min(start+a.tile, a.cells)
		if start > 0 && end-start <= a.overlap {
			continue
		}
		if n := len(list); n > 0 {
			list[n-1].final = start
		}
		list = append(list, span{start, end, a.cells, a.weights(start, end)})
	}
	return list
}

// weights fade a tile in and out where it has a neighbour; at the image border
// they stay 1. Where a tile is thinner than two fades, the far one wins.
func (a axis) weights(start, end int) []float32 {
	n := (end - start) * a.unit
	w := make([]float32, n)
	for i := range w {
		w[i] = 1
	}
	fade := max(0, min(a.ramp, n-1))
	if start > 0 {
		for i := range fade {
			w[i] = float32(ramp(i, a.ramp))
		}
	}
	if end < a.cells {
		for i := range fade {
			w[n-fade+i] = float32(1 - ramp(i, a.ramp))
		}
	}
	return w
}

// ramp is sample i of m of half a cosine from exactly 0 to exactly 1.
func ramp(i, m int) float64 {
	if m == 1 {
		return 0
	}
	// The conversion keeps the product from being fused into the difference,
	// which some processors would do and others not.
	return 0.5 - float64(0.5*math.Cos(math.Pi*float64(i)/float64(m-1)))
}

// least is the smallest sum of weights along the axis, and where it is.
func (a axis) least(list []span) (sum float32, at int) {
	sums := make([]float32, a.cells*a.unit)
	for _, s := range list {
		for i, w := range s.weight {
			sums[s.start*a.unit+i] += w
		}
	}
	for i, v := range sums {
		if v < sums[at] {
			at = i
		}
	}
	return sums[at], at
}
