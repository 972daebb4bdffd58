package wgsl

import (
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

// convCase is a convolution of T frames, after two frames of memory (or none).
type convCase struct {
	name          string
	T, H, W, C, O int // of the output, except with stride
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
	{"several_tiles_of_40_inputs", 1, 17, 19, 40, 72, 3, 1, 1, true, false},
	{"down_one_pixel", 1, 1, 1, 4, 8, 1, 1, 2, false, false},
	{"down_exact_integers", 2, 4, 5, 8, 8, 3, 2, 2, false, true},
	{"down_space_only", 3, 6, 10, 24, 24, 1, 1, 2, false, false},
	{"down_time", 2, 5, 7, 12, 20, 3, 2, 2, false, false},
	{"down_row_of_4_and_1", 2, 3, 5, 8, 8, 3, 2, 2, false, false},
	{"down_row_of_6_and_1", 2, 3, 7, 8, 8, 3, 2, 2, false, false},
	{"down_width_256", 1, 4, 6, 256, 64, 3, 2, 2, false, false},
	{"down_several_tiles", 2, 5, 19, 24, 80, 3, 1, 2, true, false},
}

// convVariant is a convolution that reads a part of x, an enlarged x, or has no past.
type convVariant struct {
	convCase
	zeros  bool // the past is zero: frame 0 reads with its last tap, frame 1 with two
	up     bool // x is enlarged twice
	y0, x0 int
	h, w   int // of x; 0: derived from H and W
	later  int // taps of the weight after those of kt
	relu   bool
	leaky  bool // with relu
}

var convVariants = []convVariant{
	{convCase: convCase{"zero_past", 4, 5, 9, 12, 20, 3, 1, 1, false, false}, zeros: true},
	{convCase: convCase{"zero_past_exact_integers", 3, 4, 11, 8, 12, 3, 1, 1, false, true}, zeros: true},
	{convCase: convCase{"zero_past_one_frame", 1, 7, 3, 3, 24, 3, 1, 1, false, false}, zeros: true},
	{convCase: convCase{"zero_past_down", 3, 4, 5, 12, 20, 3, 2, 2, false, false}, zeros: true},
	{convCase: convCase{"zero_past_width_128", 2, 3, 5, 128, 64, 3, 1, 1, false, false}, zeros: true},
	{convCase: convCase{"enlarged", 2, 6, 18, 12, 20, 1, 1, 1, false, false}, up: true},
	{convCase: convCase{"enlarged_exact_integers", 1, 10, 14, 8, 4, 1, 1, 1, true, true}, up: true},
	{convCase: convCase{"enlarged_one_pixel", 1, 2, 2, 4, 8, 1, 1, 1, false, false}, up: true},
	{convCase: convCase{"enlarged_zero_past", 3, 6, 10, 5, 7, 3, 1, 1, false, false}, up: true, zeros: true},
	{convCase: convCase{"enlarged_window", 2, 5, 9, 12, 12, 1, 1, 1, false, false}, up: true, y0: 3, x0: 5, h: 7, w: 11},
	{convCase: convCase{"enlarged_window_over_the_end", 1, 5, 9, 8, 8, 1, 1, 1, false, true}, up: true, y0: 7, x0: 15, h: 5, w: 11},
	{convCase: convCase{"enlarged_window_over_the_start", 1, 5, 9, 8, 8, 1, 1, 1, false, false}, up: true, y0: -3, x0: -5, h: 2, w: 3},
	{convCase: convCase{"window", 3, 4, 9, 12, 20, 3, 1, 1, true, false}, y0: 2, x0: 3, h: 9, w: 23},
	{convCase: convCase{"window_at_the_end", 2, 4, 8, 8, 12, 3, 1, 1, false, true}, y0: 5, x0: 7, h: 9, w: 15},
	{convCase: convCase{"window_wider_than_x", 2, 9, 25, 5, 7, 3, 1, 1, false, false}, y0: -3, x0: -9, h: 3, w: 5},
	{convCase: convCase{"window_beyond_x", 1, 3, 9, 4, 8, 3, 1, 1, false, true}, y0: 4, x0: -2, h: 3, w: 5},
	{convCase: convCase{"window_zero_past", 3, 4, 5, 8, 8, 3, 1, 1, false, false}, zeros: true, y0: 1, x0: 2, h: 6, w: 7},
	{convCase: convCase{"window_down", 2, 3, 5, 12, 20, 3, 2, 2, false, false}, y0: 2, x0: 4, h: 11, w: 17},
	{convCase: convCase{"window_down_over_the_end", 2, 3, 5, 8, 8, 1, 1, 2, false, true}, y0: 5, x0: 3, h: 9, w: 9},
	{convCase: convCase{"window_down_over_the_start", 1, 4, 6, 8, 12, 1, 1, 2, false, false}, y0: -3, x0: -5, h: 4, w: 6},
	{convCase: convCase{"first_tap", 2, 5, 9, 12, 20, 1, 1, 1, true, false}, later: 2},
	{convCase: convCase{"first_taps_width_128", 2, 3, 5, 128, 64, 2, 1, 1, false, false}, later: 1},
	{convCase: convCase{"middle_tap_exact_integers", 2, 4, 11, 8, 3, 2, 1, 1, true, true}, zeros: true, later: 1},
	{convCase: convCase{"down_enlarged", 1, 3, 5, 8, 8, 1, 1, 2, false, false}, up: true},
	{convCase: convCase{"relu", 2, 5, 9, 12, 20, 1, 1, 1, false, false}, relu: true},
	{convCase: convCase{"relu_of_a_residual_exact_integers", 1, 5, 9, 8, 12, 1, 1, 1, true, true}, relu: true},
	{convCase: convCase{"relu_zero_past", 3, 4, 7, 8, 8, 2, 1, 1, false, false}, relu: true, zeros: true},
	{convCase: convCase{"relu_width_64", 1, 6, 10, 64, 64, 1, 1, 1, true, false}, relu: true},
	{convCase: convCase{"leaky_relu_of_a_residual", 2, 5, 9, 12, 20, 1, 1, 1, true, false}, relu: true, leaky: true},
	{convCase: convCase{"relu_down_padded_around", 1, 4, 6, 8, 12, 1, 1, 2, false, false}, relu: true, y0: -1, x0: -1, h: 7, w: 12},
}

func TestConv3D(t *testing.T) {
	dev := gputest.Open(t)
	all := slices.Clone(convVariants)
	for _, c := range convCases {
		all = append(all, convVariant{convCase: c})
	}
	for _, c := range all {
		operation := convOperation(c.stride)
		if c.up { // this compiles slowly, and does not depend on weights
			eachKernel(t, operation, c.name, dev, func(t *testing.T, s *Set) { checkConv(t, dev, s, c, F32) })
			continue
		}
		eachWeights(t, operation, c.name, dev, func(t *testing.T, s *Set, weights Elem) { checkConv(t, dev, s, c, weights) })
	}
}

// values returns random numbers, or small integers whose sums are exact in f32.
func (c convCase) values(seed uint64, n int, deviation float64) []float32 {
	if c.whole {
		return integers(seed, n, -3, 3)
	}
	return random(seed, n, 0, deviation)
}

// past returns the number of zero frames before x in the reference.
func (c convVariant) past() int {
	if c.zeros {
		return c.kt - 1
	}
	return 0
}

// size returns the size of x.
func (c convVariant) size() (h, w int) {
	h, w = c.H*c.stride, c.W*c.stride
	if c.up {
		h, w = h/2, w/2
	}
	if c.h > 0 {
		h, w = c.h, c.w
	}
	return h, w
}

// want returns the reference's result, from tensors that include all padding.
func (c convVariant) want(x, weight, bias []float64) []float64 {
	h, w := c.size()
	in := c.kt + (c.T-1)*c.step
	x = slices.Concat(make([]float64, c.past()*h*w*c.C), x)
	if c.up {
		x, h, w = ref.Enlarge(x, in, h, w, c.C), 2*h, 2*w
	}
	y0, x0 := c.y0, c.x0
	if c.stride == 1 {
		y0, x0 = y0-1, x0-1
	}
	rows, columns := (c.H-1)*c.stride+3, (c.W-1)*c.stride+3
	x = ref.Window(x, in, h, w, c.C, y0, x0, rows, columns)
	return ref.Conv3D(x, in, rows, columns, c.C, weight, bias, c.O, c.kt, 3, c.step, c.stride)
}

// withLater inserts `later` hundreds after every n numbers of the weight.
func withLater(weight []float32, n, later int) []float32 {
	var all []float32
	for taps := range slices.Chunk(weight, n) {
		all = append(append(all, taps...), slices.Repeat([]float32{100}, later)...)
	}
	return all
}

func checkConv(t *testing.T, dev *gpu.Device, s *Set, c convVariant, weights Elem) {
	t.Helper()
	s.Leaky = c.leaky
	test := c.test(s, weights)
	test.Run(t, dev)
}

func (c convVariant) test(s *Set, weights Elem) gputest.Case {
	h, w := c.size()
	in := c.kt + (c.T-1)*c.step - c.past() // existing frames
	fan := math.Sqrt(1 / float64(c.C*9*c.kt))
	x := gputest.Round(c.values(1, in*h*w*c.C, 1), format(s.Elem))
	weight := gputest.Round(c.values(2, c.O*c.C*c.kt*9, fan), format(weights))
	bias := c.values(3, c.O, 1)
	var residual []float32
	if c.add {
		residual = gputest.Round(c.values(4, c.T*c.H*c.W*c.O, 1), format(s.Elem))
	}
	want := c.want(wide(x), wide(weight), wide(bias))
	for i := range residual {
		want[i] += float64(residual[i])
	}
	switch {
	case c.leaky:
		want = ref.LeakyReLU(want)
	case c.relu:
		want = rectified(want)
	}
	ms, m := activation("memory", s.Elem, 1, h, w, c.C, x[:h*w*c.C])
	xs, xt := activation("x", s.Elem, in, h, w, c.C, x)
	ys, y := activation("y", s.Elem, c.T, c.H, c.W, c.O, residual)
	shape := Shape{O: c.O, I: c.C, KT: c.kt + c.later, KS: 3}
	weight = withLater(weight, 9*c.kt, 9*c.later)
	packing := s.ConvPacking(shape, c.stride)
	test := gputest.Case{
		Op: "conv3d", Out: ys,
		In: []gputest.Array{ms, xs, weightArray(weight, packing, shape, weights, nil), biasArray(bias)},
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			conv := Conv3D{
				Weights: Weights{Weight: in[2], Bias: in[3], Elem: weights, Packing: packing},
				Step:    c.step, Stride: c.stride, Upsample: c.up, Y0: c.y0, X0: c.x0, Y: y.in(out), Add: c.add, ReLU: c.relu,
			}
			if c.zeros || c.later > 0 {
				conv.KT, conv.Later = c.kt+c.later, c.later
			}
			causal(m.in(in[0]), xt.in(in[1]), c.T, c.kt, c.step, c.past(), func(taps []Tap, f, n int) {
				conv.Taps, conv.T, conv.N = taps, 1+f, n
				s.Conv3D(b, "conv3d", conv)
			})
		},
		Want: padded(want, c.O), Bound: bound(s.Elem, boundSum),
	}
	if c.whole && s.Elem == F32 {
		test.Bound = 0
	}
	return test
}

