package wgsl

import (
	"strings"
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestUnpatchify(t *testing.T) {
	dev := gputest.Open(t)
	cases := []struct {
		name            string
		T, H, W, C      int
		patch, from, to int // frames: from of x goes to to of y
	}{
		{"one_patch", 1, 1, 1, 3, 2, 0, 0},
		{"rgb", 3, 5, 7, 3, 2, 0, 0},
		{"rgba", 2, 5, 7, 4, 2, 0, 0},
		{"last_frame_to_the_first", 3, 3, 5, 3, 2, 2, 0},
		{"first_frame_to_the_last", 3, 3, 5, 3, 2, 0, 2},
		{"patch_3", 2, 3, 5, 3, 3, 0, 0}, // 27 channels, padded
		{"patch_1", 1, 3, 5, 3, 1, 0, 0},
		{"channels_5", 1, 3, 5, 5, 2, 0, 0},
		{"channels_12", 1, 3, 5, 12, 2, 0, 0},
		{"cut_up", 3, 2, 70, 3, 2, 0, 0},
		{"rows_first", 2, 5, 7, 3, 2, 0, 0},
		{"rows_first_patch_3", 1, 3, 5, 4, 3, 0, 0},
		{"one_over_a_workgroup", 1, 2, 33, 3, 2, 0, 0},
	}
	for _, c := range cases {
		eachKernel(t, "unpatchify", c.name, dev, func(t *testing.T, s *Set) {
			n := c.T - max(c.from, c.to)
			rows := strings.HasPrefix(c.name, "rows_first")
			cIn := c.C * c.patch * c.patch
			size := c.H * c.W * cIn
			data := integers(1, c.T*size, -2000, 2000)
			want := make([]float64, c.T*size)
			copy(want[c.to*size:], ref.Unpatchify(wide(data)[c.from*size:], n, c.H, c.W, c.C, c.patch, rows))
			xs, x := activation("x", s.Elem, c.T, c.H, c.W, cIn, data)
			ys, y := activation("y", s.Elem, c.T, c.patch*c.H, c.patch*c.W, c.C, nil)
			if n < c.T { // frames that are not written stay unchanged
				ys, _ = activation("y", s.Elem, c.T, c.patch*c.H, c.patch*c.W, c.C, make([]float32, c.T*size))
			}
			test := gputest.Case{
				Op:  "unpatchify",
				In:  []gputest.Array{xs},
				Out: ys,
				Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
					s.Unpatchify(b, t.Name(), Unpatchify{
						X: x.in(in[0]), XT: 1 + c.from, Y: y.in(out), YT: 1 + c.to, N: n, Patch: c.patch, Rows: rows,
					})
					if c.name == "cut_up" {
						slow(b)
					}
				},
				Want: padded(want, c.C),
			}
			test.Run(t, dev)
		})
	}
}
