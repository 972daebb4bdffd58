package wgsl

import "tessera/gpu"

type unpatchifyParams struct {
	First        gpu.First
	H, W, C, P   uint32
	Across, Down uint32
	X_at, Y_at   uint32
}

// Unpatchify unpacks patches: a pixel of X holds Patch x Patch pixels of Y, colour
// slowest, then their columns, then their rows.
type Unpatchify struct {
	X, Y   Tensor // C*Patch*Patch channels; C, Patch times as high and wide
	XT, YT int    // the first frame of each
	N      int    // frames
	Patch  int
	Rows   bool // rows before columns, as in PyTorch's pixel_shuffle
}

// Unpatchify records y as the pixels of x's patches.
func (s *Set) Unpatchify(b *gpu.Batch, label string, u Unpatchify) {
	x, y, n, patch := u.X, u.Y, u.N, u.Patch
	if x.C != y.C*patch*patch || y.H != patch*x.H || y.W != patch*x.W {
		panic(badNumbers(label, "patches of a side in HxWxC for HxWxC", patch, x.H, x.W, x.C, y.H, y.W, y.C))
	}
	x.alone(n)
	y.alone(n)
	in, inAt := x.Frames(u.XT, n)
	out, outAt := y.Frames(u.YT, n)
	across, down := patch, 1
	if u.Rows {
		across, down = 1, patch
	}
	h := s.shader(label, "unpatchify", nil)
	p := s.program(h, nil, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{y.H, y.W, y.C4(), n}), unpatchifyParams{
		H: uint32(x.H), W: uint32(x.W), C: uint32(y.C), P: uint32(patch), Across: uint32(across), Down: uint32(down), X_at: inAt, Y_at: outAt,
	}, gpu.Cost{Bytes: int64(n) * (x.FrameBytes() + y.FrameBytes())}, in, out)
}
