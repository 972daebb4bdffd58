package wgsl

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestSumTaps(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name  string
		o, i  int
		first int
		whole bool
	}{
		{"one_block", 8, 4, 3, false},
		{"one_block_in_two", 8, 4, 2, false},
		{"exact_integers", 12, 20, 3, true},
		{"primes", 7, 5, 2, false},
		{"rgb_in", 24, 3, 3, false},
		{"width_128", 128, 128, 2, false},
		{"width_512", 40, 512, 3, false},
	} {
		for _, weights := range []Elem{F32, Packed} {
			name := c.name
			if weights == Packed {
				name += "/half_weights"
			}
			eachKernel(t, "sum_taps", name, dev, func(t *testing.T, s *Set) {
				shape, summed := Shape{O: c.o, I: c.i, KT: 3, KS: 3}, Shape{O: c.o, I: c.i, KT: 4 - c.first, KS: 3}
				w := gputest.Round(random(1, c.o*c.i*27, 0, 1), format(weights))
				if c.whole {
					w = integers(1, c.o*c.i*27, -3, 3)
				}
				packing := s.ConvPacking(shape, 1)
				src := ref.SumTaps(wide(w), c.o*c.i, 3, 9, c.first)
				sums := make([]float32, len(src))
				for i, v := range src {
					sums[i] = float32(v)
				}
				want := weightArray(sums, packing, summed, s.summed(), nil).Data
				test := gputest.Case{
					Op:  "sum_taps",
					In:  []gputest.Array{weightArray(w, packing, shape, weights, nil)},
					Out: gputest.Array{Label: "y", Format: format(s.summed()), Len: len(want)},
					Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
						got := s.SumTaps(b, "sum_taps", SumTaps{Weights: Weights{Weight: in[0], Elem: weights, Packing: packing}, Shape: shape, First: c.first, To: out})
						assert.Equal(t, s.summed(), got.Elem)
						assert.Same(t, packing, got.Packing)
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
