package wgsl

import (
	"math"
	"slices"
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestPointwise(t *testing.T) {
	dev := gputest.Open(t)
	cases := []convVariant{
		{convCase: convCase{name: "one_pixel", T: 1, H: 1, W: 1, C: 4, O: 8}},
		{convCase: convCase{name: "exact_integers", T: 2, H: 5, W: 7, C: 8, O: 16, add: true, whole: true}},
		{convCase: convCase{name: "8_pixels_and_1", T: 3, H: 3, W: 3, C: 12, O: 20}},
		{convCase: convCase{name: "channels_not_a_multiple_of_4", T: 2, H: 5, W: 5, C: 6, O: 10, add: true}},
		{convCase: convCase{name: "group_and_one_pixel", T: 1, H: 1, W: 513, C: 4, O: 4}},
		{convCase: convCase{name: "workgroup_of_blocks_and_one", T: 1, H: 1, W: 1, C: 4, O: 8*64 + 8, whole: true}},
		{convCase: convCase{name: "40_inputs", T: 2, H: 5, W: 19, C: 40, O: 136, add: true}},
		{convCase: convCase{name: "width_512", T: 1, H: 4, W: 6, C: 512, O: 256, add: true}},
		{convCase: convCase{name: "relu", T: 2, H: 5, W: 9, C: 12, O: 20}, relu: true},
		{convCase: convCase{name: "relu_of_a_residual", T: 1, H: 3, W: 7, C: 64, O: 64, add: true}, relu: true},
	}
	for _, c := range cases {
		eachKernel(t, "pointwise", c.name, dev, func(t *testing.T, s *Set) { checkPointwise(t, dev, s, c, Packed) })
		eachKernel(t, "pointwise", c.name+"/f32_weights", dev, func(t *testing.T, s *Set) { checkPointwise(t, dev, s, c, F32) })
	}
}

func checkPointwise(t *testing.T, dev *gpu.Device, s *Set, c convVariant, weights Elem) {
	t.Helper()
	x := gputest.Round(c.values(1, c.T*c.H*c.W*c.C, 1), format(s.Elem))
	weight := gputest.Round(c.values(2, c.O*c.C, math.Sqrt(1/float64(c.C))), format(weights))
	bias := c.values(3, c.O, 1)
	var residual []float32
	if c.add {
		residual = gputest.Round(c.values(4, c.T*c.H*c.W*c.O, 1), format(s.Elem))
	}
	want := ref.Conv3D(wide(x), c.T, c.H, c.W, c.C, wide(weight), wide(bias), c.O, 1, 1, 1, 1)
	for i := range residual {
		want[i] += float64(residual[i])
	}
	if c.relu {
		want = rectified(want)
	}
	xs, xt := activation("x", s.Elem, c.T, c.H, c.W, c.C, x)
	ys, y := activation("y", s.Elem, c.T, c.H, c.W, c.O, residual)
	shape := Shape{O: c.O, I: c.C, KT: 1, KS: 1}
	packing := s.PointwisePacking(shape)
	test := gputest.Case{
		Op: "pointwise", In: []gputest.Array{xs, weightArray(weight, packing, shape, weights, nil), biasArray(bias)}, Out: ys,
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			s.Pointwise(b, "pointwise", Pointwise{
				Weights: Weights{Weight: in[1], Bias: in[2], Elem: weights, Packing: packing}, X: xt.in(in[0]), XT: 1, Y: y.in(out), YT: 1, N: c.T, Add: c.add, ReLU: c.relu,
			})
		},
		Want: padded(want, c.O), Bound: bound(s.Elem, boundSum),
	}
	if c.whole && s.Elem == F32 {
		test.Bound = 0
	}
	test.Run(t, dev)
}

