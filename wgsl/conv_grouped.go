package wgsl

import "tessera/gpu"

type convGroupedParams struct {
	First            gpu.First
	H_in, W_in, H, W uint32
	C_in4, C_out4    uint32
	Group4           uint32
	Top, Left        int32
	X_at, X_stride   uint32
	Weight_stride    uint32
	Y_at, Y_stride   uint32
	Segments, Across uint32
}

// ConvGrouped is a 3x3 convolution of stride 1 in groups: each output reads only the
// Group inputs of its group, a multiple of 8. Output pixel (0, 0) is centred at row Y0
// and column X0 of the input; pixels outside are zero.
type ConvGrouped struct {
	Weights        // packed by GroupedPacking for [C, Group, 1, 3, 3]
	Group   int    // inputs and outputs of a group
	X       Tensor // input
	XT      int    // its first frame
	Y0, X0  int
	Y       Tensor // output, with the channels of X
	YT, N   int    // output frames YT to YT+N-1
	Add     bool   // add to Y, which holds the residual
	ReLU    bool   // apply ReLU to the result
}

// GroupedPacking returns the packing for ConvGrouped.
func (s *Set) GroupedPacking(shape Shape) *Packing { return s.packing("conv_grouped", shape) }

// ConvGrouped records a convolution in groups.
func (s *Set) ConvGrouped(b *gpu.Batch, label string, c ConvGrouped) {
	x, y := c.X, c.Y
	if c.Group < 1 || c.Group%8 != 0 || x.C != y.C || x.C%c.Group != 0 {
		panic(badNumbers(label, "groups of inputs, of channels in and out", c.Group, x.C, y.C))
	}
	h := s.shader(label, "conv_grouped", c.Packing).withReLU(c.ReLU)
	in, inAt := x.Frames(c.XT, c.N)
	out, outAt := y.Frames(c.YT, c.N)
	e := extent{H: y.H, W: y.W, C4: y.C4(), N: c.N}
	shape := Shape{O: x.C, I: c.Group, KT: 1, KS: 3}
	weight := gpu.View{Buffer: c.Weight, Size: int64(c.Packing.Size(shape) * c.Elem.Bytes())}
	rows := Conv3D{Y: y, Stride: 1}
	macs := int64(c.N) * int64(rows.rows(c.Y0-1, x.H)) * int64(y.W) * int64(y.C) * int64(c.Group) * 3
	const R = gpu.Read
	p := s.weighted(h, c.Elem, constants{"ACCUMULATE": flag(c.Add), "DEEP": flag(h.across(e) < h.wg), "ROLLED": flag(s.info.Type == "cpu")}, R, R, R, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(e), convGroupedParams{
		H_in: uint32(x.H), W_in: uint32(x.W), H: uint32(y.H), W: uint32(y.W), C_in4: uint32(x.C4()), C_out4: uint32(y.C4()), Group4: uint32(c.Group / 4),
		Top: int32(c.Y0 - 1), Left: int32(c.X0 - 1), X_at: inAt, X_stride: uint32(x.Stride()), Weight_stride: uint32(c.Packing.tap(c.Group, 3) / 4),
		Y_at: outAt, Y_stride: uint32(y.Stride()), Segments: uint32(h.segments(e)), Across: uint32(h.across(e)),
	}, gpu.Cost{FLOPs: 2 * macs, MACs: macs, Bytes: in.Bytes() + weight.Bytes() + out.Bytes()}, in, weight, c.Bias.All(), out)
}