// causal calls record for runs of n of T output frames from f on, after `past` zero
// frames. The first frame of x is in a separate buffer, like causal memory.
func causal(memory, x Tensor, T, kt, step, past int, record func(taps []Tap, f, n int)) {
	for f, n := 0, 1; f < T; f += n {
		var taps []Tap
		for k := max(0, past-f*step); k < kt; k++ {
			taps = append(taps, Tap{x, 1 + f*step + k - past})
		}
		if f == 0 {
			taps[0] = Tap{memory, 1}
		}
		if f > 0 && len(taps) == kt {
			n = T - f
		}
		record(taps, f, n)
	}
}

// A device may cut a dispatch anywhere. Here the costs make it run single workgroups
// until it has measured their speed.
func TestConvolutionsInPieces(t *testing.T) {
	otherKernels(t)
	for name, test := range map[string]gputest.Case{
		"conv3d": convVariant{
			convCase: convCase{"", 3, 66, 8, 4, 20, 3, 1, 1, false, false}, zeros: true, y0: 1, x0: 2,
		}.test(plain(t, F32), F32),
		"strided":   convVariant{convCase: convCase{"", 3, 66, 4, 4, 20, 3, 2, 2, false, false}, zeros: true}.test(plain(t, F32), F32),
		"time_conv": timeCase{name: "", T: 4, H: 1, W: 513, C: 4, O: 12, step: 1, phases: 2}.test(plain(t, F32), F32),
	} {
		t.Run(name, func(t *testing.T) {
			dev := gputest.Open(t)
			record := test.Record
			test.Record = func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
				record(b, in, scratch, out)
				for i := range b.Commands {
					b.Commands[i].Cost.FLOPs = math.MaxInt64 / 2
				}
			}
			test.Run(t, dev)
			if os.Getenv("TESSERA_CASES") == "" { // else the case was written, and did not run
				require.GreaterOrEqual(t, dev.Stats().Submissions, 10, "submissions")
			}
		})
	}
}

