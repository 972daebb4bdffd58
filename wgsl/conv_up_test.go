package wgsl

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

// convUpCase enlarges frames of h x w cells of C channels. It computes H x W pixels of
// O channels, from (y0, x0) on.
type convUpCase struct {
	name          string
	T, h, w, C, O int // T of x, without the taps before the first frame
	kt, z         int
	y0, x0, H, W  int // 0: all
	whole         bool
	add           bool // to y; only the last tap is added
	winograd      bool // two frames at once
	relu          bool
}

var convUpCases = []convUpCase{
	{name: "one_cell", T: 1, h: 1, w: 1, C: 4, O: 8, kt: 1, z: 1},
	{name: "one_row", T: 2, h: 1, w: 9, C: 4, O: 8, kt: 2, z: 2},
	{name: "one_column", T: 2, h: 9, w: 1, C: 4, O: 8, kt: 3, z: 1},
	{name: "exact_integers", T: 3, h: 5, w: 9, C: 8, O: 16, kt: 2, z: 2, whole: true},
	{name: "row_of_8", T: 1, h: 3, w: 8, C: 8, O: 8, kt: 1, z: 2},
	{name: "row_of_8_and_1", T: 1, h: 3, w: 9, C: 8, O: 8, kt: 3, z: 2},
	{name: "primes", T: 2, h: 7, w: 11, C: 5, O: 7, kt: 2, z: 2},
	{name: "half_a_block_of_outputs", T: 1, h: 6, w: 6, C: 12, O: 12, kt: 3, z: 1},
	{name: "group_and_one_segment", T: 1, h: 65, w: 8, C: 4, O: 8, kt: 1, z: 1},
	{name: "window", T: 1, h: 9, w: 13, C: 12, O: 12, kt: 1, z: 1, y0: 2, x0: 4, H: 10, W: 18},
	{name: "window_at_odd_pixels", T: 2, h: 7, w: 21, C: 8, O: 8, kt: 1, z: 1, y0: 3, x0: 5, H: 5, W: 35},
	{name: "window_of_one_pixel", T: 1, h: 3, w: 4, C: 8, O: 4, kt: 2, z: 1, y0: 5, x0: 7, H: 1, W: 1},
	{name: "window_wider_than_x", T: 1, h: 3, w: 5, C: 5, O: 7, kt: 1, z: 1, y0: -3, x0: -9, H: 11, W: 31, whole: true},
	{name: "cut_up", T: 3, h: 4, w: 17, C: 8, O: 24, kt: 2, z: 2},
	{name: "last_tap_added", T: 2, h: 3, w: 9, C: 12, O: 12, kt: 2, z: 2, add: true},
	{name: "last_tap_added_exact", T: 1, h: 3, w: 5, C: 8, O: 7, kt: 3, z: 1, whole: true, add: true},
	{name: "width_128", T: 1, h: 3, w: 5, C: 128, O: 128, kt: 2, z: 2},
	{name: "relu", T: 1, h: 6, w: 9, C: 12, O: 20, kt: 1, z: 1, relu: true},
	{name: "relu_of_two_taps", T: 2, h: 3, w: 9, C: 8, O: 16, kt: 2, z: 1, relu: true},
	{name: "width_512", T: 1, h: 2, w: 3, C: 512, O: 16, kt: 3, z: 1},
	{name: "several_tiles", T: 2, h: 7, w: 21, C: 20, O: 64, kt: 2, z: 2, y0: -3, x0: 5, H: 13, W: 35, add: true},
}

func TestConvUp(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range convUpCases {
		if c.H == 0 {
			c.H, c.W = 2*c.h, 2*c.w
		}
		eachWeights(t, "conv_up", c.name, dev, func(t *testing.T, s *Set, weights Elem) { c.run(t, dev, s, weights) })
	}
}

// convUpPairCases use programs with equal constants, which drivers compile for seconds.
var convUpPairCases = []convUpCase{
	{name: "one_cell", T: 2, h: 1, w: 1, C: 4, O: 8},
	{name: "exact_integers", T: 4, h: 5, w: 9, C: 8, O: 16, whole: true},
	{name: "primes", T: 6, h: 7, w: 11, C: 5, O: 7},
	{name: "window_at_odd_pixels", T: 2, h: 7, w: 21, C: 8, O: 8, y0: 3, x0: 5, H: 5, W: 35},
	{name: "window_wider_than_x", T: 2, h: 3, w: 5, C: 5, O: 7, y0: -3, x0: -9, H: 11, W: 31},
	{name: "width_128", T: 2, h: 3, w: 5, C: 128, O: 24},
	{name: "relu", T: 2, h: 5, w: 9, C: 8, O: 16, relu: true},
}

func TestConvUpWinograd(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range convUpPairCases {
		c.kt, c.z, c.winograd = 3, 1, true
		if c.H == 0 {
			c.H, c.W = 2*c.h, 2*c.w
		}
		eachKernel(t, "conv_up_winograd", c.name, dev, func(t *testing.T, s *Set) { c.run(t, dev, s, s.summed()) })
	}
}

