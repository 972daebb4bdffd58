package wgsl

import "tessera/gpu"

// Replicate copies frames and repeats their edges. Pixel (r, s) of the output is pixel
// (Y0 + r, X0 + s) of the input, or the closest one; with Mirror, the one as far inside
// of the frame's edge. X may hold rows of frames of Height, from row Top on.
type Replicate struct {
	Y0, X0 int
	Mirror bool
	Height int // with Mirror
	Top    int
	X, Y   Tensor // input and output, of the same channels
	XT, YT int    // the first frame of each
	N      int    // frames
}

type replicateParams struct {
	First        gpu.First
	H_in, W_in   uint32
	C4, W        uint32
	Y0, X0       int32
	Stride, Step uint32
	Low, High    int32
	X_at, Y_at   uint32
}

// Replicate records y as the pixels of x and its edges.
func (s *Set) Replicate(b *gpu.Batch, label string, r Replicate) {
	x, y, n := r.X, r.Y, r.N
	if x.C != y.C {
		panic(badNumbers(label, "replicated pixels of HxWxC as HxWxC", x.H, x.W, x.C, y.H, y.W, y.C))
	}
	in, inAt := x.Frames(r.XT, n)
	out, outAt := y.Frames(r.YT, n)
	h := s.shader(label, "replicate", nil)
	p := s.program(h, constants{"MIRROR": flag(r.Mirror)}, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{y.H, y.W, y.C4(), n}), replicateParams{
		H_in: uint32(x.H), W_in: uint32(x.W), C4: uint32(x.C4()), W: uint32(y.W), Y0: int32(r.Y0), X0: int32(r.X0),
		Stride: uint32(x.Stride()), Step: uint32(y.Stride()), Low: int32(-r.Top), High: int32(r.Height - 1 - r.Top), X_at: inAt, Y_at: outAt,
	}, gpu.Cost{Bytes: int64(n) * (x.FrameBytes() + y.FrameBytes())}, in, out)
}
