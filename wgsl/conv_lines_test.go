//go:build !js

package wgsl

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

func init() { // pages have no such kernels
	paramsOf["conv_lines"] = convPairsAheadParams{}
	paramsOf["conv_lines_columns"] = convPairsAheadParams{}
	paramsOf["line_frames"] = lineFramesParams{}
}

var lineCases = []convVariant{
	{convCase: convCase{"one_pixel", 1, 1, 1, 4, 8, 1, 1, 1, true, false}},
	{convCase: convCase{"a_row_and_a_residual", 2, 1, 9, 8, 16, 1, 1, 1, true, false}},
	{convCase: convCase{"rgb_in", 1, 7, 11, 3, 24, 1, 1, 1, true, false}},
	{convCase: convCase{"rgb_out", 3, 7, 12, 24, 3, 1, 1, 1, false, false}},
	{convCase: convCase{"primes", 2, 13, 17, 5, 7, 1, 1, 1, false, false}},
	{convCase: convCase{"group_and_one_segment", 1, 65, 8, 4, 8, 1, 1, 1, false, false}},
	{convCase: convCase{"width_128", 1, 6, 10, 128, 128, 1, 1, 1, false, false}},
	{convCase: convCase{"width_512", 1, 2, 3, 512, 32, 1, 1, 1, false, false}},
	{convCase: convCase{"window", 2, 4, 9, 12, 20, 1, 1, 1, false, false}, y0: 2, x0: 3, h: 9, w: 23},
	{convCase: convCase{"window_wider_than_x", 1, 9, 25, 5, 7, 1, 1, 1, false, false}, y0: -3, x0: -9, h: 3, w: 5},
}

func TestConvLines(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range lineCases {
		eachKernelIn(t, []Elem{F32}, "conv_lines", c.name, dev, func(t *testing.T, s *Set) {
			for _, weights := range []Elem{F32, Packed} {
				test := lineCase(s, c, weights)
				test.Run(t, dev)
			}
		})
	}
}

// Sums that are made for few rows at a time give the same.
func TestLinesInRows(t *testing.T) {
	inRows(t, "conv_lines", lineCases, []int{4}, func(c convVariant, _ int) int64 {
		return lineRow(&Tensor{C: c.C}, c.W)
	}, func(s *Set, c convVariant, _ int) gputest.Case { return lineCase(s, c, F32) })
}

func lineCase(s *Set, c convVariant, weights Elem) gputest.Case {
	h, w := c.size()
	x := random(1, c.T*h*w*c.C, 0, 1)
	weight := gputest.Round(random(2, c.O*c.C*9, 0, math.Sqrt(1/float64(c.C*9))), format(weights))
	bias := random(3, c.O, 0, 1)
	want := c.want(wide(x), wide(weight), wide(bias))
	var residual []float32
	if c.add {
		residual = random(4, c.T*c.H*c.W*c.O, 0, 1)
	}
	for i := range residual {
		want[i] += float64(residual[i])
	}
	xs, xt := activation("x", F32, c.T, h, w, c.C, x)
	ys, y := activation("y", F32, c.T, c.H, c.W, c.O, residual)
	shape := c.shape()
	packing := s.ConvPacking(shape, 1)
	return gputest.Case{
		Op: "conv_lines", Out: ys,
		In:      []gputest.Array{xs, weightArray(weight, packing, shape, weights, nil), biasArray(bias)},
		Scratch: []int64{s.LineBytes(shape), s.LineSums(c.O, &xt, c.W)},
		Record: func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
			lines := ConvLines{Weights: Weights{Weight: in[1], Bias: in[2], Elem: weights, Packing: packing}, Tap: Tap{xt.in(in[0]), 1}, Y0: c.y0, X0: c.x0, Y: y.in(out), T: 1, N: c.T, Add: c.add, Sums: scratch[1]}
			if s.Lined(packing, shape, linePixels(s.info)) {
				lines.Weights = s.LineTaps(b, "columns", lines.Weights, shape, scratch[0])
			}
			s.ConvLines(b, "conv_lines", lines)
		},
		Want: padded(want, c.O), Bound: boundSum,
	}
}

// Frames are made so on Mesa's drivers for processors, of many pixels in f32.
func TestLined(t *testing.T) {
	one := Shape{O: 128, I: 128, KT: 1, KS: 3}
	for name, info := range map[string]gpu.Info{"ahead": llvmpipe("Mesa 25.0.7-2 (LLVM 15.0.6) 0.0.1"), "columns": llvmpipe("Mesa 26.2.6 (LLVM 22.1.8) 0.0.1"), "plain": {}} {
		s, err := NewSet(F32, info, nil)
		require.NoError(t, err)
		packing := s.ConvPacking(one, 1)
		assert.Equal(t, name, s.lines(one).name)
		assert.Equal(t, name != "plain", s.Lined(packing, one, linePixels(info)))
		assert.False(t, s.Lined(packing, one, linePixels(info)-1))
		assert.False(t, s.Lined(packing, Shape{O: 128, I: 128, KT: 3, KS: 3}, linePixels(info)))
		s, err = NewSet(F32, info, Choices(nil).Winograd(info, false))
		require.NoError(t, err)
		assert.False(t, s.Lined(packing, one, linePixels(info)))
		s, err = NewSet(Packed, info, nil)
		require.NoError(t, err)
		assert.False(t, s.Lined(packing, one, linePixels(info)), "of halves")
	}
}
