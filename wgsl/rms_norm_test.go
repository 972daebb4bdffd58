package wgsl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestRMSNorm(t *testing.T) {
	dev := gputest.Open(t)
	cases := []struct {
		name       string
		T, H, W, C int
		deviation  float64
		silu       bool
	}{
		{"one_number", 1, 1, 1, 1, 1, false}, // y is the sign, times gamma
		{"one_channel", 2, 5, 7, 1, 1, true},
		{"channels_3", 1, 5, 7, 3, 1, false},
		{"channels_12", 2, 5, 7, 12, 1, true},
		{"channels_20", 3, 7, 5, 20, 1, true},
		{"channels_48", 2, 3, 11, 48, 1, false},
		{"channels_50_padded", 1, 3, 11, 50, 1, true},
		{"channels_96", 2, 9, 13, 96, 1, true},
		{"channels_160", 1, 11, 7, 160, 1, true},
		{"channels_384", 3, 5, 5, 384, 1, false},
		{"channels_1024", 1, 3, 5, 1024, 1, true},
		{"channels_1028", 1, 3, 3, 1028, 1, false},
		{"channels_2050_padded", 2, 1, 3, 2050, 1, false},
		{"one_pixel", 1, 1, 1, 96, 1, true},
		{"many_groups", 1, 67, 71, 24, 1, true},
		{"cut_up", 1, 17, 19, 48, 1, true},
		{"large", 2, 5, 7, 1024, 6e4 / 4.5, true}, // 5 halves in a million are beyond 65504; none of these is
		{"tiny", 2, 5, 7, 160, 1e-7, false},       // subnormal halves
		{"below_the_floor", 1, 3, 5, 48, 1e-14, false},
	}
	for _, c := range cases {
		eachKernel(t, "rms_norm", c.name, dev, func(t *testing.T, s *Set) {
			if c.name == "below_the_floor" && s.Elem != F32 {
				t.Skip("a half has no numbers below the floor")
			}
			x := random(1, c.T*c.H*c.W*c.C, 0, c.deviation)
			checkRMSNorm(t, dev, s, c.T, c.H, c.W, c.C, x, 0, c.silu)
		})
	}
}

// Every channel at the end of a half's range: the sum of squares is 4e12.
func TestRMSNormLargest(t *testing.T) {
	dev := gputest.Open(t)
	eachKernel(t, "rms_norm", "60000", dev, func(t *testing.T, s *Set) {
		x := integers(1, 7*1024, 0, 1)
		for i := range x {
			x[i] = 120000*x[i] - 60000
		}
		checkRMSNorm(t, dev, s, 1, 1, 7, 1024, x, 0, false)
	})
}

// A zero pixel stays zero, and so does a zero channel. Pixels differ by orders of
// magnitude, so that a neighbour's length would show.
func TestRMSNormPixels(t *testing.T) {
	dev := gputest.Open(t)
	for _, C := range []int{12, 48, 192, 260} {
		eachKernel(t, "rms_norm", fmt.Sprint(C), dev, func(t *testing.T, s *Set) {
			const P = 5 * 23
			x := random(1, P*C, 0, 1)
			for p := range P {
				scale := [...]float32{1, 0, 100, 0.01, 1000}[p%5]
				for c := range C {
					x[p*C+c] *= scale
				}
				x[p*C+p%C] = 0
			}
			checkRMSNorm(t, dev, s, 1, 5, 23, C, x, 0, true)
		})
	}
}

// With small numbers, the eps added to the mean of their squares matters.
func TestRMSNormEps(t *testing.T) {
	dev := gputest.Open(t)
	for _, deviation := range []float64{1, 1e-3} {
		eachKernel(t, "rms_norm", fmt.Sprint(deviation), dev, func(t *testing.T, s *Set) {
			checkRMSNorm(t, dev, s, 2, 5, 7, 50, random(1, 2*5*7*50, 0, deviation), 1e-6, true)
		})
	}
}

