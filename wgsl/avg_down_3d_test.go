package wgsl

import (
	"slices"
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

// avgDownCase averages a part of a clip of T frames of HxW pixels: h x w output pixels,
// starting at (Y0, X0).
type avgDownCase struct {
	name          string
	T, H, W       int
	cIn, cOut     int
	d             AvgDown3D
	h, w          int
	exact, silent bool // exact: g is a power of 2; silent: does not add
}

func TestAvgDown3D(t *testing.T) {
	dev := gputest.Open(t)
	cases := []avgDownCase{
		{"pool", 2, 6, 10, 160, 160, AvgDown3D{FT: 1, FS: 2}, 3, 5, true, false},
		{"pairs_whole", 4, 6, 10, 160, 320, AvgDown3D{FT: 2, FS: 2}, 3, 5, true, true},
		{"pairs_zero_in_front", 3, 6, 10, 160, 320, AvgDown3D{FT: 2, FS: 2}, 3, 5, true, true},
		{"pairs_first_frame_again", 3, 6, 10, 160, 320, AvgDown3D{FT: 2, FS: 2, Repeat: true}, 3, 5, true, true},
		{"single_frame_again", 1, 3, 4, 20, 40, AvgDown3D{FT: 2, FS: 1, Repeat: true}, 3, 4, true, false},
		{"space_to_depth", 3, 4, 6, 10, 80, AvgDown3D{FT: 2, FS: 2, Repeat: true}, 2, 3, true, true},
		{"thirds_first_frame_again", 4, 4, 6, 10, 120, AvgDown3D{FT: 3, FS: 2, Repeat: true}, 2, 3, true, true},
		{"pairs_single_frame", 1, 2, 6, 20, 40, AvgDown3D{FT: 2, FS: 2}, 1, 3, true, false},
		{"identity", 3, 5, 7, 96, 96, AvgDown3D{FT: 1, FS: 1}, 5, 7, true, false},
		{"identity_padded", 2, 5, 7, 6, 6, AvgDown3D{FT: 1, FS: 1}, 5, 7, true, true},
		{"patchify", 2, 6, 4, 3, 12, AvgDown3D{FT: 1, FS: 2}, 3, 2, true, true},
		{"channels_halved", 1, 6, 4, 96, 48, AvgDown3D{FT: 1, FS: 2}, 3, 2, true, true},
		{"padded_out", 1, 6, 4, 12, 6, AvgDown3D{FT: 1, FS: 2}, 3, 2, true, false},
		{"padded_in", 3, 6, 4, 6, 12, AvgDown3D{FT: 2, FS: 2}, 3, 2, true, true},
		{"group_of_5_crosses_vectors", 4, 3, 5, 20, 12, AvgDown3D{FT: 3, FS: 1}, 3, 5, false, true},
		{"group_of_3_of_10_phases", 13, 2, 3, 48, 160, AvgDown3D{FT: 10, FS: 1}, 2, 3, false, false},
		{"nine_pixels", 1, 9, 12, 20, 20, AvgDown3D{FT: 1, FS: 3}, 3, 4, false, true},
		{"one_channel_of_all", 2, 4, 4, 12, 1, AvgDown3D{FT: 2, FS: 2}, 2, 2, false, true},
		{"window", 3, 13, 17, 20, 40, AvgDown3D{FT: 2, FS: 2, Y0: 3, X0: 2}, 4, 5, true, true},
		{"window_of_one", 2, 13, 17, 12, 12, AvgDown3D{FT: 1, FS: 2, Y0: 11, X0: 15}, 1, 1, true, false},
		{"window_identity", 2, 9, 11, 12, 12, AvgDown3D{FT: 1, FS: 1, Y0: 1, X0: 3}, 7, 5, true, false},
		{"alone", 3, 6, 10, 12, 24, AvgDown3D{FT: 2, FS: 2, Alone: true}, 3, 5, true, false},
		{"cut_up", 5, 6, 64, 12, 24, AvgDown3D{FT: 2, FS: 2}, 3, 32, true, false},
		{"wide", 1, 2, 300, 12, 24, AvgDown3D{FT: 2, FS: 2}, 1, 150, true, true},
	}
	for _, c := range cases {
		eachKernel(t, "avg_down_3d", c.name, dev, func(t *testing.T, s *Set) { c.check(t, dev, s) })
	}
}

func (c avgDownCase) check(t *testing.T, dev *gpu.Device, s *Set) {
	t.Helper()
	data := integers(1, c.T*c.H*c.W*c.cIn, -50, 50)
	part := crop(wide(data), c.T, c.H, c.W, c.cIn, c.d.Y0, c.d.X0, c.d.FS*c.h, c.d.FS*c.w)
	want := ref.AvgDown3D(part, c.T, c.d.FS*c.h, c.d.FS*c.w, c.cIn, c.cOut, c.d.FT, c.d.FS, c.d.Repeat)
	n := (c.T + c.d.FT - 1) / c.d.FT
	if c.d.Alone { // each frame is a separate clip
		n, want = c.T, nil
		for t := range c.T {
			frame := part[len(part)/c.T*t:][:len(part)/c.T]
			want = append(want, ref.AvgDown3D(frame, 1, c.d.FS*c.h, c.d.FS*c.w, c.cIn, c.cOut, c.d.FT, c.d.FS, c.d.Repeat)...)
		}
	}
	var residual []float32
	if !c.silent {
		residual = integers(2, len(want), -50, 50)
		want = sum(want, residual)
	}
	// No guard before x: its frame 0 is the clip's.
	x := Tensor{Elem: s.Elem, T: c.T, H: c.H, W: c.W, C: c.cIn}
	ys, y := activation("y", s.Elem, n, c.h, c.w, c.cOut, residual)
	limit := bound(s.Elem, boundF32)
	if c.exact {
		limit = 0
	}
	test := gputest.Case{
		Op:  "avg_down_3d",
		In:  []gputest.Array{{Label: "x", Format: format(s.Elem), Data: padded(data, c.cIn)}},
		Out: ys,
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			d := c.d
			d.X, d.XT, d.Y, d.YT, d.N, d.Add = x.in(in[0]), c.T-c.d.FT*n, y.in(out), 1, n, !c.silent
			if d.Alone {
				for i := range n {
					d.XT, d.YT, d.N = i, 1+i, 1
					s.AvgDown3D(b, t.Name(), d)
				}
				return
			}
			s.AvgDown3D(b, t.Name(), d)
			if c.name == "cut_up" {
				slow(b)
			}
		},
		Want:  padded(want, c.cOut),
		Bound: limit,
	}
	test.Run(t, dev)
}

