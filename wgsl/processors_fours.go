package wgsl

import (
	"tessera/gpu"
)

type quadTapsParams struct {
	First                       gpu.First
	Size, Run, Part, Rows, Taps uint32
}

type quadFramesParams struct {
	First                                          gpu.First
	Size, X0_at, X1_at, X2_at, X3_at, X4_at, X5_at uint32
}

// pairShares and quadShares are how often each product goes to each of the frames: the
// powers of its point.
var (
	pairShares = [6][4]float32{{1, 0}, {1, 1}, {1, -1}, {0, -1}}
	quadShares = [6][4]float32{
		{1, 0, 0, 0},
		{1, 0.75, 0.5625, 0.421875}, {1, -0.75, 0.5625, -0.421875},
		{1, 1.5, 2.25, 3.375}, {1, -1.5, 2.25, -3.375},
		{0, 0, 0, 1},
	}
)

// quadTaps makes the sums of weights.
var quadTaps = shader{file: "processors/quad_taps", wg: 64, grid: rowGrid}

// sixTaps records the six sums of a weight's three taps or columns, of which each of its
// blocks has p.Size vec4s.
func (s *Set) sixTaps(b *gpu.Batch, label string, w Weights, blocks int, p quadTapsParams, to gpu.View) {
	h := &quadTaps
	size := int(p.Size)
	from := gpu.View{Buffer: w.Weight, Size: int64(3 * blocks * 4 * size * w.Elem.Bytes())}
	b.Dispatch(label, s.weighted(h, w.Elem, constants{}, gpu.Read, gpu.ReadWrite), h.cover(extent{H: blocks, W: size, C4: 1, N: 1}), p,
		gpu.Cost{FLOPs: 13 * int64(blocks*4*size), Bytes: from.Size + to.Size}, from, to)
}

// Together is how many of n frames ConvPairs makes together, with a weight that Paired
// has: four, where its kernel does and they are of whole quads, or two. With halves it is two,
// since six products of rounded weights have too large an error.
func (s *Set) Together(shape Shape, n int) int {
	if s.Elem == F32 && n%4 == 0 && len(s.find(classOf("conv_pairs", shape), nil).shaders) > 1 {
		return 4
	}
	return 2
}
