package wgsl

import (
	"fmt"

	"tessera/gpu"
)

type unpatchifyParams struct {
	First      gpu.First
	H, W, C, P uint32
	X_at, Y_at uint32
}

// Unpatchify records y, whose pixels are those of patches of x: a pixel of x
// holds patch x patch pixels of y, colour slowest, then their columns, then
// their rows. It makes n frames, from xT of x and yT of y on.
func (s *Set) Unpatchify(b *gpu.Batch, label string, x Tensor, xT int, y Tensor, yT, n, patch int) {
	if x.C != y.C*patch*patch || y.H != patch*x.H || y.W != patch*x.W {
		panic(fmt.Sprintf("wgsl: %s: patches of %d in %dx%dx%d for %dx%dx%d", label, patch, x.H, x.W, x.C, y.H, y.W, y.C))
	}
	in, inAt := x.Frames(xT, n)
	out, outAt := y.Frames(yT, n)
	p := s.program("unpatchify", nil, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, [3]uint32{groups(y.W*y.C4(), 64), uint32(y.H), uint32(n)}, unpatchifyParams{
		H: uint32(x.H), W: uint32(x.W), C: uint32(y.C), P: uint32(patch), X_at: inAt, Y_at: outAt,
	}, gpu.Cost{Bytes: int64(n) * (x.FrameBytes() + y.FrameBytes())}, in, out)
}
