package wgsl

import (
	"math"
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

// convCase is a convolution of T frames behind two of memory (or none).
type convCase struct {
	name          string
	T, H, W, C, O int // of the output, but for stride
	kt, step      int
	stride        int
	add, whole    bool // residual; integer values, whose result is exact
}

var convCases = []convCase{
	{"one_pixel", 1, 1, 1, 4, 8, 3, 1, 1, false, false},
	{"one_row", 2, 1, 19, 4, 8, 3, 1, 1, false, false},
	{"one_column", 2, 19, 1, 4, 8, 3, 1, 1, false, false},
	{"exact_integers", 3, 5, 9, 8, 16, 3, 1, 1, true, true},
	{"row_of_8_and_1", 2, 3, 9, 8, 8, 3, 1, 1, false, false},
	{"row_of_8_less_1", 2, 3, 7, 8, 8, 3, 1, 1, true, false},
	{"rgb_in", 3, 7, 11, 3, 24, 3, 1, 1, false, false},
	{"rgb_out", 3, 7, 11, 24, 3, 3, 1, 1, false, false},
	{"primes", 2, 13, 17, 5, 7, 3, 1, 1, true, false},
	{"half_a_block_of_outputs", 1, 6, 6, 12, 12, 3, 1, 1, true, false},
	{"group_and_one_segment", 1, 65, 8, 4, 8, 3, 1, 1, false, false},
	{"no_temporal_taps", 3, 6, 10, 8, 8, 1, 1, 1, false, false},
	{"width_128", 1, 6, 10, 128, 128, 3, 1, 1, true, false},
	{"width_512", 1, 2, 3, 512, 32, 3, 1, 1, false, false},
	{"down_one_pixel", 1, 1, 1, 4, 8, 1, 1, 2, false, false},
	{"down_exact_integers", 2, 4, 5, 8, 8, 3, 2, 2, false, true},
	{"down_space_only", 3, 6, 10, 24, 24, 1, 1, 2, false, false},
	{"down_time", 2, 5, 7, 12, 20, 3, 2, 2, false, false},
	{"down_row_of_4_and_1", 2, 3, 5, 8, 8, 3, 2, 2, false, false},
	{"down_width_256", 1, 4, 6, 256, 64, 3, 2, 2, false, false},
}

func TestConv3D(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range convCases {
		eachElem(t, c.name, dev, func(t *testing.T, s *Set) { checkConv(t, dev, s, c, F32) })
		eachElem(t, c.name+"/half_weights", dev, func(t *testing.T, s *Set) { checkConv(t, dev, s, c, Packed) })
	}
}

// values are random, or small integers whose sums are exact in f32.
func (c convCase) values(seed uint64, n int, deviation float64) []float32 {
	if c.whole {
		return integers(seed, n, -3, 3)
	}
	return random(seed, n, 0, deviation)
}

func checkConv(t *testing.T, dev *gpu.Device, s *Set, c convCase, weights Elem) {
	t.Helper()
	ks, in := 3, c.kt+(c.T-1)*c.step // frames read
	h, w := c.H*c.stride, c.W*c.stride
	fan := math.Sqrt(1 / float64(c.C*9*c.kt))
	x := gputest.Round(c.values(1, in*h*w*c.C, 1), format(s.Elem))
	weight := gputest.Round(c.values(2, c.O*c.C*c.kt*9, fan), format(weights))
	bias := c.values(3, c.O, 1)
	var residual []float32
	if c.add {
		residual = gputest.Round(c.values(4, c.T*c.H*c.W*c.O, 1), format(s.Elem))
	}
	before := 1
	if c.stride == 2 {
		before = 0
	}
	want := ref.Conv3D(wide(x), in, h, w, c.C, wide(weight), wide(bias), c.O, c.kt, ks, c.step, c.stride, before)
	for i := range residual {
		want[i] += float64(residual[i])
	}

	// The first frame comes from a buffer of its own, as causal memory does.
	frame := h * w * c.C
	ms, m := activation("memory", s.Elem, 1, h, w, c.C, x[:frame])
	xs, xt := activation("x", s.Elem, in, h, w, c.C, x)
	ys, y := activation("y", s.Elem, c.T, c.H, c.W, c.O, residual)
	shape := Shape{c.O, c.C, c.kt, ks}
	test := gputest.Case{
		Op: "conv3d", In: []gputest.Array{ms, xs, weightArray(weight, shape, weights, nil), biasArray(bias)}, Out: ys,
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			conv := Conv3D{
				Weights: Weights{Weight: in[2], Bias: in[3], Elem: weights},
				Step:    c.step, Stride: c.stride, Y: y.in(out), T: 1, N: 1, Add: c.add,
			}
			taps := func(t int) []Tap {
				all := make([]Tap, c.kt)
				for k := range all {
					all[k] = Tap{xt.in(in[1]), 1 + t*c.step + k}
				}
				return all
			}
			conv.Taps = taps(0)
			conv.Taps[0] = Tap{m.in(in[0]), 1}
			s.Conv3D(b, "first", conv)
			if c.T > 1 {
				conv.Taps, conv.T, conv.N = taps(1), 2, c.T-1
				s.Conv3D(b, "rest", conv)
			}
		},
		Want: padded(want, c.O), Bound: bound(s.Elem, boundSum),
	}
	if c.whole && s.Elem == F32 {
		test.Bound = 0
	}
	test.Run(t, dev)
}

