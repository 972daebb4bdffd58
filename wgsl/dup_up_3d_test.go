package wgsl

import (
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

// dupUpCase enlarges T frames of HxW pixels. It computes h x w pixels in a number of
// the time phases.
type dupUpCase struct {
	name      string
	T, H, W   int
	cIn, cOut int
	d         DupUp3D
	h, w      int
	phases    int
}

func TestDupUp3D(t *testing.T) {
	dev := gputest.Open(t)
	cases := []dupUpCase{
		{"nearest", 2, 3, 5, 96, 96, DupUp3D{FT: 2, FS: 2}, 6, 10, 2},
		{"nearest_head", 1, 3, 5, 96, 96, DupUp3D{FT: 2, FS: 2}, 6, 10, 1},
		{"rows_of_two_channels", 3, 3, 5, 160, 80, DupUp3D{FT: 1, FS: 2}, 6, 10, 1},
		{"channels_doubled", 1, 3, 5, 48, 96, DupUp3D{FT: 1, FS: 2}, 6, 10, 1},
		{"every_phase_its_channel", 2, 3, 2, 160, 20, DupUp3D{FT: 2, FS: 2}, 6, 4, 2},
		{"every_phase_its_channel_head", 2, 3, 2, 160, 20, DupUp3D{FT: 2, FS: 2}, 6, 4, 1},
		{"two_of_three_phases", 2, 3, 2, 36, 12, DupUp3D{FT: 3, FS: 1}, 3, 2, 2},
		{"repeat_5_of_3_phases", 2, 3, 5, 12, 20, DupUp3D{FT: 3, FS: 1}, 3, 5, 3},
		{"repeat_3_of_9_phases", 1, 3, 2, 48, 16, DupUp3D{FT: 1, FS: 3}, 9, 6, 1},
		{"padded_out", 2, 3, 5, 12, 6, DupUp3D{FT: 1, FS: 2}, 6, 10, 1},
		{"padded_in", 2, 3, 5, 6, 12, DupUp3D{FT: 2, FS: 2}, 6, 10, 2},
		{"padded_in_last_vector", 2, 3, 5, 10, 5, DupUp3D{FT: 1, FS: 2}, 6, 10, 1},
		{"identity", 2, 3, 5, 20, 20, DupUp3D{FT: 1, FS: 1}, 3, 5, 1},
		{"window", 2, 7, 9, 20, 20, DupUp3D{FT: 2, FS: 2, Y0: 3, X0: 5}, 5, 9, 2},
		{"window_of_rows_of_two_channels", 2, 7, 9, 24, 12, DupUp3D{FT: 1, FS: 2, Y0: 1, X0: 1}, 13, 17, 1},
		{"window_of_the_last_pixel", 1, 7, 9, 12, 12, DupUp3D{FT: 2, FS: 2, Y0: 13, X0: 17}, 1, 1, 1},
		{"depth_to_space", 2, 3, 5, 96, 12, DupUp3D{FT: 2, FS: 2, Turns: true, Write: true}, 6, 10, 2},
		{"depth_to_space_head", 1, 3, 5, 80, 10, DupUp3D{FT: 2, FS: 2, Turns: true, Write: true}, 6, 10, 1},
		{"depth_to_time", 2, 3, 5, 24, 12, DupUp3D{FT: 2, FS: 1, Turns: true, Write: true}, 3, 5, 2},
		{"in_turns_of_2", 2, 3, 5, 16, 8, DupUp3D{FT: 2, FS: 2, Turns: true}, 6, 10, 2},
		{"in_turns_of_3", 1, 3, 5, 12, 9, DupUp3D{FT: 1, FS: 2, Turns: true}, 6, 10, 1},
		{"written_padded_out", 2, 3, 5, 12, 6, DupUp3D{FT: 1, FS: 2, Write: true}, 6, 10, 1},
		{"cut_up", 2, 2, 32, 12, 12, DupUp3D{FT: 2, FS: 2}, 4, 64, 2},
		{"wide", 1, 1, 150, 12, 12, DupUp3D{FT: 2, FS: 2}, 2, 300, 2},
	}
	for _, c := range cases {
		eachKernel(t, "dup_up_3d", c.name, dev, func(t *testing.T, s *Set) { c.check(t, dev, s) })
	}
}

func (c dupUpCase) check(t *testing.T, dev *gpu.Device, s *Set) {
	t.Helper()
	data := integers(1, c.T*c.H*c.W*c.cIn, -500, 500)
	enlarged := ref.DupUp3D
	if c.d.Turns {
		enlarged = ref.Shuffle3D
	}
	all := enlarged(wide(data), c.T, c.H, c.W, c.cIn, c.cOut, c.d.FT, c.d.FS)
	all = crop(all, c.T*c.d.FT, c.H*c.d.FS, c.W*c.d.FS, c.cOut, c.d.Y0, c.d.X0, c.h, c.w)
	var want []float64
	frame := c.h * c.w * c.cOut
	for t := range c.T {
		for p := c.d.FT - c.phases; p < c.d.FT; p++ {
			want = append(want, all[(t*c.d.FT+p)*frame:][:frame]...)
		}
	}
	residual := integers(2, len(want), -500, 500)
	if c.d.Write {
		residual = nil
	} else {
		want = sum(want, residual)
	}
	runDupUp(t, dev, s, c, data, residual, want)
}

func runDupUp(t *testing.T, dev *gpu.Device, s *Set, c dupUpCase, data, residual []float32, want []float64) {
	t.Helper()
	xs, x := activation("x", s.Elem, c.T, c.H, c.W, c.cIn, data)
	ys, y := activation("y", s.Elem, c.T*c.phases, c.h, c.w, c.cOut, residual)
	test := gputest.Case{
		Op:  "dup_up_3d",
		In:  []gputest.Array{xs},
		Out: ys,
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			d := c.d
			d.X, d.XT, d.N, d.Y, d.YT, d.Phases = x.in(in[0]), 1, c.T, y.in(out), 1, c.phases
			s.DupUp3D(b, t.Name(), d)
			if c.name == "cut_up" {
				slow(b)
			}
		},
		Want: padded(want, c.cOut),
	}
	test.Run(t, dev)
}

