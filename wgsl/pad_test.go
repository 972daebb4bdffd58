package wgsl

import (
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestPad(t *testing.T) {
	dev := gputest.Open(t)
	cases := []struct {
		name       string
		T, H, W, C int
		margin     int
		mirror     bool
	}{
		{"edges", 2, 3, 5, 12, 1, false},
		{"mirrored", 2, 3, 5, 12, 1, true},
		{"channels_6_padded", 1, 4, 3, 6, 1, true},
		{"margin_2", 1, 3, 4, 8, 2, true},
		{"two_pixels", 1, 2, 2, 4, 1, true},
		{"one_pixel", 3, 1, 1, 4, 1, true}, // no other to mirror
		{"cut_up", 2, 2, 70, 12, 1, true},
		{"wide", 1, 1, 300, 4, 1, false},
	}
	for _, c := range cases {
		eachKernel(t, "pad", c.name, dev, func(t *testing.T, s *Set) {
			data := integers(1, c.T*c.H*c.W*c.C, -2000, 2000)
			xs, x := activation("x", s.Elem, c.T, c.H, c.W, c.C, data)
			ys, y := activation("y", s.Elem, c.T, c.H+2*c.margin, c.W+2*c.margin, c.C, nil)
			test := gputest.Case{
				Op:  "pad",
				In:  []gputest.Array{xs},
				Out: ys,
				Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
					s.Pad(b, t.Name(), Pad{Margin: c.margin, Mirror: c.mirror, X: x.in(in[0]), XT: 1, Y: y.in(out), YT: 1, N: c.T, Height: c.H})
					if c.name == "cut_up" {
						slow(b)
					}
				},
				Want: padded(ref.Pad(wide(data), c.T, c.H, c.W, c.C, c.margin, c.mirror), c.C),
			}
			test.Run(t, dev)
		})
	}
}