// weightArray packs a weight, as floats that encode to its bits.
func weightArray(weight []float32, s Shape, elem Elem, order func(int) int) gputest.Array {
	packed := make([]float32, s.Packed())
	PackConv(packed, weight, s, order)
	return gputest.Array{Label: "weight", Format: format(elem), Data: packed}
}

func biasArray(bias []float32) gputest.Array {
	return gputest.Array{Label: "bias", Data: append(bias, make([]float32, (8-len(bias)%8)%8)...)}
}

func TestPointwise(t *testing.T) {
	dev := gputest.Open(t)
	cases := []convCase{
		{name: "one_pixel", T: 1, H: 1, W: 1, C: 4, O: 8},
		{name: "exact_integers", T: 2, H: 5, W: 7, C: 8, O: 16, add: true, whole: true},
		{name: "8_pixels_and_1", T: 3, H: 3, W: 3, C: 12, O: 20},
		{name: "channels_not_a_multiple_of_4", T: 2, H: 5, W: 5, C: 6, O: 10, add: true},
		{name: "group_and_one_pixel", T: 1, H: 1, W: 513, C: 4, O: 4},
		{name: "workgroup_of_blocks_and_one", T: 1, H: 1, W: 1, C: 4, O: 8*64 + 8, whole: true},
		{name: "width_512", T: 1, H: 4, W: 6, C: 512, O: 256, add: true},
	}
	for _, c := range cases {
		eachElem(t, c.name, dev, func(t *testing.T, s *Set) { checkPointwise(t, dev, s, c, Packed) })
		eachElem(t, c.name+"/f32_weights", dev, func(t *testing.T, s *Set) { checkPointwise(t, dev, s, c, F32) })
	}
}

func checkPointwise(t *testing.T, dev *gpu.Device, s *Set, c convCase, weights Elem) {
	t.Helper()
	x := gputest.Round(c.values(1, c.T*c.H*c.W*c.C, 1), format(s.Elem))
	weight := gputest.Round(c.values(2, c.O*c.C, math.Sqrt(1/float64(c.C))), format(weights))
	bias := c.values(3, c.O, 1)
	var residual []float32
	if c.add {
		residual = gputest.Round(c.values(4, c.T*c.H*c.W*c.O, 1), format(s.Elem))
	}
	want := ref.Conv3D(wide(x), c.T, c.H, c.W, c.C, wide(weight), wide(bias), c.O, 1, 1, 1, 1, 0)
	for i := range residual {
		want[i] += float64(residual[i])
	}
	xs, xt := activation("x", s.Elem, c.T, c.H, c.W, c.C, x)
	ys, y := activation("y", s.Elem, c.T, c.H, c.W, c.O, residual)
	test := gputest.Case{
		Op: "pointwise", In: []gputest.Array{xs, weightArray(weight, Shape{c.O, c.C, 1, 1}, weights, nil), biasArray(bias)}, Out: ys,
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			s.Pointwise(b, "pointwise", Weights{in[1], in[2], weights}, xt.in(in[0]), y.in(out), 1, c.T, c.add)
		},
		Want: padded(want, c.O), Bound: bound(s.Elem, boundSum),
	}
	if c.whole && s.Elem == F32 {
		test.Bound = 0
	}
	test.Run(t, dev)
}

func TestPointwiseShuffle(t *testing.T) {
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
		eachElem(t, c.name, dev, func(t *testing.T, s *Set) {
			x := gputest.Round(random(1, c.T*c.H*c.W*c.C, 0, 1), format(s.Elem))
			weight, bias := random(2, 4*c.z*c.C*c.C, 0, math.Sqrt(1/float64(c.C))), random(3, 4*c.z*c.C, 0, 1)
			u := ref.Conv3D(wide(x), c.T, c.H, c.W, c.C, wide(weight), wide(bias), 4*c.z*c.C, 1, 1, 1, 1, 0)
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
			test := gputest.Case{
				Op: "pointwise shuffle", Out: ys,
				In: []gputest.Array{xs, weightArray(weight, Shape{4 * c.z * pad, c.C, 1, 1}, F32, order), biasArray(shuffled)},
				Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
					w := Weights{in[1], in[2], F32}
					if c.head {
						s.PointwiseShuffle(b, "head", w, xt.in(in[0]), 1, 1, y.in(out), 1, 1)
					}
					if c.T > head {
						s.PointwiseShuffle(b, "rest", w, xt.in(in[0]), 1+head, c.T-head, y.in(out), 1+head, c.z)
					}
				},
				Want: padded(want, c.C), Bound: bound(s.Elem, boundSum),
			}
			test.Run(t, dev)
		})
	}
}

// Packing only moves numbers: every one arrives once, and the rest is zero.
func TestPackConv(t *testing.T) {
	s := Shape{O: 10, I: 6, KT: 3, KS: 3}
	src := make([]uint16, s.O*s.I*27)
	for i := range src {
		src[i] = uint16(i + 1)
	}
	dst := make([]uint16, s.Packed())
	PackConv(dst, src, s, nil)
	seen := map[uint16]int{}
	for _, v := range dst {
		seen[v]++
	}
	if len(seen) != len(src)+1 || seen[0] != len(dst)-len(src) {
		t.Errorf("%d values, %d zeros of %d", len(seen), seen[0], len(dst))
	}
	// weight[o=9, i=5, k=2, y=1, x=0] by the layout's formula.
	at := ((((1*3+2)*3+1)*2+1)*3+0)*32 + 1*8 + 1
	if want := src[((9*6+5)*3+2)*9+1*3+0]; dst[at] != want {
		t.Errorf("dst[%d] = %d, want %d", at, dst[at], want)
	}
}
