package wgsl

import (
	"math"
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

// groupedCase is a convolution in groups of T frames of h x w pixels, which computes
// HxW pixels from row y0 and column x0 on.
type groupedCase struct {
	name           string
	T, H, W        int
	C, group       int
	y0, x0, h, w   int // h 0: H and W
	add, relu, all bool
}

func TestConvGrouped(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []groupedCase{
		{name: "one_pixel", T: 1, H: 1, W: 1, C: 16, group: 8},
		{name: "exact_integers", T: 2, H: 5, W: 9, C: 24, group: 8, add: true, all: true},
		{name: "group_of_16", T: 1, H: 3, W: 17, C: 48, group: 16, relu: true},
		{name: "residual_relu", T: 2, H: 4, W: 7, C: 32, group: 8, add: true, relu: true},
		{name: "one_group", T: 1, H: 3, W: 5, C: 16, group: 16},
		{name: "window", T: 2, H: 4, W: 5, C: 16, group: 8, y0: 2, x0: 3, h: 9, w: 11},
		{name: "window_beyond_x", T: 1, H: 9, W: 11, C: 16, group: 8, y0: -3, x0: -2, h: 3, w: 5},
		{name: "width_512_of_64", T: 1, H: 2, W: 9, C: 512, group: 64, add: true},
		{name: "cut_up", T: 1, H: 40, W: 8, C: 16, group: 8},
	} {
		eachWeights(t, "conv_grouped", c.name, dev, func(t *testing.T, s *Set, weights Elem) { c.run(t, dev, s, weights) })
	}
}

func (c groupedCase) run(t *testing.T, dev *gpu.Device, s *Set, weights Elem) {
	t.Helper()
	h, w := c.H, c.W
	if c.h > 0 {
		h, w = c.h, c.w
	}
	values := convCase{whole: c.all}.values
	data := gputest.Round(values(1, c.T*h*w*c.C, 1), format(s.Elem))
	weight := gputest.Round(values(2, c.C*c.group*9, math.Sqrt(1/float64(9*c.group))), format(weights))
	bias := values(3, c.C, 1)
	want := ref.ConvGrouped(ref.Window(wide(data), c.T, h, w, c.C, c.y0-1, c.x0-1, c.H+2, c.W+2), c.T, c.H+2, c.W+2, c.C, wide(weight), wide(bias), c.group, 3)
	var residual []float32
	if c.add {
		residual = gputest.Round(values(4, len(want), 1), format(s.Elem))
		want = sum(want, residual)
	}
	if c.relu {
		want = rectified(want)
	}
	xs, x := activation("x", s.Elem, c.T, h, w, c.C, data)
	ys, y := activation("y", s.Elem, c.T, c.H, c.W, c.C, residual)
	shape := Shape{O: c.C, I: c.group, KT: 1, KS: 3}
	packing := s.GroupedPacking(shape)
	test := gputest.Case{
		Op: "conv grouped", In: []gputest.Array{xs, weightArray(weight, packing, shape, weights, nil), biasArray(bias)}, Out: ys,
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			s.ConvGrouped(b, t.Name(), ConvGrouped{
				Weights: Weights{Weight: in[1], Bias: in[2], Elem: weights, Packing: packing}, Group: c.group,
				X: x.in(in[0]), XT: 1, Y0: c.y0, X0: c.x0, Y: y.in(out), YT: 1, N: c.T, Add: c.add, ReLU: c.relu,
			})
			if c.name == "cut_up" {
				slow(b)
			}
		},
		Want: want, Bound: bound(s.Elem, boundSum),
	}
	if c.all && s.Elem == F32 {
		test.Bound = 0
	}
	test.Run(t, dev)
}

// 7x7 pixels of each channel, of a frame and the one before it.
func TestConvDepthwise(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []groupedCase{
		{name: "one_pixel", T: 1, H: 1, W: 1, C: 4},
		{name: "exact_integers", T: 2, H: 5, W: 9, C: 8, all: true},
		{name: "several_frames", T: 3, H: 9, W: 6, C: 12},
		{name: "zero_past", T: 1, H: 8, W: 9, C: 8, relu: true},
		{name: "window", T: 2, H: 4, W: 5, C: 4, y0: 2, x0: 3, h: 9, w: 11},
		{name: "window_beyond_x", T: 1, H: 9, W: 11, C: 4, y0: -3, x0: -5, h: 3, w: 5},
		{name: "one_over_a_workgroup", T: 1, H: 2, W: 33, C: 32},
		{name: "cut_up", T: 1, H: 12, W: 40, C: 8},
	} {
		eachKernel(t, "conv_depthwise", c.name, dev, func(t *testing.T, s *Set) { c.runDepthwise(t, dev, s) })
	}
}

func (c groupedCase) runDepthwise(t *testing.T, dev *gpu.Device, s *Set) {
	t.Helper()
	h, w := c.H, c.W
	if c.h > 0 {
		h, w = c.h, c.w
	}
	past := !c.relu // in this test
	values, frame := convCase{whole: c.all}.values, h*w*c.C
	data := gputest.Round(values(1, (c.T+1)*frame, 1), format(s.Elem))
	weight := values(2, 2*c.C*49, math.Sqrt(1.0/49))
	pad := func(from int) []float64 {
		return ref.Window(wide(data[from*frame:][:c.T*frame]), c.T, h, w, c.C, c.y0-3, c.x0-3, c.H+6, c.W+6)
	}
	none := make([]float64, c.C)
	now := ref.ConvGrouped(pad(1), c.T, c.H+6, c.W+6, c.C, wide(weight[:c.C*49]), none, 1, 7)
	before := ref.ConvGrouped(pad(0), c.T, c.H+6, c.W+6, c.C, wide(weight[c.C*49:]), none, 1, 7)
	var want []float64
	for i := 0; i < len(now); i += c.C {
		if !past {
			clear(before[i:][:c.C])
		}
		want = append(append(want, now[i:][:c.C]...), before[i:][:c.C]...)
	}
	turned := make([]float32, len(weight))
	for i, v := range weight {
		turned[i%49*2*c.C+i/49] = v
	}
	xs, x := activation("x", s.Elem, c.T+1, h, w, c.C, data)
	ys, y := activation("y", s.Elem, c.T, c.H, c.W, 2*c.C, nil)
	test := gputest.Case{
		Op: "conv depthwise", In: []gputest.Array{xs, {Label: "weight", Data: turned}}, Out: ys,
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			taps := []Tap{{x.in(in[0]), 1}, {x.in(in[0]), 2}}
			if !past {
				taps = taps[1:]
			}
			s.ConvDepthwise(b, t.Name(), ConvDepthwise{Weight: in[1], Side: 7, Taps: taps, Y0: c.y0, X0: c.x0, Y: y.in(out), T: 1, N: c.T})
			if c.name == "cut_up" {
				slow(b)
			}
		},
		Want: want, Bound: bound(s.Elem, boundSum),
	}
	if c.all && s.Elem == F32 {
		test.Bound = 0
	}
	test.Run(t, dev)
}