// One channel has all of a pixel's length, and becomes -16: SiLU is still right there,
// far below where it levels off.
func TestRMSNormFarSiLU(t *testing.T) {
	dev := gputest.Open(t)
	eachKernel(t, "rms_norm", "one_channel_of_256", dev, func(t *testing.T, s *Set) {
		if s.Elem != F32 {
			t.Skip("halves are too coarse for 16*exp(-16)")
		}
		const C = 256
		x := make([]float32, 5*7*C)
		for p := range 5 * 7 {
			x[p*C+7*p] = float32(-1 - p)
		}
		checkRMSNorm(t, dev, s, 1, 5, 7, C, x, 0, true)
	})
}

func checkRMSNorm(t *testing.T, dev *gpu.Device, s *Set, T, H, W, C int, data []float32, eps float32, silu bool) {
	t.Helper()
	data = gputest.Round(data, format(s.Elem))
	gamma := random(2, C, 1, 0.3)
	xs, x := activation("x", s.Elem, T, H, W, C, data)
	ys, y := activation("y", s.Elem, T, H, W, C, nil)
	test := gputest.Case{
		Op:  "rms_norm",
		In:  []gputest.Array{xs, {Label: "gamma", Data: padded(gamma, C)}},
		Out: ys,
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			s.RMSNorm(b, t.Name(), RMSNorm{Gamma: in[1], Eps: eps, SiLU: silu, X: x.in(in[0]), XT: 1, Y: y.in(out), YT: 1, N: T})
			if strings.Contains(t.Name(), "cut_up") {
				slow(b)
			}
		},
		Want:  padded(ref.RMSNorm(wide(data), T*H*W, C, wide(gamma), float64(eps), silu), C),
		Bound: bound(s.Elem, boundF32),
	}
	test.Run(t, dev)

	test.In, test.Out.Data = test.In[1:], xs.Data
	test.Record = func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
		s.RMSNorm(b, t.Name()+" in place", RMSNorm{Gamma: in[0], Eps: eps, SiLU: silu, X: y.in(out), XT: 1, Y: y.in(out), YT: 1, N: T})
	}
	test.Run(t, dev)
}

// A frame may go to another position, and the frames around it stay.
func TestRMSNormFrames(t *testing.T) {
	dev := gputest.Open(t)
	eachKernel(t, "rms_norm", "frame_2_to_1", dev, func(t *testing.T, s *Set) {
		const H, W, C = 3, 5, 20
		data := gputest.Round(random(1, 3*H*W*C, 0, 1), format(s.Elem))
		gamma := random(2, C, 1, 0.3)
		xs, x := activation("x", s.Elem, 3, H, W, C, data)
		ys, y := activation("y", s.Elem, 3, H, W, C, make([]float32, 3*H*W*C))
		want := ref.RMSNorm(wide(data)[H*W*C:], 2*H*W, C, wide(gamma), 0, false)
		test := gputest.Case{
			Op:  "rms_norm",
			In:  []gputest.Array{xs, {Label: "gamma", Data: gamma}},
			Out: ys,
			Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
				s.RMSNorm(b, t.Name(), RMSNorm{Gamma: in[1], X: x.in(in[0]), XT: 2, Y: y.in(out), YT: 1, N: 2})
			},
			Want:  slices.Concat(want, make([]float64, H*W*C)),
			Bound: bound(s.Elem, boundF32),
		}
		test.Run(t, dev)
	})
}

// BenchmarkRMSNorm measures a norm of a 128x128 frame.
func BenchmarkRMSNorm(b *testing.B) {
	dev := gputest.Open(b)
	for _, e := range []Elem{F32, Packed} {
		for _, C := range []int{96, 192, 1024} {
			b.Run(fmt.Sprintf("%d/%v", C, e), func(b *testing.B) {
				s := plain(b, e)
				x := Tensor{Elem: e, T: 1, H: 128, W: 128, C: C}
				in, out := &gpu.Buffer{Label: "x", Size: x.Bytes()}, &gpu.Buffer{Label: "y", Size: x.Bytes()}
				gamma := &gpu.Buffer{Label: "gamma", Size: int64(4 * C)}
				batch := &gpu.Batch{Label: "rms_norm"}
				s.RMSNorm(batch, "rms_norm", RMSNorm{Gamma: gamma, SiLU: true, X: x.in(in), Y: x.in(out), N: 1})
				gputest.Benchmark(b, dev, batch, in, out, gamma)
			})
		}
	}
}
