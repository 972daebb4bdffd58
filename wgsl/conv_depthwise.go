package wgsl

import "tessera/gpu"

type convDepthwiseParams struct {
	First          gpu.First
	H_in, W_in     uint32
	W, C4          uint32
	Top, Left      int32
	X0_at, X1_at   uint32
	X_stride       uint32
	Y_at, Y_stride uint32
}

// ConvDepthwise is a depthwise convolution of frames and of the frames before them: it
// filters each channel separately. The outputs for the current frame come first, those
// for the previous frame follow. Output pixel (0, 0) is centred at row Y0 and column X0
// of the input; pixels outside are zero.
type ConvDepthwise struct {
	Weight *gpu.Buffer // f32, [Side*Side, 2*C]
	Side   int         // side of the kernel, odd
	Taps   []Tap       // the previous frame and the frame that the first output frame reads; one tap if zeros precede it
	Y0, X0 int
	Y      Tensor // output, with twice the channels of the input, whose channels are a multiple of 4
	T, N   int    // output frames T to T+N-1
}

// segmentRowGrid covers single rows, with an invocation for a vec4 of several pixels.
func segmentRowGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(int(groups(e.W, h.pixels))*e.C4, h.wg), uint32(e.H), uint32(e.N)}
}

// ConvDepthwise records a depthwise convolution.
func (s *Set) ConvDepthwise(b *gpu.Batch, label string, c ConvDepthwise) {
	now := c.Taps[len(c.Taps)-1]
	x, y := now.X, c.Y
	if n := len(c.Taps); n > 2 || x.C%4 != 0 || y.C != 2*x.C || c.Side%2 == 0 || c.Weight.Size < int64(4*c.Side*c.Side*y.C) {
		panic(badNumbers(label, "single channels in, out, of taps of a side with a weight of bytes", x.C, y.C, n, c.Side, int(c.Weight.Size)))
	}
	in, inAt := x.Frames(now.T, c.N)
	before, beforeAt := c.Taps[0].X.Frames(c.Taps[0].T, c.N)
	out, outAt := y.Frames(c.T, c.N)
	half := c.Side / 2
	read := len(c.Taps) * x.C
	macs := int64(c.N) * int64(y.H) * int64(y.W) * int64(read) * int64(c.Side*c.Side)
	const R = gpu.Read
	h := s.shader(label, "conv_depthwise", nil)
	p := s.program(h, constants{"SIDE": float64(c.Side), "PAST": flag(len(c.Taps) > 1)}, R, R, R, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{y.H, y.W, y.C4(), c.N}), convDepthwiseParams{
		H_in: uint32(x.H), W_in: uint32(x.W), W: uint32(y.W), C4: uint32(x.C4()), Top: int32(c.Y0 - half), Left: int32(c.X0 - half),
		X0_at: inAt, X1_at: beforeAt, X_stride: uint32(x.Stride()), Y_at: outAt, Y_stride: uint32(y.Stride()),
	}, gpu.Cost{FLOPs: 2 * macs, MACs: macs, Bytes: in.Bytes() + c.Weight.Size + out.Bytes()}, in, before, c.Weight.All(), out)
}
