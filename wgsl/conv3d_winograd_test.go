package wgsl

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

// winogradCases are convolutions of an even number of frames after two of memory. All
// but one use programs with equal constants, which drivers compile for seconds.
var winogradCases = []convVariant{
	{convCase: convCase{"one_pixel", 2, 1, 1, 4, 8, 3, 1, 1, true, false}},
	{convCase: convCase{"exact_integers", 4, 5, 9, 8, 16, 3, 1, 1, true, true}},
	{convCase: convCase{"rgb_in", 4, 7, 11, 3, 24, 3, 1, 1, true, false}},
	{convCase: convCase{"rgb_out", 2, 7, 11, 24, 3, 3, 1, 1, true, false}},
	{convCase: convCase{"primes", 6, 13, 17, 5, 7, 3, 1, 1, true, false}},
	{convCase: convCase{"group_and_one_segment", 2, 65, 8, 4, 8, 3, 1, 1, false, false}},
	{convCase: convCase{"eight_frames", 8, 7, 9, 12, 24, 3, 1, 1, true, false}},
	{convCase: convCase{"width_128", 4, 6, 10, 128, 128, 3, 1, 1, true, false}},
	{convCase: convCase{"width_512", 2, 2, 3, 512, 32, 3, 1, 1, true, false}},
	{convCase: convCase{"relu", 4, 5, 9, 8, 16, 3, 1, 1, true, false}, relu: true},
	{convCase: convCase{"window", 4, 4, 9, 12, 20, 3, 1, 1, true, false}, y0: 2, x0: 3, h: 9, w: 23},
	{convCase: convCase{"window_wider_than_x", 2, 9, 25, 5, 7, 3, 1, 1, true, false}, y0: -3, x0: -9, h: 3, w: 5},
}

func TestConv3DWinograd(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range winogradCases {
		eachKernel(t, "conv3d_winograd", c.name, dev, func(t *testing.T, s *Set) {
			test := winogradCase(s, c, s.summed(), 2)
			test.Run(t, dev)
			if c.T%4 == 0 && s.WinogradFrames(c.shape(), c.T) == 4 {
				for _, weights := range []Elem{F32, Packed} {
					test := winogradCase(s, c, weights, 4)
					test.Run(t, dev)
				}
			}
		})
	}
}

// shape returns the shape of its weight.
func (c convVariant) shape() Shape { return Shape{O: c.O, I: c.C, KT: c.kt, KS: 3} }

