package wgsl

import "tessera/gpu"

type pointwiseParams struct {
	First                gpu.First
	P, W                 uint32
	C_in4, C_out4, C4, Z uint32
	X_at, X_stride       uint32
	Y_at, Y_stride       uint32
	Across               uint32
}

// Pointwise records y = W x + bias for frames t to t+n-1; with add, y += that.
func (s *Set) Pointwise(b *gpu.Batch, label string, w Weights, x, y Tensor, t, n int, add bool) {
	in, inAt := x.Frames(t, n)
	out, outAt := y.Frames(t, n)
	params := pointwiseParams{
		P: uint32(x.H * x.W), W: uint32(x.W), C_in4: uint32(x.C4()), C_out4: uint32(y.C4()), C4: uint32(y.C4()), Z: 1,
		X_at: inAt, X_stride: uint32(x.Stride()), Y_at: outAt, Y_stride: uint32(y.Stride()),
	}
	s.pointwise(b, label, w, params, n, x.C, y.C, constants{"ACCUMULATE": flag(add)}, in, out)
}

// PointwiseShuffle records the upscale convolution of frames t to t+n-1 of x
// with the 3D pixel shuffle in its store: phases of the z time phases are made
// (1 at the head of a clip, else z), and go to frames from yT on.
func (s *Set) PointwiseShuffle(b *gpu.Batch, label string, w Weights, x Tensor, t, n int, y Tensor, yT, phases int) {
	in, inAt := x.Frames(t, n)
	out, outAt := y.Frames(yT, n*phases)
	s.pointwise(b, label, w, pointwiseParams{
		P: uint32(x.H * x.W), W: uint32(x.W), C_in4: uint32(x.C4()), C_out4: uint32(4 * phases * y.C4()), C4: uint32(y.C4()), Z: uint32(phases),
		X_at: inAt, X_stride: uint32(x.Stride()), Y_at: outAt, Y_stride: uint32(y.Stride()),
	}, n, x.C, 4*phases*y.C, constants{"SHUFFLE": 1}, in, out)
}

func (s *Set) pointwise(b *gpu.Batch, label string, w Weights, params pointwiseParams, n, cIn, cOut int, c constants, in, out gpu.View) {
	const R = gpu.Read
	c["WG"] = convWG
	groups, across := grid((int(params.P)+7)/8, int(params.C_out4+1)/2, n)
	params.Across = across
	p := s.weighted("pointwise", w.Elem, c, R, R, R, gpu.ReadWrite)
	b.Dispatch(label, p, groups, params, gpu.Cost{
		FLOPs: 2 * int64(n) * int64(params.P) * int64(cIn) * int64(cOut),
		Bytes: in.Bytes() + out.Bytes() + w.Weight.Size,
	}, in, w.Weight.All(), w.Bias.All(), out)
}
