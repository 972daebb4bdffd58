package wgsl

import (
	"math"
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestToRGBA8(t *testing.T) {
	dev := gputest.Open(t)
	cases := []struct {
		name    string
		T, H, W int
		Crop
	}{
		{"one_pixel", 1, 1, 1, Crop{0, 0, 1, 1}},
		{"whole", 2, 16, 24, Crop{0, 0, 16, 24}},
		{"crop_right_and_below", 3, 16, 24, Crop{0, 0, 13, 21}},
		{"crop_all_around", 2, 11, 17, Crop{2, 3, 7, 9}},
		{"one_over_a_workgroup", 1, 3, 65, Crop{0, 0, 3, 65}},
		{"rows_past_65535_groups", 1, 65538, 1, Crop{1, 0, 65537, 1}},
	}
	for _, c := range cases {
		eachKernel(t, "to_rgba8", c.name, dev, func(t *testing.T, s *Set) {
			data := levels(c.T*c.H*c.W*3, s.Elem)
			checkToRGBA8(t, dev, s, c.T, c.H, c.W, c.Crop, data)
		})
	}
	// Every level, both ends, values beyond them, and values that are not numbers.
	eachKernel(t, "to_rgba8", "all_levels", dev, func(t *testing.T, s *Set) {
		if s.Elem != F32 {
			t.Skip("halves are too coarse to hold all levels")
		}
		var data []float32
		for l := range 256 {
			for _, off := range []float64{-0.49, 0, 0.49} { // within half a level: no change
				data = append(data, float32((float64(l)+off)/127.5-1))
			}
		}
		inf, nan := float32(math.Inf(1)), float32(math.NaN())
		data = append(data, -1, 0, 1, -1e30, 1e30, nan, inf, -inf, -nan, 1.004, -1.004, float32(math.Copysign(0, -1)))
		checkToRGBA8(t, dev, s, 1, 1, len(data)/3, Crop{0, 0, 1, len(data) / 3}, data)
	})
}

// levels returns n numbers around [-1, 1]; none, as stored, is within 1 % of a level's
// edge, where f32 and the reference may round differently.
func levels(n int, e Elem) []float32 {
	out := make([]float32, 0, n)
	for seed := uint64(1); len(out) < n; seed++ {
		for _, v := range gputest.Round(random(seed, n, 0, 0.7), format(e)) {
			level := (float64(v)/2 + 0.5) * 255
			if math.Abs(level-math.Floor(level)-0.5) > 0.01 && len(out) < n {
				out = append(out, v)
			}
		}
	}
	return out
}

func checkToRGBA8(t *testing.T, dev *gpu.Device, s *Set, T, H, W int, c Crop, data []float32) {
	t.Helper()
	xs, x := activation("x", s.Elem, T, H, W, 3, data)
	words := ref.ToRGBA8(wide(data), T, H, W, c.Y0, c.X0, c.H, c.W)
	want := make([]float64, len(words))
	for i, w := range words {
		want[i] = float64(w)
	}
	const guard = 64 // a view starts at multiples of 256 bytes
	test := gputest.Case{
		Op:  "to_rgba8",
		In:  []gputest.Array{xs},
		Out: gputest.Array{Label: "y", Format: gputest.Uint32, Len: len(want), Guard: guard},
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			s.ToRGBA8(b, t.Name(), ToRGBA8{
				X: x.in(in[0]), T: 1, N: T, Crop: c, Y: gpu.View{Buffer: out, Offset: 4 * guard, Size: int64(4 * len(want))},
			})
		},
		Want: want,
	}
	test.Run(t, dev)
}
