package wgsl

import "tessera/gpu"

type convUpWinogradParams struct {
	First                                gpu.First
	H_in, W_in, H, W                     uint32
	C_in4, C_out4, Blocks                uint32
	Top, Left                            int32
	X0_at, X1_at, X2_at, X3_at, X_stride uint32
	Weight_stride                        uint32
	Y_at, Y_stride                       uint32
	Segments, Across                     uint32
}

// ConvUpWinograd describes one dispatch of an enlarging convolution with three temporal
// taps and one phase. It computes two frames at once, as Conv3DWinograd does.
//
// Y0, X0 and Y are as in ConvUp.
type ConvUpWinograd struct {
	Weights        // of a ConvUpShape; the bias has ConvUpBias elements
	Taps    []Tap  // as Conv3DWinograd's for F(2,3)
	Y0, X0  int    // of the enlarged frame, for output pixel (0, 0)
	Y       Tensor // output
	T, N    int    // output frames T to T+N-1; N is even
	ReLU    bool   // apply ReLU to the result
}

// ConvUpWinograd records an enlarging convolution that computes two frames at once.
func (s *Set) ConvUpWinograd(b *gpu.Batch, label string, c ConvUpWinograd) {
	if c.N < 2 || c.N%2 != 0 {
		panic("wgsl: " + label + ": frames not in multiples of two")
	}
	one := ConvUp{Weights: c.Weights, Phases: 1, Y0: c.Y0, X0: c.X0, Y: c.Y, N: 1, ReLU: c.ReLU}
	if c.Packing != winograd4x8 {
		for f := range c.N {
			one.T, one.Taps = c.T+f, winogradTaps(c.Taps, f)
			s.ConvUp(b, label, one)
		}
		return
	}
	x := c.Taps[0].X
	class := classOf("conv_up_winograd", ConvUpShape(c.Y.C, x.C, 4, 1))
	h := s.shader(label, class, c.Packing).covering(c.Y.C, 1).withReLU(c.ReLU)
	shape := ConvUpShape(c.Y.C, x.C, 4, 1)
	macs := int64(c.N/2) * int64(one.rows(x.H)) * int64(c.Y.W) * int64(c.Y.C) * int64(x.C) * 2 * 4
	in := readWinograd(c.Weights, shape, c.Taps, c.N)
	y, yAt := c.Y.Frames(c.T, c.N)
	blocks := pad8(c.Y.C) / h.block
	e := extent{H: (c.Y.H + 1) / 2, W: (c.Y.W + 1) / 2, C4: h.parities(blocks), N: c.N / 2}
	b.Dispatch(label, s.winogradProgram(h, e, class, c.Elem, constants{}), h.cover(e), convUpWinogradParams{
		H_in: uint32(x.H), W_in: uint32(x.W), H: uint32(c.Y.H), W: uint32(c.Y.W),
		C_in4: uint32(x.C4()), C_out4: uint32(c.Y.C4()), Blocks: uint32(blocks), Top: int32(c.Y0), Left: int32(c.X0),
		X0_at: in.at[0], X1_at: in.at[1], X2_at: in.at[2], X3_at: in.at[3], X_stride: uint32(2 * x.Stride()),
		Weight_stride: in.weightStride, Y_at: yAt, Y_stride: uint32(c.Y.Stride()), Segments: uint32(h.segments(e)), Across: uint32(h.across(e)),
	}, gpu.Cost{FLOPs: 2 * macs, MACs: macs, Bytes: in.bytes + y.Bytes()}, in.views[0], in.views[1], in.views[2], in.views[3], in.weight, c.Bias.All(), y)
}