func TestPixelShuffle(t *testing.T) {
	dev := gputest.Open(t)
	cases := []struct {
		name          string
		T, H, W, C, z int
		head          bool
	}{
		{"space_only", 2, 3, 5, 8, 1, false},
		{"head_of_a_clip", 3, 3, 5, 8, 2, true},
		{"one_frame_at_the_head", 1, 2, 2, 12, 2, true},
		{"inside_a_clip", 2, 4, 3, 24, 2, false},
		{"half_a_block_of_channels", 2, 3, 3, 12, 2, true},
		{"channels_not_a_multiple_of_4", 2, 3, 3, 6, 2, true},
		{"width_96", 1, 4, 6, 96, 2, false},
	}
	for _, c := range cases {
		eachKernel(t, "pointwise", c.name, dev, func(t *testing.T, s *Set) {
			x := gputest.Round(random(1, c.T*c.H*c.W*c.C, 0, 1), format(s.Elem))
			weight, bias := random(2, 4*c.z*c.C*c.C, 0, math.Sqrt(1/float64(c.C))), random(3, 4*c.z*c.C, 0, 1)
			u := ref.Conv3D(wide(x), c.T, c.H, c.W, c.C, wide(weight), wide(bias), 4*c.z*c.C, 1, 1, 1, 1)
			want := ref.PixelShuffle3D(u, c.T, c.H, c.W, c.C, c.z, c.head)
			head := 0
			if c.head {
				head = 1
			}
			pad := Pad4(c.C)
			order := func(o int) int {
				phase, ch := o/pad, o%pad
				if ch >= c.C {
					return -1
				}
				return (phase%4*c.z+phase/4)*c.C + ch
			}
			shuffled := make([]float32, 4*c.z*pad)
			for o := range shuffled {
				if from := order(o); from >= 0 {
					shuffled[o] = bias[from]
				}
			}
			xs, xt := activation("x", s.Elem, c.T, c.H, c.W, c.C, x)
			ys, y := activation("y", s.Elem, c.z*c.T-head, 2*c.H, 2*c.W, c.C, nil)
			shape := Shape{O: 4 * c.z * pad, I: c.C, KT: 1, KS: 1}
			packing := s.PointwisePacking(shape)
			test := gputest.Case{
				Op: "pixel shuffle", Out: ys,
				In: []gputest.Array{xs, weightArray(weight, packing, shape, F32, order), biasArray(shuffled)},
				Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
					p := PixelShuffle{Weights: Weights{Weight: in[1], Bias: in[2], Elem: F32, Packing: packing}, X: xt.in(in[0]), XT: 1, N: 1, Y: y.in(out), YT: 1, Phases: 1}
					if c.head {
						s.PixelShuffle(b, "head", p)
					}
					if c.T > head {
						p.XT, p.N, p.YT, p.Phases = 1+head, c.T-head, 1+head, c.z
						s.PixelShuffle(b, "rest", p)
					}
				},
				Want: padded(want, c.C), Bound: bound(s.Elem, boundSum),
			}
			test.Run(t, dev)
		})
	}
}

// timeCase is a (3, 1, 1) convolution to T frames, or T pairs of them.
type timeCase struct {
	name          string
	T, H, W, C, O int
	step, phases  int
	zeros         bool // the past is zero, as in convVariant
	whole, relu   bool
	add           bool // adds to the output
}