// winogradCase returns a case whose first two or four frames read two frames of memory,
// which are not adjacent, and whose other frames are one dispatch.
func winogradCase(s *Set, c convVariant, weights Elem, of int) gputest.Case {
	c.whole = c.whole && of == 2 // six products involve thirds
	h, w := c.size()
	in := c.kt + c.T - 1
	fan := math.Sqrt(1 / float64(c.C*9*c.kt))
	x := gputest.Round(c.values(1, in*h*w*c.C, 1), format(s.Elem))
	weight := gputest.Round(c.values(2, c.O*c.C*c.kt*9, fan), format(weights))
	bias := c.values(3, c.O, 1)
	want := c.want(wide(x), wide(weight), wide(bias))
	var residual []float32
	if c.add {
		residual = gputest.Round(c.values(4, c.T*c.H*c.W*c.O, 1), format(s.Elem))
	}
	for i := range residual {
		want[i] += float64(residual[i])
	}
	if c.relu {
		want = rectified(want)
	}
	ms, m := activation("memory", s.Elem, 2, h, w, c.C, x[:2*h*w*c.C])
	xs, xt := activation("x", s.Elem, in-2, h, w, c.C, x[2*h*w*c.C:])
	ys, y := activation("y", s.Elem, c.T, c.H, c.W, c.O, residual)
	shape := c.shape()
	packing := s.ConvPacking(shape, 1)
	test := gputest.Case{
		Op: "conv3d_winograd", Out: ys,
		In:      []gputest.Array{ms, xs, weightArray(weight, packing, shape, weights, nil), biasArray(bias)},
		Scratch: []int64{s.WinogradBytes(shape, of), max(4, s.WinogradSums(c.O, &xt, of))},
		Record: func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
			m, x := m.in(in[0]), xt.in(in[1])
			frames := Conv3DWinograd{Weights: Weights{Weight: in[2], Bias: in[3], Elem: weights, Packing: packing}, Y0: c.y0, X0: c.x0, Y: y.in(out), Add: c.add, ReLU: c.relu, Sums: scratch[1]}
			if s.UsesWinograd(packing, shape) {
				frames.Weights = s.WinogradWeights(b, "taps", WinogradWeights{Weights: frames.Weights, Shape: shape, Of: of, To: scratch[0]})
			}
			frames.Taps, frames.T, frames.N = []Tap{{m, 1}, {m, 2}, {x, 1}, {x, 2}, {x, 3}, {x, 4}}[:of+2], 1, of
			s.Conv3DWinograd(b, "conv3d_winograd", frames)
			if c.T > of {
				frames.Taps = nil
				for k := range of + 2 {
					frames.Taps = append(frames.Taps, Tap{x, of - 1 + k})
				}
				frames.T, frames.N = 1+of, c.T-of
				s.Conv3DWinograd(b, "conv3d_winograd", frames)
			}
		},
		Want: padded(want, c.O), Bound: bound(s.Elem, boundSum),
	}
	if c.whole && s.Elem == F32 {
		test.Bound = 0
	}
	return test
}

func TestPairTaps(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name  string
		o, i  int
		whole bool
	}{{"one_block", 8, 4, false}, {"exact_integers", 12, 20, true}, {"primes", 7, 5, false}, {"width_128", 40, 128, false}} {
		for _, weights := range []Elem{F32, Packed} {
			eachKernel(t, "winograd_weights", c.name+"/"+weights.String(), dev, func(t *testing.T, s *Set) {
				s.choices = Choices{"conv3d_winograd": "fused"}
				shape := Shape{O: c.o, I: c.i, KT: 3, KS: 3}
				w := gputest.Round(random(1, c.o*c.i*27, 0, 1), format(weights))
				if c.whole {
					w = integers(1, c.o*c.i*27, -3, 3)
				}
				packing := s.ConvPacking(shape, 1)
				taps := ref.WinogradWeights(wide(w), c.o*c.i, 9)
				made := make([]float32, len(taps))
				for i, v := range taps {
					made[i] = float32(v)
				}
				want := weightArray(made, winograd4x8, Shape{O: c.o, I: c.i, KT: 4, KS: 3}, s.summed(), nil).Data
				test := gputest.Case{
					Op:  "winograd_weights",
					In:  []gputest.Array{weightArray(w, packing, shape, weights, nil)},
					Out: gputest.Array{Label: "y", Format: format(s.summed()), Len: len(want)},
					Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
						got := s.WinogradWeights(b, "winograd_weights", WinogradWeights{Weights: Weights{Weight: in[0], Elem: weights, Packing: packing}, Shape: shape, Of: 2, To: out})
						assert.Equal(t, s.summed(), got.Elem)
						assert.Same(t, winograd4x8, got.Packing)
					},
					Want: wide(want), Bound: bound(s.Elem, boundF32),
				}
				if c.whole {
					test.Bound = 0
				}
				test.Run(t, dev)
			})
		}
	}
}

// Frames are computed in pairs if that is faster or chosen, and if the weights are in
// the blocks for it.
func TestPaired(t *testing.T) {
	checkWinograd(t, gpu.Info{Name: "SwiftShader Device (LLVM 10.0.0)", Type: "cpu"}, "plain")
	checkWinograd(t, gpu.Info{Vendor: "amd", Type: "discrete"}, "passes")
	checkWinograd(t, gpu.Info{Vendor: "nvidia", Type: "discrete"}, "plain")
	checkWinograd(t, gpu.Info{}, "plain")
}

