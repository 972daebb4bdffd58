//go:build !js

package wgsl

import (
	"math"
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

var rowsCases = []convVariant{
	{convCase: convCase{"one_pixel", 1, 1, 1, 4, 8, 1, 1, 1, true, false}},
	{convCase: convCase{"a_row_and_a_residual", 2, 1, 9, 8, 16, 1, 1, 1, true, false}},
	{convCase: convCase{"rgb_in", 1, 7, 11, 3, 24, 1, 1, 1, true, false}},
	{convCase: convCase{"rgb_out", 3, 7, 12, 24, 3, 1, 1, 1, false, false}},
	{convCase: convCase{"primes", 2, 13, 17, 5, 7, 1, 1, 1, false, false}},
	{convCase: convCase{"group_and_one_segment", 1, 65, 8, 4, 8, 1, 1, 1, false, false}},
	{convCase: convCase{"width_128", 1, 6, 10, 128, 128, 1, 1, 1, false, false}},
	{convCase: convCase{"width_512", 1, 2, 3, 512, 32, 1, 1, 1, false, false}},
	{convCase: convCase{"two_frames", 2, 9, 10, 24, 16, 2, 1, 1, false, false}},
	{convCase: convCase{"three_frames", 3, 7, 9, 12, 24, 3, 1, 1, true, false}},
	{convCase: convCase{"three_frames_of_five_channels", 2, 19, 17, 5, 7, 3, 1, 1, false, false}},
	{convCase: convCase{"relu", 1, 6, 9, 24, 16, 1, 1, 1, true, false}, relu: true},
	{convCase: convCase{"window", 2, 4, 9, 12, 20, 1, 1, 1, false, false}, y0: 2, x0: 3, h: 9, w: 23},
	{convCase: convCase{"window_wider_than_x", 1, 9, 25, 5, 7, 1, 1, 1, false, false}, y0: -3, x0: -9, h: 3, w: 5},
}

func TestConv3DWinogradRows(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range rowsCases {
		eachKernelIn(t, []Elem{F32}, nil, "conv3d_winograd_rows", c.name, dev, func(t *testing.T, s *Set) {
			for _, weights := range []Elem{F32, Packed} {
				test := rowsCase(s, c, weights)
				test.Run(t, dev)
			}
		})
	}
}

func rowsCase(s *Set, c convVariant, weights Elem) gputest.Case {
	h, w := c.size()
	in := c.T + c.kt - 1
	x := random(1, in*h*w*c.C, 0, 1)
	weight := gputest.Round(random(2, c.O*c.C*9*c.kt, 0, math.Sqrt(1/float64(c.C*9*c.kt))), format(weights))
	bias := random(3, c.O, 0, 1)
	want := c.want(wide(x), wide(weight), wide(bias))
	var residual []float32
	if c.add {
		residual = random(4, c.T*c.H*c.W*c.O, 0, 1)
	}
	for i := range residual {
		want[i] += float64(residual[i])
	}
	if c.relu {
		want = rectified(want)
	}
	xs, xt := activation("x", F32, in, h, w, c.C, x)
	ys, y := activation("y", F32, c.T, c.H, c.W, c.O, residual)
	shape := c.shape()
	packing := s.ConvPacking(shape, 1)
	return gputest.Case{
		Op: "conv3d_winograd_rows", Out: ys,
		In:      []gputest.Array{xs, weightArray(weight, packing, shape, weights, nil), biasArray(bias)},
		Scratch: []int64{s.WinogradRowBytes(shape), max(4, s.WinogradRowSums(c.O, &xt, c.W, c.kt))},
		Record: func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
			rows := Conv3DWinogradRows{Weights: Weights{Weight: in[1], Bias: in[2], Elem: weights, Packing: packing}, Y0: c.y0, X0: c.x0, Y: y.in(out), T: 1, N: c.T, Add: c.add, ReLU: c.relu, Sums: scratch[1]}
			for k := range c.kt {
				rows.Taps = append(rows.Taps, Tap{xt.in(in[0]), 1 + k})
			}
			if s.winogradRows(shape).packing == winograd4x8 && *packing == *winograd4x8 {
				rows.Weights = s.WinogradRowWeights(b, "columns", rows.Weights, shape, scratch[0])
			}
			s.Conv3DWinogradRows(b, "conv3d_winograd_rows", rows)
		},
		Want: padded(want, c.O), Bound: boundSum,
	}
}
