package wgsl

import (
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestGroupNorm(t *testing.T) {
	dev := gputest.Open(t)
	cases := []struct {
		name               string
		T, H, W, C, groups int
		mean, deviation    float64
		silu               bool
	}{
		{"one_number", 1, 1, 1, 1, 1, 0, 1, false}, // variance 0: y is beta
		{"one_pixel", 2, 1, 1, 8, 2, 0, 1, false},
		{"single_channel_groups", 2, 5, 7, 8, 8, 0, 1, false},
		{"groups_of_2", 1, 5, 7, 16, 8, 0, 1, false},
		{"groups_of_3_cross_vectors", 3, 5, 7, 24, 8, 0.5, 2, true},
		{"groups_of_6_cross_vectors", 2, 7, 5, 48, 8, 0.5, 2, true},
		{"channels_not_a_multiple_of_4", 2, 3, 11, 6, 2, 1, 1, true},
		{"one_group_of_5", 1, 3, 3, 5, 1, 0, 1, true},
		{"width_32", 1, 16, 16, 32, 8, 0, 1, true},
		{"width_96_in_32_groups", 2, 6, 10, 96, 32, 0, 1, true},
		{"width_512", 1, 8, 9, 512, 32, 0, 1, true},
		{"width_640", 1, 3, 5, 640, 32, 0, 1, false},
		{"most_channels", 1, 3, 3, 1024, 32, 0, 1, false},
		{"chunk_and_one_pixel", 1, 1, 16*8 + 1, 128, 32, 0, 1, false},
		{"chunk_less_one_pixel", 1, 1, 16*8 - 1, 128, 32, 0, 1, false},
		{"more_chunks_than_merging_invocations", 1, 101, 163, 128, 32, 0, 1, true},
		{"many_pixels_an_invocation", 1, 233, 241, 4, 1, 0, 1, false},
		// Means far above the deviation. The reference uses the rounded input, so its
		// 6e-5 (f32 at 1000) is no error; x - pivot is exact up to its own rounding,
		// 1e-7 of a deviation or NMSE 1e-14. Without the pivot it is 1e-8.
		{"mean_1000", 2, 33, 31, 24, 8, 1000, 1, false},
		{"mean_minus_1000_silu", 1, 64, 64, 32, 8, -1000, 1, true},
		{"tiny_variance", 1, 9, 9, 8, 2, 0, 1e-4, false}, // eps decides
		{"large", 1, 9, 9, 8, 2, 0, 1e3, true},
	}
	for _, c := range cases {
		eachKernel(t, "group_norm", c.name, dev, func(t *testing.T, s *Set) {
			x := random(1, c.T*c.H*c.W*c.C, c.mean, c.deviation)
			checkGroupNorm(t, dev, s, c.T, c.H, c.W, c.C, x, GroupNorm{Groups: c.groups, SiLU: c.silu})
		})
	}
}

// An outlier in the pivots' pixel is the worst start. At 100 deviations from the mean,
// x - pivot is off by 1e-7*100 deviations: NMSE 1e-10 at most, and less by averaging.
func TestGroupNormOutlierPivot(t *testing.T) {
	dev := gputest.Open(t)
	eachKernel(t, "group_norm", "outlier", dev, func(t *testing.T, s *Set) {
		x := random(1, 128*128*8, 0, 1)
		x[0], x[5] = 100, -100
		checkGroupNorm(t, dev, s, 1, 128, 128, 8, x, GroupNorm{Groups: 2})
	})
}

// Values differ by channel: groups that mix channels, or use pivots of a neighbouring
// group, would show at once.
func TestGroupNormChannelOffsets(t *testing.T) {
	dev := gputest.Open(t)
	eachKernel(t, "group_norm", "offsets", dev, func(t *testing.T, s *Set) {
		x := random(1, 2*17*19*24, 0, 1)
		for i := range x {
			x[i] += float32(i % 24 / 3 * 50)
		}
		checkGroupNorm(t, dev, s, 2, 17, 19, 24, x, GroupNorm{Groups: 8})
	})
}

func TestGroupNormReLU(t *testing.T) {
	dev := gputest.Open(t)
	eachKernel(t, "group_norm", "relu", dev, func(t *testing.T, s *Set) {
		checkGroupNorm(t, dev, s, 2, 9, 11, 48, random(1, 2*9*11*48, 0.5, 2), GroupNorm{Groups: 4, ReLU: true})
	})
}

// Frames with different means share statistics.
func TestGroupNormOfClip(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name               string
		T, H, W, C, groups int
	}{
		{"two_frames_of_a_pixel", 2, 1, 1, 8, 2},
		{"chunks_across_frames", 3, 7, 11, 24, 8},
		{"hunyuanvideo", 5, 6, 7, 512, 32},
	} {
		eachKernel(t, "group_norm", c.name, dev, func(t *testing.T, s *Set) {
			x := random(1, c.T*c.H*c.W*c.C, 0, 1)
			for i := range x {
				x[i] += float32(i / (c.H * c.W * c.C))
			}
			checkGroupNorm(t, dev, s, c.T, c.H, c.W, c.C, x, GroupNorm{Groups: c.groups, SiLU: true, Clip: true})
		})
	}
}