// checkWinograd checks an adapter's choices; `usual` is its kernel for pairs.
func checkWinograd(t *testing.T, info gpu.Info, usual string) {
	t.Helper()
	three := Shape{O: 128, I: 128, KT: 3, KS: 3}
	s, err := NewSet(F32, info, nil)
	require.NoError(t, err)
	packing := s.ConvPacking(three, 1)
	assert.Equal(t, usual, s.find("conv3d_winograd", nil).name)
	assert.Equal(t, usual != "plain", s.UsesWinograd(packing, three))
	few := Shape{O: 8, I: 128, KT: 3, KS: 3}
	assert.Equal(t, usual != "plain" && !mesaBefore26(info), s.UsesWinograd(packing, few))
	for _, on := range []bool{true, false} {
		s, err := NewSet(F32, info, Choices(nil).Winograd(info, on))
		require.NoError(t, err)
		assert.Equal(t, on, s.UsesWinograd(packing, three), "%s, chosen", usual)
		assert.False(t, s.UsesWinograd(packing, Shape{O: 128, I: 128, KT: 1, KS: 3}))
		assert.False(t, s.UsesWinograd(blocked(8, 16), three))
	}
	on := Choices{"conv3d_winograd 128→128": "plain", "conv3d": "plain"}.Winograd(info, true)
	name, up := usual, usual
	if name == "plain" {
		name, up = "fused", "fused"
	}
	if subgroupsOf8(info) { // there enlarging convolutions use Winograd only by choice
		up = "fused"
	}
	want := Choices{"conv3d_winograd": name, "conv_up_winograd": up, "conv3d_winograd_rows": "plain", "conv3d": "plain"}
	refuted := Choices{"conv3d_winograd": "plain", "conv_up_winograd": up, "conv3d_winograd_rows": "plain"}
	if subgroupsOf8(info) {
		want["conv3d_winograd_rows"] = usual
	}
	assert.Equal(t, want, on)
	assert.Equal(t, refuted, Choices{"conv3d_winograd": "plain", "conv3d_winograd_rows": "plain"}.Winograd(info, true), "refuted")
}

// llvmpipe describes Mesa's driver for processors with vectors of 256 bits.
func llvmpipe(driver string) gpu.Info {
	return gpu.Info{Name: "llvmpipe (256 bits)", Driver: driver, Type: "cpu", Subgroups: true, SubgroupMin: 8, SubgroupMax: 8}
}

// A pair costs four products, in the rows inside of x.
func TestConv3DWinogradCost(t *testing.T) {
	x := Tensor{Buffer: &gpu.Buffer{Label: "x", Size: 1 << 20}, T: 6, H: 4, W: 8, C: 12}
	y := Tensor{Buffer: &gpu.Buffer{Label: "y", Size: 1 << 20}, T: 4, H: 4, W: 8, C: 20}
	w := Weights{Weight: &gpu.Buffer{Label: "weight", Size: 1 << 20}, Bias: &gpu.Buffer{Label: "bias", Size: 1 << 10}}
	s := plain(t, F32)
	for packing, products := range map[*Packing]int{blocks4x8: 6, winograd4x8: 4} {
		w.Packing = packing
		b := &gpu.Batch{}
		s.Conv3DWinograd(b, "winograd", Conv3DWinograd{Weights: w, Taps: []Tap{{x, 0}, {x, 1}, {x, 2}, {x, 3}}, Y: y, N: 4})
		assert.Equal(t, int64(2*products*(3*4-2)*8*12*20*3), b.Cost().MACs, "%d products", products)
	}
	assert.Panics(t, func() { s.Conv3DWinograd(&gpu.Batch{}, "winograd", Conv3DWinograd{Weights: w, N: 3}) })
}
