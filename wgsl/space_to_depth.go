package wgsl

import "tessera/gpu"

// SpaceToDepth turns FT frames into one and FS x FS pixels into one. The numbers of
// such a block, channel fastest, become the output's channels, each the mean of G
// consecutive numbers. If Y has more channels, the sequence repeats. Output pixel (r,
// s) starts at row Y0 + FS*r and column X0 + FS*s of the input.
type SpaceToDepth struct {
	FT, FS, G int
	Y0, X0    int
	X, Y      Tensor // input and output
	XT, YT    int    // the first frame of each
	N         int    // frames of Y
	Add       bool   // add to Y, which holds the residual
}

type spaceToDepthParams struct {
	First            gpu.First
	H_in, W_in, C_in uint32
	H, W, C_out      uint32
	Y0, X0           uint32
	X_at, Y_at       uint32
}

// SpaceToDepth records y as blocks of x.
func (s *Set) SpaceToDepth(b *gpu.Batch, label string, d SpaceToDepth) {
	x, y, n := d.X, d.Y, d.N
	if d.G < 1 || d.Y0+d.FS*y.H > x.H || d.X0+d.FS*y.W > x.W {
		panic(badNumbers(label, "blocks of FT, FS, means of G at Y0, X0 of HxWxC into HxWxC", d.FT, d.FS, d.G, d.Y0, d.X0, x.H, x.W, x.C, y.H, y.W, y.C))
	}
	in, inAt := x.Frames(d.XT, n*d.FT)
	out, outAt := y.Frames(d.YT, n)
	h := s.shader(label, "space_to_depth", nil)
	p := s.program(h, constants{
		"FT": float64(d.FT), "FS": float64(d.FS), "G": float64(d.G), "KEYS4": flag(d.G == 1 && x.C%4 == 0 && y.C%4 == 0), "ACCUMULATE": flag(d.Add),
	}, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{y.H, y.W, y.C4(), n}), spaceToDepthParams{
		H_in: uint32(x.rows()), W_in: uint32(x.W), C_in: uint32(x.C), H: uint32(y.rows()), W: uint32(y.W), C_out: uint32(y.C),
		Y0: uint32(d.Y0), X0: uint32(d.X0), X_at: inAt, Y_at: outAt,
	}, blocksCost(int64(n)*int64(y.H*y.W), y.C*d.G, &y, d.G, d.Add), in, out)
}

// blocksCost returns the cost of this many pixels of y, each of which reads `read`
// numbers and sums g of them for a channel.
func blocksCost(pixels int64, read int, y *Tensor, g int, add bool) gpu.Cost {
	c := gpu.Cost{Bytes: pixels * (int64(read)*int64(y.Elem.Bytes()) + y.pixelBytes())}
	if g > 1 {
		c.FLOPs = pixels * int64(y.C) * int64(g)
	}
	if add {
		c.FLOPs += pixels * int64(y.C)
		c.Bytes += pixels * y.pixelBytes()
	}
	return c
}