// slow makes the last command look so long that the device runs a few of its workgroups
// at a time. Every workgroup must know its place.
func slow(b *gpu.Batch) { b.Commands[len(b.Commands)-1].Cost.FLOPs = 1e12 }

// sum is a + b.
func sum(a []float64, b []float32) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + float64(b[i])
	}
	return out
}

// crop is h x w pixels from (y0, x0) on of frames x [T, H, W, C].
func crop(x []float64, T, H, W, C, y0, x0, h, w int) []float64 {
	var out []float64
	for t := range T {
		for r := y0; r < y0+h; r++ {
			out = append(out, x[((t*H+r)*W+x0)*C:][:w*C]...)
		}
	}
	return out
}

// Output frame i of a slice reads frames from xT on and is written from yT on. The
// frames around them are NaN and stay.
func TestAvgDown3DFrames(t *testing.T) {
	dev := gputest.Open(t)
	eachKernel(t, "avg_down_3d", "frames_1_to_4", dev, func(t *testing.T, s *Set) {
		const H, W, C = 4, 6, 12
		data := integers(1, 4*H*W*C, -50, 50)
		xs, x := activation("x", s.Elem, 4, H, W, C, data)
		ys, y := activation("y", s.Elem, 3, H/2, W/2, 2*C, make([]float32, 3*H/2*W/2*2*C))
		made := ref.AvgDown3D(wide(data), 4, H, W, C, 2*C, 2, 2, false)
		test := gputest.Case{
			Op:  "avg_down_3d",
			In:  []gputest.Array{xs},
			Out: ys,
			Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
				s.AvgDown3D(b, t.Name(), AvgDown3D{FT: 2, FS: 2, X: x.in(in[0]), XT: 1, Y: y.in(out), YT: 2, N: 2})
			},
			Want: slices.Concat(make([]float64, H/2*W/2*2*C), made),
		}
		test.Run(t, dev)
	})
}

