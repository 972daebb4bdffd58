package wgsl

import (
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestFade(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name    string
		H, W, C int
		weight  float32
	}{
		{"one_pixel", 1, 1, 3, 0.25},
		{"all_of_the_first", 3, 5, 4, 0},
		{"channels_not_a_multiple_of_4", 5, 7, 6, 0.5},
		{"one_over_a_workgroup", 1, 257, 3, 0.75},
	} {
		eachKernel(t, "fade", c.name, dev, func(t *testing.T, s *Set) {
			n := c.H * c.W * c.C
			a, b := integers(1, n, -400, 400), integers(2, n, -400, 400) // whole numbers, and quarters of them, are exact
			for i := range n {
				a[i], b[i] = 4*float32(int(a[i])/4), 4*float32(int(b[i])/4)
			}
			as, from := activation("a", s.Elem, 1, c.H, c.W, c.C, a)
			bs, to := activation("b", s.Elem, 1, c.H, c.W, c.C, b)
			ys, y := activation("y", s.Elem, 1, c.H, c.W, c.C, nil)
			test := gputest.Case{
				Op:  "fade",
				In:  []gputest.Array{as, bs},
				Out: ys,
				Record: func(batch *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
					s.Fade(batch, t.Name(), Fade{A: Tap{from.in(in[0]), 1}, B: Tap{to.in(in[1]), 1}, Y: Tap{y.in(out), 1}, Weight: c.weight})
				},
				Want: padded(ref.Fade(wide(a), wide(b), float64(c.weight)), c.C),
			}
			test.Run(t, dev)
		})
	}
}
