package wgsl

import (
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestSpatialNorm(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name               string
		T, H, W, C, groups int
		t, h, w            int
	}{
		{"one_pixel", 1, 1, 1, 4, 2, 1, 1, 1},
		{"same_size", 3, 5, 7, 8, 4, 3, 5, 7},
		{"squares_of_2", 1, 6, 10, 24, 8, 1, 3, 5},
		{"squares_of_8", 1, 24, 16, 8, 8, 1, 3, 2},
		{"frames_doubled", 4, 4, 6, 12, 3, 2, 2, 3},
		{"first_frame_by_itself", 5, 4, 6, 12, 3, 3, 2, 3},
		{"frames_in_fours", 8, 3, 5, 4, 1, 2, 3, 5},
		{"first_by_itself_and_fours", 9, 4, 4, 32, 32, 3, 1, 1},
		{"channels_not_a_multiple_of_4", 3, 4, 6, 6, 2, 3, 2, 3},
		{"one_over_a_workgroup", 1, 1, 257, 4, 1, 1, 1, 257},
		{"cogvideox", 5, 6, 10, 512, 32, 3, 3, 5},
	} {
		eachKernel(t, "spatial_norm", c.name, dev, func(t *testing.T, s *Set) {
			data := gputest.Round(random(1, c.T*c.H*c.W*c.C, 0.5, 2), format(s.Elem))
			small := c.t * c.h * c.w * c.C
			scales, sums := gputest.Round(random(4, small, 1, 0.5), format(s.Elem)), gputest.Round(random(5, small, 0, 0.5), format(s.Elem))
			gamma, beta := random(2, c.C, 1, 0.3), random(3, c.C, 0, 0.5)
			xs, x := activation("x", s.Elem, c.T, c.H, c.W, c.C, data)
			ts, times := activation("times", s.Elem, c.t, c.h, c.w, c.C, scales)
			ps, plus := activation("plus", s.Elem, c.t, c.h, c.w, c.C, sums)
			ys, y := activation("y", s.Elem, c.T, c.H, c.W, c.C, nil)
			g := GroupNorm{Groups: c.groups, Eps: 1e-6, X: x, N: c.T, Clip: true}
			partials, factors := g.Scratch()
			normed := ref.GroupNorm(wide(data), 1, c.T*c.H*c.W, c.C, c.groups, wide(gamma), wide(beta), 1e-6, false)
			want := ref.SpatialNorm(normed, c.T, c.H, c.W, c.C, wide(scales), wide(sums), c.t, c.h, c.w)
			head := 0
			if c.T > 1 {
				head = c.T % 2
			}
			record := func(b *gpu.Batch, in []*gpu.Buffer, x, y Tensor, scratch []*gpu.Buffer) {
				g.X, g.XT, g.Gamma, g.Beta, g.Partials, g.Factors = x, 1, in[0], in[1], scratch[0].All(), scratch[1].All()
				s.GroupFactors(b, t.Name(), &g)
				n := SpatialNorm{Factors: g.Factors, X: x, Y: y, Times: times.in(in[2]), Plus: plus.in(in[3]), Each: 1}
				if c.t > head {
					n.Each = (c.T - head) / (c.t - head)
				}
				for _, r := range Runs(c.T, 3, func(t, _ int) bool { return t >= head }) { // some begin within the frames that share a smaller one
					n.XT, n.YT, n.N, n.ZT, n.Lead = 1+r.T, 1+r.T, r.N, 1, 0
					if r.T >= head {
						n.ZT, n.Lead = 1+head+(r.T-head)/n.Each, (r.T-head)%n.Each
					}
					s.SpatialNorm(b, t.Name(), n)
				}
			}
			test := gputest.Case{
				Op:      "spatial_norm",
				In:      []gputest.Array{{Label: "gamma", Data: gamma}, {Label: "beta", Data: beta}, ts, ps, xs},
				Out:     ys,
				Scratch: []int64{partials, factors},
				Record: func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
					record(b, in, x.in(in[4]), y.in(out), scratch)
				},
				Want:  padded(want, c.C),
				Bound: bound(s.Elem, boundF32),
			}
			test.Run(t, dev)

			test.In, test.Out.Data = test.In[:4], xs.Data
			test.Record = func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
				record(b, in, y.in(out), y.in(out), scratch)
			}
			test.Run(t, dev)
		})
	}
}
