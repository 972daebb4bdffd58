package wgsl

import "tessera/gpu"

type pointwiseParams struct {
	First                         gpu.First
	P, W                          uint32
	C_in4, C_out4, C4, Z          uint32
	X0_at, X1_at, X2_at, X_stride uint32
	Weight_at, Weight_stride      uint32
	Y_at, Y_stride                uint32
	Across                        uint32
	Accumulate                    uint32
}

// PointwisePacking returns the packing for products without spatial neighbours:
// Pointwise, PixelShuffle and TimeConv.
func (s *Set) PointwisePacking(shape Shape) *Packing { return s.packing("pointwise", shape) }

// Pointwise describes one dispatch of y = W x + bias for every pixel.
type Pointwise struct {
	Weights
	X, Y   Tensor // input and output
	XT, YT int    // the first frame of each
	N      int    // frames
	Add    bool   // add to Y, which holds the residual
	ReLU   bool   // apply ReLU to the result
}

// Pointwise records a 1x1 convolution.
func (s *Set) Pointwise(b *gpu.Batch, label string, p Pointwise) {
	s.pointwise(b, label, pointwise{
		TimeConv: TimeConv{Weights: p.Weights, Taps: []Tap{{p.X, p.XT}}, Step: 1, Phases: 1, Y: p.Y, T: p.YT, N: p.N}, s: 1, add: p.Add, relu: p.ReLU,
	})
}

// PixelShuffle describes one dispatch of the upscale convolution, with the 3D pixel
// shuffle at its store: a pixel becomes 2x2, a frame Phases frames.
type PixelShuffle struct {
	Weights        // output channels are [time phases, 2, 2, C], C padded to a multiple of 4
	X, Y    Tensor // input and output
	XT, YT  int    // the first frame of each
	N       int    // frames of X; N*Phases of Y
	Phases  int    // time phases made of each frame: 1 at the head of a clip, else all
}

// PixelShuffle records an upscale convolution.
func (s *Set) PixelShuffle(b *gpu.Batch, label string, p PixelShuffle) {
	s.pointwise(b, label, pointwise{
		TimeConv: TimeConv{Weights: p.Weights, Taps: []Tap{{p.X, p.XT}}, Step: 1, Phases: p.Phases, Y: p.Y, T: p.YT, N: p.N}, s: 2,
	})
}

// TimeConv describes one dispatch of a causal convolution over time only: a kernel of
// (KT, 1, 1).
type TimeConv struct {
	Weights
	KT     int    // temporal taps of the weight; 0 is len(Taps)
	Taps   []Tap  // the last 1 to 3 taps; inputs of earlier taps are zero
	Step   int    // frames of X between output frames: the temporal stride
	Phases int    // frames made of each; output channels are [Phases, C], earliest first
	Y      Tensor // output
	T, N   int    // output frames T to T+N*Phases-1
	ReLU   bool   // apply ReLU to the result
	Add    bool   // add to Y, which holds the residual
}

// TimeConv records a (KT, 1, 1) convolution. In its weight the C channels of a
// phase are padded to a multiple of 4.
func (s *Set) TimeConv(b *gpu.Batch, label string, c TimeConv) {
	s.pointwise(b, label, pointwise{TimeConv: c, s: 1, add: c.Add, relu: c.ReLU})
}

// pointwise is a TimeConv whose output channels are [Phases, s, s, C].
type pointwise struct {
	TimeConv
	s      int
	add    bool
	relu   bool
	later  int // later and summed are as in Conv3D
	summed bool
}

func (s *Set) pointwise(b *gpu.Batch, label string, c pointwise) {
	x, pixels := c.Taps[0].X, c.Taps[0].X.H*c.Taps[0].X.W
	split := c.Phases * c.s * c.s
	out4 := split * c.Y.C4()
	class := classOf("pointwise", Shape{O: 4 * out4, I: x.C, KS: 1})
	h := s.shader(label, class, c.Packing).covering(4*out4, len(c.Taps)).withReLU(c.relu)
	if s.tapByTap(h, c.Taps) {
		each := c
		each.KT = max(c.KT, len(c.Taps))
		for k := range c.Taps {
			each.Taps, each.later = c.Taps[k:][:1], len(c.Taps)-1-k
			each.relu = c.relu && k == len(c.Taps)-1
			s.pointwise(b, label, each)
			each.add, each.summed = true, true
		}
		return
	}
	in := readTaps(c.Weights, 4*out4, c.KT, c.Taps, 1, (c.N-1)*c.Step+1)
	in.skip(c.later, c.KT)
	y, yAt := c.Y.Frames(c.T, c.N*c.Phases)
	e := extent{H: 1, W: pixels, C4: out4, N: c.N}
	macs := int64(c.N) * int64(pixels) * int64(split*c.Y.C) * int64(x.C) * int64(len(c.Taps))
	values := constants{"KT": float64(len(c.Taps)), "S": float64(c.s), "SHUFFLE": flag(split > 1)}
	h.setWhole(values, x.C)
	p := s.products(h, e, class, c.Elem, c.add, values)
	b.Dispatch(label, p, h.cover(e), pointwiseParams{
		P: uint32(pixels), W: uint32(x.W), C_in4: uint32(x.C4()), C_out4: uint32(out4), C4: uint32(c.Y.C4()), Z: uint32(c.Phases),
		X0_at: in.at[0], X1_at: in.at[1], X2_at: in.at[2], X_stride: uint32(c.Step * x.Stride()),
		Weight_at: in.weightAt, Weight_stride: in.weightStride,
		Y_at: yAt, Y_stride: uint32(c.Y.Stride()), Across: uint32(h.across(e)),
		Accumulate: uint32(flag(c.add) + flag(c.summed)),
	}, gpu.Cost{FLOPs: 2 * macs, MACs: macs, Bytes: in.bytes + y.Bytes()}, in.views[0], in.views[1], in.views[2], in.weight, c.Bias.All(), y)
}
