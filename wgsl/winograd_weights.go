package wgsl

import (
	"fmt"

	"tessera/gpu"
)

type winogradWeightsParams struct {
	First gpu.First
	Size  uint32
}

type winogradWeights4Params struct {
	First                       gpu.First
	Size, Run, Part, Rows, Taps uint32
}

// WinogradWeights describes the transform of a weight of three temporal taps for
// Conv3DWinograd and ConvUpWinograd: to four sums, or six for F(4,3).
type WinogradWeights struct {
	Weights
	Shape Shape       // of the weights, for which UsesWinograd is true
	Of    int         // frames computed together: 2, or from WinogradFrames
	To    *gpu.Buffer // at least WinogradBytes bytes
}

// WinogradBytes returns the bytes of a weight from WinogradWeights for `of` frames
// together.
func (s *Set) WinogradBytes(shape Shape, of int) int64 {
	shape.KT = of + 2
	return int64(winograd4x8.Size(shape) * s.summed().Bytes())
}

// WinogradWeights records the sums and returns the new weights.
func (s *Set) WinogradWeights(b *gpu.Batch, label string, c WinogradWeights) Weights {
	if !s.UsesWinograd(c.Packing, c.Shape) || c.Of != 2 && c.Of != s.WinogradFrames(c.Shape, c.Of) || c.To.Size < s.WinogradBytes(c.Shape, c.Of) {
		panic(fmt.Sprintf("wgsl: %s: taps of %v, weights %v, for %d frames together in %d bytes", label, c.Shape, c.Packing, c.Of, c.To.Size))
	}
	size := c.Packing.tap(c.Shape.I, c.Shape.KS)
	blocks := c.Packing.Size(c.Shape) / (3 * size)
	to := gpu.View{Buffer: c.To, Size: s.WinogradBytes(c.Shape, c.Of)}
	made := Weights{Weight: c.To, Bias: c.Bias, Elem: s.summed(), Packing: winograd4x8}
	if c.Of == 4 {
		all := uint32(size / 4)
		s.weightTransform4(b, label, c.Weights, blocks, winogradWeights4Params{Size: all, Run: all, Part: all, Rows: 1, Taps: 1}, to)
		return made
	}
	from := gpu.View{Buffer: c.Weight, Size: int64(3 * blocks * size * c.Elem.Bytes())}
	h := s.shader(label, "winograd_weights", nil)
	p := s.weighted(h, c.Elem, constants{}, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{H: blocks, W: size / 4, C4: 1, N: 1}), winogradWeightsParams{Size: uint32(size / 4)},
		gpu.Cost{FLOPs: 5 * int64(blocks*size), Bytes: from.Size + to.Size}, from, to)
	return made
}

// weightTransform4 records the six sums of a weight's three taps or columns. Each of
// its blocks has p.Size vec4s.
func (s *Set) weightTransform4(b *gpu.Batch, label string, w Weights, blocks int, p winogradWeights4Params, to gpu.View) {
	h := s.shader(label, "winograd_weights_4", nil)
	size := int(p.Size)
	from := gpu.View{Buffer: w.Weight, Size: int64(3 * blocks * 4 * size * w.Elem.Bytes())}
	b.Dispatch(label, s.weighted(h, w.Elem, constants{}, gpu.Read, gpu.ReadWrite), h.cover(extent{H: blocks, W: size, C4: 1, N: 1}), p,
		gpu.Cost{FLOPs: 13 * int64(blocks*4*size), Bytes: from.Size + to.Size}, from, to)
}
