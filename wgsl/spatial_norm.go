package wgsl

import "tessera/gpu"

// SpatialNorm describes a group norm multiplied by Times, plus Plus, followed by SiLU.
// Times and Plus belong to a smaller clip: each of their pixels covers a square of X's
// pixels, and each of their frames several of X's.
type SpatialNorm struct {
	_ gpu.Incomparable

	Factors gpu.View // over all frames of a clip, from GroupFactors

	X, Y   Tensor // input and output, of equal size; if they share a buffer, their frames must be the same
	XT, YT int    // the first frame of each
	N      int    // frames

	Times, Plus Tensor // of equal size, with X's channels
	ZT          int    // their frame for frame XT
	Each        int    // frames of X that share one of theirs
	Lead        int    // of those, frames before XT
	Top         int    // rows of X above its first one that share their first row
}

type spatialNormParams struct {
	First                          gpu.First
	P, W, C4, Step                 uint32
	X_at, Y_at, Times_at, Plus_at  uint32
	Stride, Small, Side, Top, Each uint32
	Lead                           uint32
}

// SpatialNorm records y, with existing factors.
func (s *Set) SpatialNorm(b *gpu.Batch, label string, n SpatialNorm) {
	x, y, z := &n.X, &n.Y, &n.Times
	side, pixels := x.W/z.W, x.H*x.W
	if x.C != z.C || n.Plus.C != z.C || n.Plus.W != z.W || n.Plus.H != z.H || side*z.W != x.W || n.Top+x.H > side*z.H || n.Each < 1 {
		panic(badNumbers(label, "norm of HxWxC by HxWxC, and the frames of each", x.H, x.W, x.C, z.H, z.W, z.C, n.Each))
	}
	x.alone(n.N)
	y.alone(n.N)
	frames := (n.Lead+n.N-1)/n.Each + 1
	in, inAt := x.Frames(n.XT, n.N)
	out, outAt := y.Frames(n.YT, n.N)
	times, timesAt := z.Frames(n.ZT, frames)
	plus, plusAt := n.Plus.Frames(n.ZT, frames)
	factors := n.Factors
	factors.Size = 3 * 16 * int64(x.C4())
	c, in := inPlace(in, out, factors)
	h := s.shader(label, "spatial_norm", nil)
	p := s.program(h, c, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{x.H, x.W, x.C4(), n.N}), spatialNormParams{
		P: uint32(pixels), W: uint32(x.W), C4: uint32(x.C4()), Step: groups(pixels, h.pixels), X_at: inAt, Y_at: outAt, Times_at: timesAt, Plus_at: plusAt,
		Stride: uint32(z.Stride()), Small: uint32(z.W), Side: uint32(side), Top: uint32(n.Top), Each: uint32(n.Each), Lead: uint32(n.Lead),
	}, gpu.Cost{
		FLOPs: 9 * int64(n.N) * int64(pixels) * int64(x.C),
		Bytes: int64(n.N)*(x.FrameBytes()+y.FrameBytes()) + int64(frames)*(z.FrameBytes()+n.Plus.FrameBytes()) + factors.Size,
	}, in, factors, times, plus, out)
}