func (c convUpCase) values(seed uint64, n int, deviation float64) []float32 {
	if c.whole {
		return integers(seed, n, -3, 3)
	}
	return random(seed, n, 0, deviation)
}

// packed returns the weight [z, 4, O, C, kt, 2, 2] packed for a kernel, and the biases:
// those of outputs [z, 4, O], those of cells [z, 4, 2, 2, O].
func (c convUpCase) packed(s *Set, elem Elem, weight, bias, cell []float32) (Shape, []gputest.Array) {
	shape := ConvUpShape(c.O, c.C, c.kt, c.z)
	parity := shape.O / (4 * c.z)
	w := weightArray(weight, s.ConvUpPacking(shape), shape, elem, func(o int) int {
		if o%parity >= c.O {
			return -1
		}
		return o/parity*c.O + o%parity
	})
	all := make([]float32, ConvUpBias(shape))
	for at := range shape.O {
		p, o := at/parity, at%parity
		if o >= c.O {
			continue
		}
		all[at/8*40+at%8] = bias[p*c.O+o]
		for k := range 4 {
			all[at/8*40+8+8*k+at%8] = cell[(p*4+k)*c.O+o]
		}
	}
	return shape, []gputest.Array{w, {Label: "bias", Data: all}}
}

func (c convUpCase) run(t *testing.T, dev *gpu.Device, s *Set, elem Elem) {
	t.Helper()
	if out := s.ConvUpPacking(ConvUpShape(c.O, c.C, c.kt, c.z)).out; out > 8 { // whose blocks have one parity
		c.O = (c.O + out - 1) / out * out
	}
	in := c.T + c.kt - 1
	x := gputest.Round(c.values(1, in*c.h*c.w*c.C, 1), format(s.Elem))
	weight := gputest.Round(c.values(2, c.z*4*c.O*c.C*c.kt*4, math.Sqrt(1/float64(c.C*4*c.kt))), format(elem))
	bias, cell := c.values(3, c.z*4*c.O, 1), c.values(4, c.z*16*c.O, 1)
	var residual []float32
	if c.add {
		residual = gputest.Round(c.values(5, c.T*c.z*c.H*c.W*c.O, 1), format(s.Elem))
		for k := range weight { // not read
			if k/4%c.kt < c.kt-1 {
				weight[k] = 0
			}
		}
		bias, cell = make([]float32, len(bias)), make([]float32, len(cell))
	}
	want := ref.ConvUp(wide(x), in, c.h, c.w, c.C, wide(weight), wide(bias), wide(cell), c.O, c.kt, c.z, c.y0, c.x0, c.H, c.W)
	for i := range residual {
		want[i] += float64(residual[i])
	}
	if c.relu {
		want = rectified(want)
	}
	xs, xt := activation("x", s.Elem, in, c.h, c.w, c.C, x)
	ys, y := activation("y", s.Elem, c.T*c.z, c.H, c.W, c.O, residual)
	if c.add {
		for k := range weight {
			if k/4%c.kt < c.kt-1 {
				weight[k] = 1000
			}
		}
		for k := range bias {
			bias[k] = 1000
		}
	}
	shape, weights := c.packed(s, elem, weight, bias, cell)
	test := gputest.Case{
		Op: "conv_up", In: append([]gputest.Array{xs}, weights...), Out: ys, Scratch: []int64{s.WinogradBytes(shape, 2)},
		Record: func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
			conv := ConvUp{
				Weights: Weights{Weight: in[1], Bias: in[2], Elem: elem, Packing: s.ConvUpPacking(shape)},
				Phases:  c.z, Y0: c.y0, X0: c.x0, Y: y.in(out), T: 1, N: c.T, ReLU: c.relu,
			}
			if c.winograd {
				x := xt.in(in[0])
				w := conv.Weights
				if s.UsesWinograd(w.Packing, shape) {
					w = s.WinogradWeights(b, "taps", WinogradWeights{Weights: w, Shape: shape, Of: 2, To: scratch[0]})
				}
				s.ConvUpWinograd(b, "conv_up", ConvUpWinograd{Weights: w, Taps: []Tap{{x, 1}, {x, 2}, {x, 3}, {x, 4}}, Y0: c.y0, X0: c.x0, Y: conv.Y, T: 1, N: c.T, ReLU: c.relu})
				return
			}
			first := 0
			if c.add {
				first, conv.KT, conv.Add = c.kt-1, c.kt, true
			}
			for k := first; k < c.kt; k++ {
				conv.Taps = append(conv.Taps, Tap{xt.in(in[0]), 1 + k})
			}
			s.ConvUp(b, "conv_up", conv)
			if c.name == "cut_up" {
				slow(b)
			}
		},
		Want: padded(want, c.O), Bound: bound(s.Elem, boundSum),
	}
	if c.whole && s.Elem == F32 {
		test.Bound = 0
	}
	test.Run(t, dev)
}

