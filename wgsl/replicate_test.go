package wgsl

import (
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestReplicate(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name         string
		T, H, W, C   int
		y0, x0, h, w int // of the output
		row, of      int // x begins at this row of frames of this height; 0: x is the whole frame
	}{
		{"one_pixel", 1, 1, 1, 4, -1, -1, 3, 3, 0, 0},
		{"one_around", 2, 5, 7, 12, -1, -1, 7, 9, 0, 0},
		{"channels_not_a_multiple_of_4", 3, 3, 5, 6, -1, -1, 5, 7, 0, 0},
		{"many_around", 1, 2, 3, 8, -3, -2, 9, 8, 0, 0},
		{"within", 2, 6, 7, 8, 1, 2, 3, 4, 0, 0},
		{"rows_of_larger_frames", 2, 4, 5, 8, -1, -1, 6, 7, 3, 9},
		{"below_alone", 1, 2, 3, 8, 2, -1, 1, 5, 0, 0},
		{"rows_past_65535_groups", 1, 65536, 1, 4, -1, 0, 65538, 1, 0, 0},
		{"wide", 1, 2, 70, 16, -1, -1, 4, 72, 0, 0},
		{"hunyuanvideo", 5, 6, 9, 512, -1, -1, 8, 11, 0, 0},
	} {
		eachKernel(t, "replicate", c.name, dev, func(t *testing.T, s *Set) {
			high := max(c.H, c.of)
			data := integers(1, c.T*high*c.W*c.C, -500, 500)
			part := crop(wide(data), c.T, high, c.W, c.C, c.row, 0, c.H, c.W)
			xs, x := activation("x", s.Elem, c.T, high, c.W, c.C, data)
			ys, y := activation("y", s.Elem, c.T, c.h, c.w, c.C, nil)
			test := gputest.Case{
				Op:  "replicate",
				In:  []gputest.Array{xs},
				Out: ys,
				Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
					whole := x.in(in[0])
					s.Replicate(b, t.Name(), Replicate{Y0: c.y0, X0: c.x0, X: whole.Part(c.row, c.H), XT: 1, Y: y.in(out), YT: 1, N: c.T})
				},
				Want: padded(ref.Replicate(part, c.T, c.H, c.W, c.C, c.y0, c.x0, c.h, c.w), c.C),
			}
			test.Run(t, dev)
		})
	}
}

func TestMirror(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name       string
		T, H, W, C int
		y0, h      int // rows of the output
		top, rows  int // rows of the frames that are available for them
	}{
		{"one_around", 2, 5, 7, 12, -1, 7, 0, 5},
		{"two_pixels", 1, 2, 2, 6, -1, 4, 0, 2},
		{"one_pixel", 3, 1, 1, 4, -1, 3, 0, 1},
		{"band_within", 2, 9, 4, 8, 3, 2, 3, 2},
		{"band_at_the_top", 2, 9, 4, 8, -1, 2, 0, 2},
		{"band_at_the_end", 2, 9, 4, 8, 8, 2, 7, 2},
		{"wide", 1, 2, 70, 16, -1, 4, 0, 2},
	} {
		eachKernel(t, "replicate", "mirror_"+c.name, dev, func(t *testing.T, s *Set) {
			data := integers(1, c.T*c.H*c.W*c.C, -500, 500)
			want := crop(ref.Mirror(wide(data), c.T, c.H, c.W, c.C), c.T, c.H+2, c.W+2, c.C, c.y0+1, 0, c.h, c.W+2)
			xs, x := activation("x", s.Elem, c.T, c.H, c.W, c.C, data)
			ys, y := activation("y", s.Elem, c.T, c.h, c.W+2, c.C, nil)
			test := gputest.Case{
				Op:  "replicate",
				In:  []gputest.Array{xs},
				Out: ys,
				Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
					whole := x.in(in[0])
					s.Replicate(b, t.Name(), Replicate{
						Y0: c.y0 - c.top, X0: -1, Mirror: true, Height: c.H, Top: c.top, X: whole.Part(c.top, c.rows), XT: 1, Y: y.in(out), YT: 1, N: c.T,
					})
				},
				Want: padded(want, c.C),
			}
			test.Run(t, dev)
		})
	}
}