// Only computed taps cost: existing temporal taps, and rows inside of x.
func TestTapsCost(t *testing.T) {
	x := Tensor{Buffer: &gpu.Buffer{Label: "x", Size: 1 << 20}, T: 3, H: 4, W: 8, C: 12}
	y := Tensor{Buffer: &gpu.Buffer{Label: "y", Size: 1 << 20}, T: 3, H: 4, W: 8, C: 20}
	w := Weights{Weight: &gpu.Buffer{Label: "weight", Size: 1 << 20}, Bias: &gpu.Buffer{Label: "bias", Size: 1 << 10}}
	s := plain(t, F32)
	for n := 1; n <= 3; n++ {
		b := &gpu.Batch{}
		taps := []Tap{{x, 0}, {x, 1}, {x, 2}}[3-n:]
		w.Packing = s.ConvPacking(Shape{O: 20, I: 12, KT: 3, KS: 3}, 1)
		s.Conv3D(b, "conv3d", Conv3D{Weights: w, KT: 3, Taps: taps, Step: 1, Stride: 1, Y: y, N: 1})
		w.Packing = s.PointwisePacking(Shape{O: 40, I: 12, KT: 3, KS: 1})
		s.TimeConv(b, "time_conv", TimeConv{Weights: w, KT: 3, Taps: taps, Step: 1, Phases: 2, Y: y, N: 1})
		assert.Equal(t, int64(2*(3*4-2)*8*12*20*3*n), b.Commands[0].Cost.FLOPs, "conv3d with %d taps", n)
		assert.Equal(t, int64(2*4*8*12*20*2*n), b.Commands[1].Cost.FLOPs, "time_conv with %d taps", n)
	}
}

// weightArray packs a weight, as floats that encode to its bits.
func weightArray(weight []float32, p *Packing, s Shape, elem Elem, order func(int) int) gputest.Array {
	packed := make([]float32, p.Size(s))
	Pack(p, packed, weight, s, order)
	return gputest.Array{Label: "weight", Format: format(elem), Data: packed}
}

func biasArray(bias []float32) gputest.Array {
	return gputest.Array{Label: "bias", Data: append(bias, make([]float32, (8-len(bias)%8)%8)...)}
}