// The stages of Wan 2.2's encoder, written out: a 2x2 mean for each channel; two frames
// interleaved in even and odd channels, where a single frame 0 leaves the even ones
// zero; and this stage again.
func TestAvgDown3DStages(t *testing.T) {
	dev := gputest.Open(t)
	const T, H, W, C = 5, 6, 4, 20
	data := integers(1, T*H*W*C, -50, 50)
	pool := func(t, r, s, c int) float64 {
		v := 0.0
		for k := range 4 {
			v += float64(data[((t*H+2*r+k/2)*W+2*s+k%2)*C+c]) / 4
		}
		return v
	}
	stages := []struct {
		name          string
		d             AvgDown3D
		frames, scale int // of the output: frames, and input pixels per output pixel
		cOut          int
		want          func(t, r, s, o int) float64
	}{
		{"0", AvgDown3D{FT: 1, FS: 2}, T, 2, C, pool},
		{"1", AvgDown3D{FT: 2, FS: 2}, 3, 2, 2 * C, func(t, r, s, o int) float64 {
			frame := 2*t + o%2 - 1
			if frame < 0 {
				return 0
			}
			return pool(frame, r, s, o/2)
		}},
		{"3", AvgDown3D{FT: 1, FS: 1}, T, 1, C, func(t, r, s, o int) float64 { return float64(data[((t*H+r)*W+s)*C+o]) }},
	}
	for _, c := range stages {
		eachKernel(t, "avg_down_3d", c.name, dev, func(t *testing.T, s *Set) {
			h, w := H/c.scale, W/c.scale
			var want []float64
			for i := range c.frames * h * w * c.cOut {
				p := i / c.cOut
				want = append(want, c.want(p/(h*w), p/w%h, p%w, i%c.cOut))
			}
			x := Tensor{Elem: s.Elem, T: T, H: H, W: W, C: C}
			ys, y := activation("y", s.Elem, c.frames, h, w, c.cOut, nil)
			test := gputest.Case{
				Op:  "avg_down_3d",
				In:  []gputest.Array{{Label: "x", Format: format(s.Elem), Data: data}},
				Out: ys,
				Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
					d := c.d
					d.X, d.XT, d.Y, d.YT, d.N = x.in(in[0]), T-c.d.FT*c.frames, y.in(out), 1, c.frames
					s.AvgDown3D(b, t.Name(), d)
				},
				Want: want,
			}
			test.Run(t, dev)
		})
	}
}

// BenchmarkAvgDown3D measures stage 1 of Wan 2.2's encoder for two frames of 128x128.
func BenchmarkAvgDown3D(b *testing.B) {
	dev := gputest.Open(b)
	s := plain(b, F32)
	x := Tensor{Elem: F32, T: 2, H: 128, W: 128, C: 160}
	y := Tensor{Elem: F32, T: 1, H: 64, W: 64, C: 320}
	in, out := &gpu.Buffer{Label: "x", Size: x.Bytes()}, &gpu.Buffer{Label: "y", Size: y.Bytes()}
	batch := &gpu.Batch{Label: "avg_down_3d"}
	s.AvgDown3D(batch, "avg_down_3d", AvgDown3D{FT: 2, FS: 2, X: x.in(in), Y: y.in(out), N: 1, Add: true})
	gputest.Benchmark(b, dev, batch, in, out)
}