func checkGroupNorm(t *testing.T, dev *gpu.Device, s *Set, T, H, W, C int, data []float32, g GroupNorm) {
	t.Helper()
	data = gputest.Round(data, format(s.Elem))
	gamma, beta := random(2, C, 1, 0.3), random(3, C, 0, 0.5)
	xs, x := activation("x", s.Elem, T, H, W, C, data)
	ys, y := activation("y", s.Elem, T, H, W, C, nil)
	g.Eps, g.X, g.N = 1e-6, x, T
	partials, factors := g.Scratch()
	clips, pixels := T, H*W
	if g.Clip {
		clips, pixels = 1, T*H*W
	}
	want := ref.GroupNorm(wide(data), clips, pixels, C, g.Groups, wide(gamma), wide(beta), 1e-6, g.SiLU)
	if g.ReLU {
		want = rectified(want)
	}
	test := gputest.Case{
		Op:      "group_norm",
		In:      []gputest.Array{xs, {Label: "gamma", Data: gamma}, {Label: "beta", Data: beta}},
		Out:     ys,
		Scratch: []int64{partials, factors},
		Record: func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
			g.Gamma, g.Beta, g.Partials, g.Factors = in[1], in[2], scratch[0].All(), scratch[1].All()
			g.X, g.XT, g.Y, g.YT = x.in(in[0]), 1, y.in(out), 1
			s.GroupNorm(b, t.Name(), g)
		},
		Want:  padded(want, C),
		Bound: bound(s.Elem, boundF32),
	}
	test.Run(t, dev)

	test.In, test.Out.Data = test.In[1:], xs.Data
	test.Record = func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
		g.Gamma, g.Beta, g.Partials, g.Factors = in[0], in[1], scratch[0].All(), scratch[1].All()
		g.X, g.XT, g.Y, g.YT = y.in(out), 1, y.in(out), 1
		s.GroupNorm(b, t.Name()+" in place", g)
	}
	test.Run(t, dev)
}

// BenchmarkGroupNorm measures a norm of a 256x256 frame of 128 channels.
func BenchmarkGroupNorm(b *testing.B) {
	dev := gputest.Open(b)
	s := plain(b, F32)
	x := Tensor{Elem: F32, T: 1, H: 256, W: 256, C: 128}
	g := GroupNorm{Groups: 32, Eps: 1e-6, SiLU: true, Gamma: &gpu.Buffer{Label: "gamma", Size: 512}, Beta: &gpu.Buffer{Label: "beta", Size: 512}}
	in, out := &gpu.Buffer{Label: "x", Size: x.Bytes()}, &gpu.Buffer{Label: "y", Size: x.Bytes()}
	g.X, g.Y, g.N = x.in(in), x.in(out), 1
	partials, factors := g.Scratch()
	scratch := []*gpu.Buffer{{Label: "partials", Size: partials}, {Label: "factors", Size: factors}}
	batch := &gpu.Batch{Label: "group_norm"}
	g.Partials, g.Factors = scratch[0].All(), scratch[1].All()
	s.GroupNorm(batch, "group_norm", g)
	gputest.Benchmark(b, dev, batch, in, out, scratch[0], scratch[1], g.Gamma, g.Beta)
}
