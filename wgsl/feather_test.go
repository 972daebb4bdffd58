package wgsl

import (
	"slices"
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestFeatherBlend(t *testing.T) {
	dev := gputest.Open(t)
	cases := []struct {
		name                      string
		T, H, W, C, y0, x0        int
		tileH, tileW, rows, colms int
		exact                     bool // whole numbers, with weights in quarters
	}{
		{"one_pixel", 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, true},
		{"whole_canvas", 2, 5, 7, 3, 0, 0, 5, 7, 5, 7, true},
		{"inner", 2, 11, 13, 3, 3, 5, 4, 6, 4, 6, false},
		{"cropped_rows_and_columns", 2, 11, 13, 3, 4, 2, 6, 8, 5, 7, true},
		{"last_corner", 3, 9, 8, 4, 5, 3, 4, 5, 4, 5, false},
		{"moments", 1, 6, 7, 32, 2, 1, 4, 5, 3, 5, false},
		{"channels_not_a_multiple_of_4", 1, 6, 7, 6, 2, 1, 4, 5, 4, 5, true},
		{"one_column_over_a_workgroup", 1, 2, 70, 4, 0, 3, 2, 65, 2, 65, true},
		{"rows_past_65535_groups", 1, 65539, 1, 4, 1, 0, 65537, 1, 65537, 1, true},
	}
	for _, c := range cases {
		eachKernel(t, "feather_blend", c.name, dev, func(t *testing.T, s *Set) {
			n, limit := c.T*c.tileH*c.tileW*c.C, boundF32
			data, before := random(1, n, 0, 1), random(2, c.T*c.H*c.W*c.C, 0, 1)
			wy, wx := random(3, c.rows, 0.5, 0.1), random(4, c.colms, 0.5, 0.1)
			if c.exact {
				limit = 0
				data, before = integers(1, n, -99, 99), integers(2, len(before), -99, 99)
				wy, wx = integers(3, c.rows, 0, 4), integers(4, c.colms, 0, 4)
				for _, w := range [][]float32{wy, wx} {
					for i := range w {
						w[i] /= 4
					}
				}
			}
			data = gputest.Round(data, format(s.Elem))
			want := wide(before)
			ref.FeatherBlend(want, c.T, c.H, c.W, c.C, wide(data), c.tileH, c.tileW, wide(wy), wide(wx), c.y0, c.x0)
			tiles, tile := activation("tile", s.Elem, c.T, c.tileH, c.tileW, c.C, data)
			canvases, canvas := activation("canvas", F32, c.T, c.H, c.W, c.C, before)
			test := gputest.Case{
				Op:  "feather_blend",
				In:  []gputest.Array{tiles, {Label: "wy", Data: wy}, {Label: "wx", Data: wx}},
				Out: canvases,
				Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
					s.FeatherBlend(b, t.Name(), FeatherBlend{
						Y0: c.y0, X0: c.x0, Wy: in[1].All(), Wx: in[2].All(),
						Tile: tile.in(in[0]), TileT: 1, Canvas: canvas.in(out), CanvasT: 1, N: c.T,
					})
				},
				Want:  padded(want, c.C),
				Bound: limit,
			}
			test.Run(t, dev)
		})
	}
}

