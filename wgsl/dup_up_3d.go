package wgsl

import "tessera/gpu"

// DupUp3D turns one frame into FT and one pixel into FS x FS by repeating channels.
// Each channel is repeated until they fill the output's channels with all their time,
// row and column phases, channel slowest. Output pixel (r, s) is pixel (Y0 + r, X0 + s)
// of the enlarged frame; it is added to Y, or written.
//
// If X has as many channels as Y's with all their phases, this is depth to space.
type DupUp3D struct {
	FT, FS int
	Y0, X0 int
	X, Y   Tensor // input and output
	XT, YT int    // the first frame of each
	N      int    // frames of X; N*Phases of Y
	Phases int    // number of last phases of the FT time phases: 1 at the head of a clip, else FT
	Turns  bool   // repeat the channels of depth to space as a sequence, not one by one
	Write  bool   // write instead of add
}

type dupUp3DParams struct {
	First             gpu.First
	H_in, W_in, C_in4 uint32
	H, W, C_out       uint32
	Y0, X0, Phases    uint32
	X_at, Y_at        uint32
}

// DupUp3D records y += enlarged x.
func (s *Set) DupUp3D(b *gpu.Batch, label string, d DupUp3D) {
	x, n, y, phases := d.X, d.N, d.Y, d.Phases
	cells := d.FT * d.FS * d.FS
	spread := y.C * cells
	repeat, cycle := spread/x.C, y.C
	if d.Turns {
		repeat, cycle = 1, max(1, x.C/cells)
	}
	if spread%x.C != 0 || d.Turns && x.C%cells != 0 || phases < 1 || phases > d.FT || d.Y0+y.H > d.FS*x.H || d.X0+y.W > d.FS*x.W {
		panic(badNumbers(label, "phases of duplicates FT, FS at Y0, X0 of HxWxC into HxWxC", phases, d.FT, d.FS, d.Y0, d.X0, x.H, x.W, x.C, y.H, y.W, y.C))
	}
	in, inAt := x.Frames(d.XT, n)
	out, outAt := y.Frames(d.YT, n*phases)
	h := s.shader(label, "dup_up_3d", nil)
	p := s.program(h, constants{
		"FT": float64(d.FT), "FS": float64(d.FS), "REP": float64(repeat), "CYCLE": float64(cycle), "ACCUMULATE": flag(!d.Write),
	}, gpu.Read, gpu.ReadWrite)
	written := int64(n*phases) * y.FrameBytes()
	if !d.Write {
		written *= 2
	}
	b.Dispatch(label, p, h.cover(extent{y.H, y.W, y.C4(), n * phases}), dupUp3DParams{
		H_in: uint32(x.rows()), W_in: uint32(x.W), C_in4: uint32(x.C4()), H: uint32(y.rows()), W: uint32(y.W), C_out: uint32(y.C),
		Y0: uint32(d.Y0), X0: uint32(d.X0), Phases: uint32(phases), X_at: inAt, Y_at: outAt,
	}, gpu.Cost{
		FLOPs: int64(n*phases) * int64(y.H*y.W) * int64(y.C),
		Bytes: int64(n)*int64(y.H*y.W/(d.FS*d.FS))*int64(x.C4()*4*x.Elem.Bytes()) + written,
	}, in, out)
}
