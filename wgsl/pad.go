package wgsl

import "tessera/gpu"

// Pad puts Margin pixels around frames of X: the nearest ones again, or where Mirror is
// set those that are as far inside from the edge as they are outside.
type Pad struct {
	Margin int
	Mirror bool
	X, Y   Tensor // input and output; or rows of both
	XT, YT int    // the first frame of each
	N      int    // frames

	Height  int // rows of a frame of X, of which it has those from Top on
	Top, Y0 int // the first row of X, and of Y
}

type padParams struct {
	First          gpu.First
	H_in, W_in, C4 uint32
	Y0, Top        uint32
	X_rows, Y_rows uint32
	X_at, Y_at     uint32
}

// Pad records y as x with a margin.
func (s *Set) Pad(b *gpu.Batch, label string, p Pad) {
	x, y, n := p.X, p.Y, p.N
	if x.C != y.C || y.W != x.W+2*p.Margin || p.Y0+y.H > p.Height+2*p.Margin || p.Top+x.H > p.Height {
		panic(wrong(label, "margin of frames of rows, from HxWxC at a row into HxWxC at a row", p.Margin, p.Height, x.H, x.W, x.C, p.Top, y.H, y.W, y.C, p.Y0))
	}
	in, inAt := x.Frames(p.XT, n)
	out, outAt := y.Frames(p.YT, n)
	h := s.shader(label, "pad", nil)
	c := constants{"MARGIN": float64(p.Margin), "MIRROR": flag(p.Mirror)}
	b.Dispatch(label, s.program(h, c, gpu.Read, gpu.ReadWrite), h.cover(extent{y.H, y.W, y.C4(), n}), padParams{
		H_in: uint32(p.Height), W_in: uint32(x.W), C4: uint32(x.C4()), Y0: uint32(p.Y0), Top: uint32(p.Top),
		X_rows: uint32(x.rows()), Y_rows: uint32(y.rows()), X_at: inAt, Y_at: outAt,
	}, gpu.Cost{Bytes: int64(n) * (x.FrameBytes() + y.FrameBytes())}, in, out)
}
