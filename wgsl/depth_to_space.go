package wgsl

import "tessera/gpu"

// DepthToSpace turns one frame into FT and one pixel into FS x FS. Each phase has
// Stride adjacent channels, each repeated Rep times; Y takes the first ones of them.
// Output pixel (r, s) is pixel (Y0 + r, X0 + s) of the enlarged frame.
type DepthToSpace struct {
	FT, FS      int
	Stride, Rep int
	Y0, X0      int
	X, Y        Tensor // input and output
	XT, YT      int    // the first frame of each
	N           int    // frames of X; N*FT of Y
	Add         bool   // add to Y, which holds the residual
}

type depthToSpaceParams struct {
	First             gpu.First
	H_in, W_in, C_in4 uint32
	H, W, C_out       uint32
	Y0, X0            uint32
	X_at, Y_at        uint32
}

// DepthToSpace records y = enlarged x.
func (s *Set) DepthToSpace(b *gpu.Batch, label string, d DepthToSpace) {
	x, y, n := d.X, d.Y, d.N
	last := ((d.FT*d.FS*d.FS-1)*d.Stride + y.C - 1) / max(1, d.Rep)
	if d.Rep < 1 || last >= x.C || d.Y0+y.H > d.FS*x.H || d.X0+y.W > d.FS*x.W {
		panic(badNumbers(label, "phases FT, FS of channels, repeated, at Y0, X0 of HxWxC into HxWxC", d.FT, d.FS, d.Stride, d.Rep, d.Y0, d.X0, x.H, x.W, x.C, y.H, y.W, y.C))
	}
	in, inAt := x.Frames(d.XT, n)
	out, outAt := y.Frames(d.YT, n*d.FT)
	h := s.shader(label, "depth_to_space", nil)
	p := s.program(h, constants{
		"FT": float64(d.FT), "FS": float64(d.FS), "STRIDE": float64(d.Stride), "REP": float64(d.Rep),
		"KEYS4": flag(d.Rep == 1 && d.Stride%4 == 0 && y.C%4 == 0), "ACCUMULATE": flag(d.Add),
	}, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{y.H, y.W, y.C4(), n * d.FT}), depthToSpaceParams{
		H_in: uint32(x.rows()), W_in: uint32(x.W), C_in4: uint32(x.C4()), H: uint32(y.rows()), W: uint32(y.W), C_out: uint32(y.C),
		Y0: uint32(d.Y0), X0: uint32(d.X0), X_at: inAt, Y_at: outAt,
	}, blocksCost(int64(n*d.FT)*int64(y.H*y.W), y.C/d.Rep, &y, 1, d.Add), in, out)
}