// Only computed work costs.
func TestConvUpCost(t *testing.T) {
	x := Tensor{Buffer: &gpu.Buffer{Label: "x", Size: 1 << 20}, T: 4, H: 3, W: 5, C: 12}
	y := Tensor{Buffer: &gpu.Buffer{Label: "y", Size: 1 << 20}, T: 6, H: 6, W: 10, C: 20}
	s, b := plain(t, F32), &gpu.Batch{}
	shape := ConvUpShape(20, 12, 2, 2)
	assert.Equal(t, Shape{O: 8 * 24, I: 12, KT: 2, KS: 2, Phases: 2}, shape)
	w := Weights{Weight: &gpu.Buffer{Label: "weight", Size: 1 << 20}, Bias: &gpu.Buffer{Label: "bias", Size: 1 << 14}, Packing: s.ConvUpPacking(shape)}
	s.ConvUp(b, "conv_up", ConvUp{Weights: w, Taps: []Tap{{x, 0}, {x, 1}}, Phases: 2, Y: y, N: 3})
	const rows = 2*6 - 2 // two rows of cells per row of pixels, without the first and the last, which are outside
	assert.EqualValues(t, 2*6*rows*10*20*12*2*2, b.Commands[0].Cost.FLOPs)
}

// foldCase derives a weight from the values of the two layers' products at 16 points.
type foldCase struct {
	name       string
	O, I, C    int // outputs, a multiple of 8; inputs; channels between
	kt, z      int
	phase, tap int
}

func TestFold(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []foldCase{
		{"one_input", 8, 1, 1, 1, 1, 0, 0},
		{"last_phase_and_tap", 16, 4, 3, 2, 2, 1, 1},
		{"primes", 24, 7, 5, 3, 1, 0, 2},
		{"width_96", 96, 96, 8, 2, 2, 1, 0},
	} {
		eachKernel(t, "fold", c.name, dev, func(t *testing.T, s *Set) {
			if s.Elem == F16 { // here of weights
				return
			}
			c.run(t, dev, s.Elem, blocks4x8)
			if rows := (&Packing{in: 16, out: 8, rows: true}); c.kt > 1 {
				c.run(t, dev, s.Elem, rows)
			}
		})
	}
}

// points returns the values of a polynomial with these coefficients at 0, 1, -1 and
// infinity.
func points(v ...float64) [4]float64 {
	last := v[len(v)-1]
	if len(v) == 2 {
		v = []float64{v[0], v[1], 0}
	}
	return [4]float64{v[0], v[0] + v[1] + v[2], v[0] - v[1] + v[2], last}
}

// at returns the value of the k x k coefficients v at point (ey, ex).
func at(v []float64, k, ey, ex int) float64 {
	var rows []float64
	for i := range k {
		var row []float64
		for j := range k {
			row = append(row, v[i*k+j])
		}
		rows = append(rows, points(row...)[ex])
	}
	return points(rows...)[ey]
}

func (c foldCase) run(t *testing.T, dev *gpu.Device, elem Elem, packing *Packing) {
	t.Helper()
	s := plain(t, F32)
	a, p := wide(integers(1, c.O*c.C*9, -4, 4)), wide(integers(2, 4*c.C*c.I, -4, 4))
	x := make([]float32, 0, 16*c.I*c.O)
	for e := range 16 {
		for i := range c.I {
			for o := range c.O {
				sum := 0.0
				for ch := range c.C {
					q := []float64{3: 0} // coefficients in reverse order of parity
					for k := range q {
						q[k] = p[((3-k)*c.C+ch)*c.I+i]
					}
					sum += at(a[(o*c.C+ch)*9:], 3, e/4, e%4) * at(q, 2, e/4, e%4)
				}
				x = append(x, float32(sum))
			}
		}
	}
	shape := ConvUpShape(c.O, c.I, c.kt, c.z)
	// The result of FoldUp in its place; the rest is unchanged, except that vec4s of
	// inputs have zeros for missing inputs.
	weight := slices.Repeat([]float32{7}, shape.O*c.I*c.kt*4)
	before := make([]float32, packing.Size(shape))
	Pack(packing, before, weight, shape, nil)
	for k, v := range ref.FoldUp(a, p, c.O, c.C, c.I) {
		parity, o, i, cell := k/4/c.I/c.O, k/4/c.I%c.O, k/4%c.I, k%4
		weight[(((4*c.phase+parity)*c.O+o)*c.I+i)*c.kt*4+c.tap*4+cell] = float32(v)
	}
	want := make([]float32, packing.Size(shape))
	Pack(packing, want, weight, shape, nil)
	test := gputest.Case{
		Op: "fold", In: []gputest.Array{{Label: "x", Data: x}}, Out: gputest.Array{Label: "weight", Format: format(elem), Data: before},
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			s.Fold(b, "fold", Fold{
				Weights: Weights{Weight: out, Elem: elem, Packing: packing}, X: Tensor{Buffer: in[0], Elem: F32, T: 16, H: 1, W: c.I, C: c.O},
				Shape: shape, Phases: c.z, Phase: c.phase, Tap: c.tap,
			})
		},
		Want: wide(want),
	}
	test.Run(t, dev)
}
