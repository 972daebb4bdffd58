package wgsl

import (
	"fmt"

	"tessera/gpu"
)

type quantiseParams struct {
	First      gpu.First
	H, W, C4   uint32
	X_at, Y_at uint32
}

type dequantiseParams struct {
	First      gpu.First
	W, C4      uint32
	X_at, Y_at uint32
}

// Quantised returns a tensor, without memory, for x in 8 bits. Each row also stores the
// largest magnitude of each channel, four bytes each, in the space of four pixels. A
// row's values therefore do not depend on what else is quantised.
func (x *Tensor) Quantised() Tensor {
	y := *x
	y.Buffer, y.Elem, y.W = nil, I8, x.W+4
	return y
}

// Quantise describes the conversion of frame XT of X to frame YT of Y, which is a
// Quantised tensor. Dequantise converts back.
type Quantise struct {
	X, Y   Tensor
	XT, YT int
}

// check panics if the two tensors do not match.
func (q *Quantise) check(label string) {
	x, y := &q.X, &q.Y
	if y.Elem != I8 || y.W != x.W+4 || y.H != x.H || y.C4() != x.C4() {
		panic(fmt.Sprintf("wgsl: %s: %dx%dx%d as %dx%dx%d in %v, expected four pixels more in i8", label, x.H, x.W, x.C, y.H, y.W, y.C, y.Elem))
	}
}

// Quantise records y = x in 8 bits.
func (s *Set) Quantise(b *gpu.Batch, label string, q Quantise) {
	q.check(label)
	x, y := &q.X, &q.Y
	in, inAt := x.Frames(q.XT, 1)
	out, outAt := y.Frames(q.YT, 1)
	h := s.shader(label, "quantise", nil)
	p := s.program(h, nil, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{x.H, 1, x.C4(), 1}), quantiseParams{
		H: uint32(x.H), W: uint32(x.W), C4: uint32(x.C4()), X_at: inAt, Y_at: outAt,
	}, gpu.Cost{Bytes: x.FrameBytes() + y.FrameBytes()}, in, out)
}

// Dequantise records x = the values of y.
func (s *Set) Dequantise(b *gpu.Batch, label string, q Quantise) {
	q.check(label)
	x, y := &q.X, &q.Y
	in, inAt := y.Frames(q.YT, 1)
	out, outAt := x.Frames(q.XT, 1)
	h := s.shader(label, "dequantise", nil)
	p := s.program(h, nil, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{x.H, x.W, x.C4(), 1}), dequantiseParams{
		W: uint32(x.W), C4: uint32(x.C4()), X_at: inAt, Y_at: outAt,
	}, gpu.Cost{Bytes: x.FrameBytes() + y.FrameBytes()}, in, out)
}
