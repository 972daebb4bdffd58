//go:build !js

package wgsl

import (
	_ "embed"

	"tessera/gpu"
)

// Frames four by four, by Winograd's F(4,3) along time: six products for twelve, or for
// the eight of two pairs. What the transforms of frames, taps and products are is at their
// shaders, quad_frames.wgsl, quad_taps.wgsl and in quadShares; the kernels are those of
// pairs, of sums made ahead. The points 0, ±3/4, ±3/2 and infinity are numbers that f32
// has and so are their powers: 1152 products have an error (NMSE) of 1.7e-12 with them,
// where frames one by one have 1.0e-12, pairs 0.6e-12, and the usual points, 1 and 2,
// 3.7e-12.
var (
	//go:embed quad_frames.wgsl
	quadFramesText string
	//go:embed quad_taps.wgsl
	quadTapsText string
)

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

// quadShaders are those that a kernel of sums made ahead has behind that of pairs.
var quadShaders = [...]shader{{file: "quad_frames", wg: 64, grid: rowGrid}, {file: "quad_taps", wg: 64, grid: rowGrid}}

// quadTaps is PairTaps of quads.
var quadTaps = &quadShaders[1]

// Together is how many of n frames ConvPairs makes together, with a weight that Paired
// has: four, where its kernel does and there are as many, or two. With halves it is two,
// since six products of rounded weights have too large an error.
func (s *Set) Together(shape Shape, n int) int {
	if s.Elem == F32 && n >= 4 && len(s.find(classOf("conv_pairs", shape), nil).shaders) > 1 {
		return 4
	}
	return 2
}
