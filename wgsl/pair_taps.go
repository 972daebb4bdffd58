package wgsl

import (
	"fmt"

	"tessera/gpu"
)

type pairTapsParams struct {
	First gpu.First
	Size  uint32
}

// PairTaps describes a weight of three temporal taps as ConvPairs and ConvUpPairs
// multiply with it: four sums of them, or six for quads.
type PairTaps struct {
	Weights
	Shape Shape       // theirs, which Paired has taken
	Of    int         // how many frames are made together, 2 or as Together says
	To    *gpu.Buffer // of at least the bytes of PairBytes
}

// PairBytes is the bytes of a weight that PairTaps makes for so many frames together.
func (s *Set) PairBytes(shape Shape, of int) int64 {
	shape.KT = of + 2
	return int64(pairs4x8.Size(shape) * s.summed().Bytes())
}

// PairTaps records the sums and gives the weights that they make.
func (s *Set) PairTaps(b *gpu.Batch, label string, c PairTaps) Weights {
	if !s.Paired(c.Packing, c.Shape) || c.Of != 2 && c.Of != s.Together(c.Shape, c.Of) || c.To.Size < s.PairBytes(c.Shape, c.Of) {
		panic(fmt.Sprintf("wgsl: %s: taps of %v, weights %v, for %d frames together in %d bytes", label, c.Shape, c.Packing, c.Of, c.To.Size))
	}
	size := c.Packing.tap(c.Shape.I, c.Shape.KS)
	blocks := c.Packing.Size(c.Shape) / (3 * size)
	to := gpu.View{Buffer: c.To, Size: s.PairBytes(c.Shape, c.Of)}
	made := Weights{Weight: c.To, Bias: c.Bias, Elem: s.summed(), Packing: pairs4x8}
	if c.Of == 4 {
		all := uint32(size / 4)
		s.sixTaps(b, label, c.Weights, blocks, quadTapsParams{Size: all, Run: all, Part: all, Rows: 1, Taps: 1}, to)
		return made
	}
	from := gpu.View{Buffer: c.Weight, Size: int64(3 * blocks * size * c.Elem.Bytes())}
	h := s.shader(label, "pair_taps", nil)
	p := s.weighted(h, c.Elem, constants{}, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{H: blocks, W: size / 4, C4: 1, N: 1}), pairTapsParams{Size: uint32(size / 4)},
		gpu.Cost{FLOPs: 5 * int64(blocks*size), Bytes: from.Size + to.Size}, from, to)
	return made
}
