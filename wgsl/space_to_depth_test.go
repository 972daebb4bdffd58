package wgsl

import (
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestSpaceToDepth(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name               string
		T, H, W, cIn, cOut int // T, H, W of the output
		d                  SpaceToDepth
		around             int // additional rows and columns of the input
	}{
		{"one_pixel", 1, 1, 1, 4, 16, SpaceToDepth{FT: 1, FS: 2, G: 1}, 0},
		{"squares", 2, 3, 5, 8, 32, SpaceToDepth{FT: 1, FS: 2, G: 1}, 0},
		{"of_time", 2, 3, 5, 8, 64, SpaceToDepth{FT: 2, FS: 2, G: 1}, 0},
		{"twice", 1, 3, 5, 8, 64, SpaceToDepth{FT: 1, FS: 2, G: 1}, 0},
		{"means_of_4", 2, 3, 5, 32, 64, SpaceToDepth{FT: 2, FS: 2, G: 4}, 0},
		{"means_of_channels_alone", 2, 3, 5, 64, 4, SpaceToDepth{FT: 1, FS: 1, G: 16}, 0},
		{"first_means_of_channels", 2, 3, 5, 64, 2, SpaceToDepth{FT: 1, FS: 1, G: 16}, 0},
		{"channels_not_a_multiple_of_4", 2, 3, 5, 6, 24, SpaceToDepth{FT: 1, FS: 2, G: 1}, 0},
		{"padded_means", 2, 3, 5, 6, 6, SpaceToDepth{FT: 1, FS: 2, G: 4}, 0},
		{"window", 2, 3, 5, 8, 32, SpaceToDepth{FT: 1, FS: 2, G: 1, Y0: 1, X0: 3}, 5},
		{"wide", 1, 1, 70, 4, 16, SpaceToDepth{FT: 1, FS: 2, G: 1}, 0},
	} {
		for _, add := range []bool{false, true} {
			name := c.name + map[bool]string{true: "_added"}[add]
			eachKernel(t, "space_to_depth", name, dev, func(t *testing.T, s *Set) {
				h, w := c.d.FS*c.H+c.around, c.d.FS*c.W+c.around
				data := integers(1, c.T*c.d.FT*h*w*c.cIn, -500, 500)
				x := crop(wide(data), c.T*c.d.FT, h, w, c.cIn, c.d.Y0, c.d.X0, c.d.FS*c.H, c.d.FS*c.W)
				d := c.d
				d.Add = add
				checkBlocks(t, dev, s, data, [4]int{c.T * d.FT, h, w, c.cIn}, [4]int{c.T, c.H, c.W, c.cOut}, add,
					ref.SpaceToDepth(x, c.T, c.H, c.W, c.cIn, c.cOut, d.FT, d.FS, d.G), func(b *gpu.Batch, x, y Tensor) {
						d := d
						d.X, d.XT, d.Y, d.YT, d.N = x, 1, y, 1, c.T
						s.SpaceToDepth(b, t.Name(), d)
					})
			})
		}
	}
}

func TestDepthToSpace(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name               string
		T, H, W, cIn, cOut int // T, H, W of the input
		d                  DepthToSpace
		h, w               int // of the output; 0: all
	}{
		{"one_pixel", 1, 1, 1, 16, 4, DepthToSpace{FT: 1, FS: 2, Stride: 4, Rep: 1}, 0, 0},
		{"squares", 2, 3, 5, 32, 8, DepthToSpace{FT: 1, FS: 2, Stride: 8, Rep: 1}, 0, 0},
		{"of_time", 2, 3, 5, 64, 8, DepthToSpace{FT: 2, FS: 2, Stride: 8, Rep: 1}, 0, 0},
		{"first_of_a_phase", 1, 3, 5, 64, 8, DepthToSpace{FT: 1, FS: 2, Stride: 16, Rep: 1}, 0, 0},
		{"repeated", 2, 3, 5, 32, 32, DepthToSpace{FT: 2, FS: 2, Stride: 32, Rep: 8}, 0, 0},
		{"channels_alone", 2, 3, 5, 8, 64, DepthToSpace{FT: 1, FS: 1, Stride: 64, Rep: 8}, 0, 0},
		{"channels_not_a_multiple_of_4", 2, 3, 5, 24, 6, DepthToSpace{FT: 1, FS: 2, Stride: 6, Rep: 1}, 0, 0},
		{"padded_repeats", 2, 3, 5, 6, 6, DepthToSpace{FT: 1, FS: 2, Stride: 6, Rep: 4}, 0, 0},
		{"window", 2, 4, 6, 32, 8, DepthToSpace{FT: 1, FS: 2, Stride: 8, Rep: 1, Y0: 3, X0: 1}, 4, 9},
		{"wide", 1, 1, 70, 16, 4, DepthToSpace{FT: 1, FS: 2, Stride: 4, Rep: 1}, 0, 0},
	} {
		for _, add := range []bool{false, true} {
			name := c.name + map[bool]string{true: "_added"}[add]
			eachKernel(t, "depth_to_space", name, dev, func(t *testing.T, s *Set) {
				data := integers(1, c.T*c.H*c.W*c.cIn, -500, 500)
				d := c.d
				d.Add = add
				h, w, frames := c.d.FS*c.H, c.d.FS*c.W, c.T*c.d.FT
				want := ref.DepthToSpace(wide(data), c.T, c.H, c.W, c.cIn, c.cOut, d.FT, d.FS, d.Stride, d.Rep)
				if c.h > 0 {
					want = crop(want, frames, h, w, c.cOut, d.Y0, d.X0, c.h, c.w)
					h, w = c.h, c.w
				}
				checkBlocks(t, dev, s, data, [4]int{c.T, c.H, c.W, c.cIn}, [4]int{frames, h, w, c.cOut}, add, want, func(b *gpu.Batch, x, y Tensor) {
					d := d
					d.X, d.XT, d.Y, d.YT, d.N = x, 1, y, 1, c.T
					s.DepthToSpace(b, t.Name(), d)
				})
			})
		}
	}
}

// checkBlocks runs an operation that computes y from x, of shapes [T, H, W, C], or adds
// to y.
func checkBlocks(t *testing.T, dev *gpu.Device, s *Set, data []float32, in, out [4]int, add bool, want []float64, record func(b *gpu.Batch, x, y Tensor)) {
	t.Helper()
	xs, x := activation("x", s.Elem, in[0], in[1], in[2], in[3], data)
	var residual []float32
	if add {
		residual = integers(2, len(want), -500, 500)
		want = sum(want, residual)
	}
	ys, y := activation("y", s.Elem, out[0], out[1], out[2], out[3], residual)
	test := gputest.Case{
		Op:     "blocks",
		In:     []gputest.Array{xs},
		Out:    ys,
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) { record(b, x.in(in[0]), y.in(out)) },
		Want:   padded(want, out[3]),
		Bound:  bound(s.Elem, boundF32),
	}
	test.Run(t, dev)
}