// The whole operation: a canvas is cleared, gets two overlapping tiles, and is
// normalised. Without a tile the result is 0.
func TestFeather(t *testing.T) {
	dev := gputest.Open(t)
	const T, H, W, C = 2, 6, 9, 3
	wy := []float32{1, 1, 1, 0.5, 0}
	left, right := []float32{1, 1, 1, 0.75, 0.25}, []float32{0.25, 0.75, 1, 1}
	eachKernel(t, "feather_blend", "two_tiles", dev, func(t *testing.T, s *Set) {
		a := gputest.Round(random(1, T*5*5*C, 0, 1), format(s.Elem))
		b := gputest.Round(random(2, T*6*4*C, 0, 1), format(s.Elem))
		canvas, count := make([]float64, T*H*W*C), make([]float64, H*W)
		ref.FeatherBlend(canvas, T, H, W, C, wide(a), 5, 5, wide(wy), wide(left), 0, 0)
		ref.FeatherBlend(canvas, T, H, W, C, wide(b), 6, 4, wide(wy), wide(right), 1, 3)
		for _, side := range []struct {
			wx     []float32
			y0, x0 int
		}{{left, 0, 0}, {right, 1, 3}} {
			ref.FeatherBlend(count, 1, H, W, 1, slices.Repeat([]float64{1}, 30), 5, len(side.wx), wide(wy), wide(side.wx), side.y0, side.x0)
		}
		counts := make([]float32, len(count))
		for i, v := range count {
			counts[i] = float32(v)
		}
		as, tileA := activation("a", s.Elem, T, 5, 5, C, a)
		bs, tileB := activation("b", s.Elem, T, 6, 4, C, b)
		ys, y := activation("y", F32, T, H, W, C, nil)
		plain := Tensor{Elem: F32, T: T, H: H, W: W, C: C}
		test := gputest.Case{
			Op: "feather",
			In: []gputest.Array{as, bs, {Label: "count", Data: counts},
				{Label: "wy", Data: wy}, {Label: "left", Data: left}, {Label: "right", Data: right}},
			Out:     ys,
			Scratch: []int64{plain.Bytes()},
			Record: func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
				canvas := plain.in(scratch[0])
				b.Clear("clear", scratch[0].All())
				s.FeatherBlend(b, "left", FeatherBlend{
					Wy: in[3].All(), Wx: in[4].All(), Tile: tileA.in(in[0]), TileT: 1, Canvas: canvas, N: T,
				})
				s.FeatherBlend(b, "right", FeatherBlend{
					Y0: 1, X0: 3, Wy: in[3].All(), Wx: in[5].All(), Tile: tileB.in(in[1]), TileT: 1, Canvas: canvas, N: T,
				})
				s.FeatherNormalise(b, "normalise", FeatherNormalise{Canvas: canvas, Count: in[2], Y: y.in(out), YT: 1, N: T})
			},
			Want:  padded(ref.FeatherNormalise(canvas, T, H*W, C, count), C),
			Bound: boundF32,
		}
		test.Run(t, dev)
	})
}

func TestFeatherNormalise(t *testing.T) {
	dev := gputest.Open(t)
	s := plain(t, F32)
	for _, c := range []struct {
		name       string
		T, H, W, C int
		counts     []float32 // repeated over the pixels
		limit      float64
	}{
		{"count_1_changes_nothing", 2, 7, 5, 3, []float32{1}, 0},
		{"powers_of_2", 1, 16, 17, 16, []float32{0.5, 1, 2}, 0},
		{"fractions", 3, 7, 5, 32, []float32{0.3, 1.7, 3}, boundF32},
		{"below_the_floor", 1, 3, 3, 4, []float32{0, 1e-9, 2e-6}, boundF32},
	} {
		t.Run(c.name, func(t *testing.T) {
			pixels := c.H * c.W
			count := slices.Repeat(c.counts, pixels)[:pixels]
			data := random(1, c.T*pixels*c.C, 0, 1)
			cs, canvas := activation("canvas", F32, c.T, c.H, c.W, c.C, data)
			ys, y := activation("y", F32, c.T, c.H, c.W, c.C, nil)
			test := gputest.Case{
				Op:  "feather_normalise",
				In:  []gputest.Array{cs, {Label: "count", Data: count}},
				Out: ys,
				Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
					s.FeatherNormalise(b, t.Name(), FeatherNormalise{
						Canvas: canvas.in(in[0]), CanvasT: 1, Count: in[1], Y: y.in(out), YT: 1, N: c.T,
					})
				},
				Want:  padded(ref.FeatherNormalise(wide(data), c.T, pixels, c.C, wide(count)), c.C),
				Bound: c.limit,
			}
			test.Run(t, dev)
		})
	}
}
