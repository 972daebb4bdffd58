package wgsl

import (
	"fmt"

	"tessera/gpu"
)

type sumTapsParams struct {
	First      gpu.First
	Size, Taps uint32
}

// SumTaps describes a 3x3 convolution's weight whose first temporal taps are replaced
// by their sum, for output frames for which these taps read the same frame.
type SumTaps struct {
	Weights
	Shape Shape       // of the weights
	First int         // taps that are summed: 2 or more
	To    *gpu.Buffer // at least Summed bytes
}

// summed returns the storage of summed weights: that of activations, but halves as
// Packed.
func (s *Set) summed() Elem {
	if s.Elem == F32 {
		return F32
	}
	return Packed
}

// Summed returns the bytes of a weight in a packing with its first taps summed.
func (s *Set) Summed(p *Packing, shape Shape, first int) int64 {
	shape.KT -= first - 1
	return int64(p.Size(shape) * s.summed().Bytes())
}

// SumTaps records the sum and returns the new weights.
func (s *Set) SumTaps(b *gpu.Batch, label string, c SumTaps) Weights {
	shape, taps := c.Shape, c.Shape.KT-c.First+1
	if c.First < 2 || taps < 1 || c.To.Size < s.Summed(c.Packing, shape, c.First) {
		panic(fmt.Sprintf("wgsl: %s: the first %d taps of %v summed in %d bytes", label, c.First, shape, c.To.Size))
	}
	size := c.Packing.tap(shape.I, shape.KS)
	blocks := c.Packing.Size(shape) / (size * shape.KT)
	from := gpu.View{Buffer: c.Weight, Size: int64(blocks * shape.KT * size * c.Elem.Bytes())}
	to := gpu.View{Buffer: c.To, Size: s.Summed(c.Packing, shape, c.First)}
	h := s.shader(label, "sum_taps", nil)
	p := s.weighted(h, c.Elem, constants{"FIRST": float64(c.First)}, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{H: blocks, W: size / 4, C4: 1, N: taps}), sumTapsParams{
		Size: uint32(size / 4), Taps: uint32(shape.KT),
	}, gpu.Cost{FLOPs: int64(c.First-1) * int64(blocks*size), Bytes: from.Size + to.Size}, from, to)
	return Weights{Weight: c.To, Bias: c.Bias, Elem: s.summed(), Packing: c.Packing}
}
