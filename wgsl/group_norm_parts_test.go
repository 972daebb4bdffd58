package wgsl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

// Frames larger than a binding are normed in parts, with the moments of the whole
// frame.
func TestGroupNormInParts(t *testing.T) {
	dev := gputest.Open(t)
	const T, H, W, C, groups = 3, 37, 41, 24, 8
	data := random(1, T*H*W*C, 100, 1)
	gamma, beta := random(2, C, 1, 0.3), random(3, C, 0, 0.5)
	s := plain(t, F32)
	xs, x := activation("x", s.Elem, T, H, W, C, data)
	ys, y := activation("y", s.Elem, T, H, W, C, nil)
	g := GroupNorm{Groups: groups, Eps: 1e-6, X: x, N: 1, Most: 100 << 10}
	partials, factors := g.Scratch()
	test := gputest.Case{
		Op:      "group_norm",
		In:      []gputest.Array{xs, {Label: "gamma", Data: gamma}, {Label: "beta", Data: beta}},
		Out:     ys,
		Scratch: []int64{partials, factors},
		Record: func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
			g := g
			whole, made := x.in(in[0]), y.in(out)
			g.Gamma, g.Beta, g.Partials, g.Factors = in[1], in[2], scratch[0].All(), scratch[1].All()
			for f := 1; f <= T; f++ {
				g.X, g.XT = whole, f
				s.GroupFactors(b, t.Name(), &g)
			}
			for f := 1; f <= T; f++ {
				for y0 := 0; y0 < H; y0 += 5 {
					n := min(5, H-y0)
					g.X, g.Y, g.XT, g.YT = whole.Part(y0, n), made.Part(y0, n), f, f
					s.GroupNormed(b, t.Name(), &g)
				}
			}
			for _, c := range b.Commands {
				for _, v := range c.Bindings {
					require.LessOrEqual(t, v.Bytes(), g.Most, c.Label)
				}
			}
		},
		Want:  padded(ref.GroupNorm(wide(data), T, H*W, C, groups, wide(gamma), wide(beta), 1e-6, false), C),
		Bound: boundF32,
	}
	test.Run(t, dev)
}
