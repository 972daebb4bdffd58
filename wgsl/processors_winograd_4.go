package wgsl

import (
	"tessera/gpu"
)

type winogradWeights4Params struct {
	First                       gpu.First
	Size, Run, Part, Rows, Taps uint32
}

type winogradInputs4Params struct {
	First                                          gpu.First
	Size, X0_at, X1_at, X2_at, X3_at, X4_at, X5_at uint32
}

// outputTransform2 and outputTransform4 are how often each product goes to each of the frames: the
// powers of its point.
var (
	outputTransform2 = [6][4]float32{{1, 0}, {1, 1}, {1, -1}, {0, -1}}
	outputTransform4 = [6][4]float32{
		{1, 0, 0, 0},
		{1, 0.75, 0.5625, 0.421875}, {1, -0.75, 0.5625, -0.421875},
		{1, 1.5, 2.25, 3.375}, {1, -1.5, 2.25, -3.375},
		{0, 0, 0, 1},
	}
)

// winogradWeights4 makes the sums of weights.
var winogradWeights4 = shader{file: "processors/winograd_weights_4", wg: 64, grid: rowGrid}

// weightTransform4 records the six sums of a weight's three taps or columns, of which each of its
// blocks has p.Size vec4s.
func (s *Set) weightTransform4(b *gpu.Batch, label string, w Weights, blocks int, p winogradWeights4Params, to gpu.View) {
	h := &winogradWeights4
	size := int(p.Size)
	from := gpu.View{Buffer: w.Weight, Size: int64(3 * blocks * 4 * size * w.Elem.Bytes())}
	b.Dispatch(label, s.weighted(h, w.Elem, constants{}, gpu.Read, gpu.ReadWrite), h.cover(extent{H: blocks, W: size, C4: 1, N: 1}), p,
		gpu.Cost{FLOPs: 13 * int64(blocks*4*size), Bytes: from.Size + to.Size}, from, to)
}

// WinogradFrames is how many of n frames Conv3DWinograd makes together, with a weight that UsesWinograd
// has: four, where its kernel does and n is a multiple of it, or two. With halves it is two,
// since six products of rounded weights have too large an error.
func (s *Set) WinogradFrames(shape Shape, n int) int {
	if s.Elem == F32 && n%4 == 0 && len(s.find(classOf("conv3d_winograd", shape), nil).shaders) > 1 {
		return 4
	}
	return 2
}