func TestTimeConv(t *testing.T) {
	dev := gputest.Open(t)
	cases := []timeCase{
		{name: "one_pixel", T: 1, H: 1, W: 1, C: 4, O: 8, step: 1, phases: 1},
		{name: "exact_integers", T: 4, H: 3, W: 5, C: 8, O: 8, step: 1, phases: 2, zeros: true, whole: true},
		{name: "up_zero_past", T: 4, H: 5, W: 7, C: 12, O: 12, step: 1, phases: 2, zeros: true},
		{name: "up_one_frame", T: 1, H: 5, W: 7, C: 12, O: 20, step: 1, phases: 2, zeros: true},
		{name: "up_with_memory", T: 3, H: 3, W: 3, C: 20, O: 12, step: 1, phases: 2},
		{name: "up_channels_not_a_multiple_of_4", T: 3, H: 3, W: 3, C: 6, O: 5, step: 1, phases: 2, zeros: true},
		{name: "down", T: 3, H: 5, W: 5, C: 12, O: 20, step: 2, phases: 1},
		{name: "down_exact_integers", T: 2, H: 3, W: 3, C: 8, O: 8, step: 2, phases: 1, whole: true},
		{name: "down_zero_past", T: 3, H: 3, W: 4, C: 7, O: 6, step: 2, phases: 1, zeros: true},
		{name: "group_and_one_pixel", T: 2, H: 1, W: 513, C: 4, O: 4, step: 1, phases: 2},
		{name: "relu", T: 2, H: 5, W: 7, C: 8, O: 12, step: 1, phases: 1, zeros: true, relu: true},
		{name: "width_192", T: 2, H: 3, W: 4, C: 192, O: 192, step: 1, phases: 2, zeros: true},
		{name: "added", T: 3, H: 3, W: 5, C: 12, O: 20, step: 1, phases: 1, add: true},
		{name: "added_exact_integers", T: 2, H: 3, W: 3, C: 8, O: 8, step: 1, phases: 1, whole: true, add: true},
	}
	for _, c := range cases {
		eachWeights(t, "pointwise", c.name, dev, func(t *testing.T, s *Set, weights Elem) {
			test := c.test(s, weights)
			test.Run(t, dev)
		})
	}
}

func (c timeCase) test(s *Set, weights Elem) gputest.Case {
	values, past := convCase{whole: c.whole}.values, 0
	if c.zeros {
		past = 2
	}
	frame, out := c.H*c.W*c.C, c.phases*c.O
	frames := 3 + (c.T-1)*c.step
	x := gputest.Round(values(1, (frames-past)*frame, 1), format(s.Elem))
	weight := gputest.Round(values(2, out*c.C*3, math.Sqrt(1/float64(3*c.C))), format(weights))
	bias := values(3, out, 1)
	behind := slices.Concat(make([]float64, past*frame), wide(x))
	want := ref.Conv3D(behind, frames, c.H, c.W, c.C, wide(weight), wide(bias), out, 3, 1, c.step, 1)
	if c.phases == 2 {
		want = ref.Interleave(want, c.T, c.H*c.W, c.O)
	}
	if c.relu {
		want = rectified(want)
	}
	var residual []float32
	if c.add {
		residual = gputest.Round(values(4, len(want), 1), format(s.Elem))
		want = sum(want, residual)
	}
	pad := Pad4(c.O)
	order := func(o int) int {
		if o%pad >= c.O {
			return -1
		}
		return o/pad*c.O + o%pad
	}
	ms, m := activation("memory", s.Elem, 1, c.H, c.W, c.C, x[:frame])
	xs, xt := activation("x", s.Elem, frames-past, c.H, c.W, c.C, x)
	ys, y := activation("y", s.Elem, c.phases*c.T, c.H, c.W, c.O, residual)
	shape := Shape{O: c.phases * pad, I: c.C, KT: 3, KS: 1}
	packing := s.PointwisePacking(shape)
	test := gputest.Case{
		Op: "time conv", In: []gputest.Array{ms, xs, weightArray(weight, packing, shape, weights, order), biasArray(padded(bias, c.O))}, Out: ys,
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			conv := TimeConv{Weights: Weights{Weight: in[2], Bias: in[3], Elem: weights, Packing: packing}, KT: 3, Step: c.step, Phases: c.phases, Y: y.in(out), ReLU: c.relu, Add: c.add}
			causal(m.in(in[0]), xt.in(in[1]), c.T, 3, c.step, past, func(taps []Tap, f, n int) {
				conv.Taps, conv.T, conv.N = taps, 1+f*c.phases, n
				s.TimeConv(b, "time conv", conv)
			})
		},
		Want: padded(want, c.O), Bound: bound(s.Elem, boundSum),
	}
	if c.whole && s.Elem == F32 {
		test.Bound = 0
	}
	return test
}
