package wgsl

import (
	"testing"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestTimeAttention(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name       string
		T, H, W, C int
		heads      int
		unit       bool
		deviation  float64
	}{
		{"one_frame", 1, 3, 5, 64, 2, true, 1}, // o is v
		{"one_pixel", 5, 1, 1, 32, 1, true, 1},
		{"one_channel", 4, 3, 5, 1, 1, false, 1},
		{"channels_not_a_multiple_of_4", 3, 3, 5, 6, 1, false, 1},
		{"head_one_over_a_block", 3, 2, 3, 36, 1, false, 1},
		{"heads_of_4", 7, 2, 3, 20, 5, false, 1},
		{"heads_over_a_block", 3, 2, 3, 88, 2, true, 1},
		{"mochi", 7, 2, 3, 128, 4, true, 1},
		{"mochi_deep", 3, 2, 3, 384, 12, true, 1},
		{"cosmos", 4, 2, 2, 512, 1, false, 1},
		{"many_frames", 67, 1, 2, 32, 1, true, 1},
		{"one_over_a_workgroup", 2, 1, 65, 32, 1, true, 1},
		{"peaked", 6, 3, 5, 64, 1, false, 6},    // scores around 100: one frame dominates
		{"short", 6, 3, 5, 32, 1, true, 0.5e-6}, // lengths around 1e-5
	} {
		eachKernel(t, "time_attention", c.name, dev, func(t *testing.T, s *Set) {
			if c.name == "short" && s.Elem != F32 {
				t.Skip("halves that small are rounded too much")
			}
			n := c.T * c.H * c.W
			qk, v := random(1, 2*n*c.C, 0, c.deviation), random(3, n*c.C, 0.5, 1)
			checkTimeAttention(t, dev, s, [4]int{c.T, c.H, c.W, c.C}, c.heads, c.unit, qk[:n*c.C], qk[n*c.C:], v, boundSum)
		})
	}
}

// Zero queries weigh both frames equally; values are whole numbers, whose mean is
// exact.
func TestTimeAttentionExact(t *testing.T) {
	dev := gputest.Open(t)
	for name, unit := range map[string]bool{"mean": false, "mean_of_no_length": true} {
		eachKernel(t, "time_attention", name, dev, func(t *testing.T, s *Set) {
			const n = 2 * 2 * 3 * 32
			checkTimeAttention(t, dev, s, [4]int{2, 2, 3, 32}, 1, unit, make([]float32, n), integers(2, n, -3, 3), integers(3, n, -8, 8), 0)
		})
	}
}

// Keys that grow or shrink with time, with scores beyond what exp can hold.
func TestTimeAttentionMovingMaximum(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name string
		sign float32
	}{{"rising", 1}, {"falling", -1}} {
		eachKernel(t, "time_attention", c.name, dev, func(t *testing.T, s *Set) {
			const T, C = 40, 16
			q, k := make([]float32, T*C), make([]float32, T*C)
			for i := range q {
				q[i], k[i] = 1, c.sign*2*float32(i/C)
			}
			checkTimeAttention(t, dev, s, [4]int{T, 1, 1, C}, 1, false, q, k, random(3, T*C, 0, 1), boundSum)
		})
	}
}

func checkTimeAttention(t *testing.T, dev *gpu.Device, s *Set, shape [4]int, heads int, unit bool, q, k, v []float32, limit float64) {
	t.Helper()
	T, H, W, C := shape[0], shape[1], shape[2], shape[3]
	f := format(s.Elem)
	q, k, v = gputest.Round(q, f), gputest.Round(k, f), gputest.Round(v, f)
	var data, dense []float32
	for n := range T * H * W {
		for _, part := range [][]float32{q, k, v} {
			data = append(data, padded(part[n*C:][:C], C)...)
			dense = append(dense, part[n*C:][:C]...)
		}
	}
	xs, x := activation("qkv", s.Elem, T, H, W, 3*Pad4(C), data)
	os, o := activation("o", s.Elem, T, H, W, C, nil)
	test := gputest.Case{
		Op:  "time_attention",
		In:  []gputest.Array{xs},
		Out: os,
		Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
			s.TimeAttention(b, t.Name(), TimeAttention{Heads: heads, Unit: unit, QKV: x.in(in[0]), O: o.in(out), T: 1, N: T})
		},
		Want:  padded(ref.TimeAttention(wide(dense), T, H*W, C, heads, unit), C),
		Bound: bound(s.Elem, limit),
	}
	if limit == 0 {
		test.Bound = 0
	}
	test.Run(t, dev)
}