// The stages of Wan 2.2's decoder, written out: nearest in time and space, where the
// head of a clip keeps one frame of two; and rows that alternate between even and odd
// channels.
func TestDupUp3DStages(t *testing.T) {
	dev := gputest.Open(t)
	const T, H, W, C = 2, 3, 5, 20
	data := integers(1, T*H*W*C, -500, 500)
	at := func(t, r, s, c int) float64 { return float64(data[((t*H+r)*W+s)*C+c]) }
	nearest := func(t, r, s, o int) float64 { return at(t/2, r/2, s/2, o) }
	stages := []struct {
		dupUpCase
		want func(t, r, s, o int) float64
	}{
		{dupUpCase{"0", T, H, W, C, C, DupUp3D{FT: 2, FS: 2}, 2 * H, 2 * W, 2}, nearest},
		{dupUpCase{"0_head", 1, H, W, C, C, DupUp3D{FT: 2, FS: 2}, 2 * H, 2 * W, 1}, nearest},
		{dupUpCase{"2", T, H, W, C, C / 2, DupUp3D{FT: 1, FS: 2}, 2 * H, 2 * W, 1}, func(t, r, s, o int) float64 {
			return at(t, r/2, s/2, 2*o+r%2)
		}},
	}
	for _, c := range stages {
		eachKernel(t, "dup_up_3d", c.name, dev, func(t *testing.T, s *Set) {
			var want []float64
			for i := range c.T * c.phases * c.h * c.w * c.cOut {
				p := i / c.cOut
				want = append(want, c.want(p/(c.h*c.w), p/c.w%c.h, p%c.w, i%c.cOut))
			}
			residual := integers(2, len(want), -500, 500)
			runDupUp(t, dev, s, c.dupUpCase, data[:c.T*H*W*C], residual, sum(want, residual))
		})
	}
}

// BenchmarkDupUp3D measures stage 1 of Wan 2.2's decoder for a frame of 32x32.
func BenchmarkDupUp3D(b *testing.B) {
	dev := gputest.Open(b)
	s := plain(b, F32)
	x := Tensor{Elem: F32, T: 1, H: 32, W: 32, C: 1024}
	y := Tensor{Elem: F32, T: 2, H: 64, W: 64, C: 1024}
	in, out := &gpu.Buffer{Label: "x", Size: x.Bytes()}, &gpu.Buffer{Label: "y", Size: y.Bytes()}
	batch := &gpu.Batch{Label: "dup_up_3d"}
	s.DupUp3D(batch, "dup_up_3d", DupUp3D{FT: 2, FS: 2, X: x.in(in), N: 1, Y: y.in(out), Phases: 2})
	gputest.Benchmark(b, dev, batch, in, out)
}
