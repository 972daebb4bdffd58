package wgsl

import "tessera/gpu"

// AvgDown3D turns FT frames into one and FS x FS pixels into one: it takes means over
// the channels that then belong to a pixel, ordered by channel (slowest), time, row and
// column phase. Group i of them becomes output channel i. Output pixel (r, s) starts at
// row Y0 + FS*r and column X0 + FS*s of the input.
//
// Frame YT+i of Y reads frames XT+FT*i to XT+FT*i+FT-1 of X. XT may be negative down to
// 1-FT: frames before the first are zero, and count in the mean, or repeat the first
// one. If Y has as many channels as belong to a pixel, this is space to depth.
type AvgDown3D struct {
	FT, FS int
	Y0, X0 int
	X, Y   Tensor // input and output
	XT, YT int    // the first frame of each
	N      int    // frames of Y
	Alone  bool   // frame XT is the last of FT, and those before it are zeros; N is 1
	Add    bool   // add to Y, which holds the residual
	Repeat bool   // frames before the first repeat it, instead of zeros
}

type avgDown3DParams struct {
	First             gpu.First
	H_in, W_in, C_in4 uint32
	H, W, C_out4      uint32
	Y0, X0, Lead      uint32
	X_at, Y_at        uint32
}

// AvgDown3D records y as means of x.
func (s *Set) AvgDown3D(b *gpu.Batch, label string, d AvgDown3D) {
	x, y, n := d.X, d.Y, d.N
	spread := x.C * d.FT * d.FS * d.FS
	if spread%y.C != 0 || d.XT <= -d.FT || d.Y0+d.FS*y.H > x.H || d.X0+d.FS*y.W > x.W {
		panic(badNumbers(label, "average of FT, FS at Y0, X0 of HxWxC from a frame into HxWxC", d.FT, d.FS, d.Y0, d.X0, x.H, x.W, x.C, d.XT, y.H, y.W, y.C))
	}
	lead := max(0, -d.XT)
	if d.Alone {
		if n != 1 || d.XT < 0 {
			panic(badNumbers(label, "frames from a frame on where each is alone", n, d.XT))
		}
		lead = d.FT - 1
		d.XT -= lead
	}
	frames := n*d.FT - lead
	in, inAt := x.Frames(d.XT+lead, frames)
	out, outAt := y.Frames(d.YT, n)
	elements := int64(n) * int64(y.H*y.W) * int64(y.C)
	read := int64(frames) * int64(d.FS*d.FS*y.H*y.W) * int64(x.C)
	cost := gpu.Cost{
		FLOPs: read + elements,
		Bytes: read/int64(x.C)*int64(x.C4()*4*x.Elem.Bytes()) + int64(n)*y.FrameBytes(),
	}
	if d.Add {
		cost.FLOPs += elements
		cost.Bytes += int64(n) * y.FrameBytes()
	}
	h := s.shader(label, "avg_down_3d", nil)
	p := s.program(h, constants{
		"FT": float64(d.FT), "FS": float64(d.FS), "G": float64(spread / y.C), "ACCUMULATE": flag(d.Add), "REPEAT": flag(d.Repeat),
	}, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{y.H, y.W, y.C4(), n}), avgDown3DParams{
		H_in: uint32(x.rows()), W_in: uint32(x.W), C_in4: uint32(x.C4()), H: uint32(y.rows()), W: uint32(y.W), C_out4: uint32(y.C4()),
		Y0: uint32(d.Y0), X0: uint32(d.X0), Lead: uint32(lead), X_at: inAt, Y_at: outAt,
	}, cost, in, out)
}
