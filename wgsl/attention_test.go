package wgsl

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestAttention(t *testing.T) {
	dev := gputest.Open(t)
	small := Attention{Queries: 16, Keys: 8}
	cases := []struct {
		name string
		Attention
		T, H, W, C int
		deviation  float64
	}{
		{"one_token", Attention{}, 1, 1, 1, 4, 1}, // o is v
		{"one_channel", Attention{}, 1, 3, 3, 1, 1},
		{"channels_not_a_multiple_of_4", Attention{}, 2, 3, 5, 6, 1},
		{"channels_not_a_multiple_of_8", small, 2, 3, 7, 36, 1},
		{"one_block", Attention{Queries: 64, Keys: 64}, 1, 8, 8, 16, 1},
		{"keys_one_over_a_block", Attention{Queries: 128, Keys: 64}, 1, 5, 13, 24, 1},
		{"keys_one_less_than_a_block", Attention{Queries: 128, Keys: 64}, 1, 7, 9, 24, 1},
		{"queries_one_over_a_block", Attention{Queries: 32, Keys: 64}, 1, 3, 11, 24, 1},
		{"many_blocks_of_both", small, 2, 7, 11, 40, 1},
		{"queries_one_over_a_workgroup", Attention{}, 1, 19, 27, 8, 1}, // 513
		{"keys_one_over_the_default", Attention{}, 1, 25, 41, 8, 1},
		{"tiny_model", Attention{}, 2, 12, 16, 48, 1},
		{"wan21", Attention{}, 1, 9, 7, 384, 1},
		{"seedvr2", Attention{Queries: 64, Keys: 64}, 2, 10, 13, 512, 1},
		{"wan22_decoder", Attention{}, 1, 5, 9, 1024, 1},
		{"bound_in_blocks", Attention{Most: 8 << 10}, 2, 7, 11, 40, 1},
		{"peaked", small, 1, 13, 10, 64, 4}, // scores around 100: one key dominates
		{"past", Attention{Past: true}, 3, 4, 6, 16, 1},
		{"past_blocks_across_frames", Attention{Queries: 16, Keys: 16, Past: true}, 4, 3, 5, 40, 1}, // 15 tokens a frame
		{"past_bound_in_blocks", Attention{Most: 8 << 10, Past: true}, 3, 7, 11, 40, 1},
		{"hunyuanvideo", Attention{Past: true}, 5, 3, 4, 512, 1},
	}
	for _, c := range cases {
		eachKernel(t, "attention", c.name, dev, func(t *testing.T, s *Set) {
			n := c.T * c.H * c.W * c.C
			checkAttention(t, dev, s, c.Attention, c.T, c.H, c.W, c.C,
				random(1, n, 0, c.deviation), random(2, n, 0, c.deviation), random(3, n, 0.5, 1), boundSum)
		})
	}
}

// Keys grow along the frame, so the running maximum changes in every block, and earlier
// sums shrink each time.
func TestAttentionMovingMaximum(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name string
		sign float32
	}{{"rising", 1}, {"falling", -1}} {
		eachKernel(t, "attention", c.name, dev, func(t *testing.T, s *Set) {
			const N, C = 300, 16
			q, k := make([]float32, N*C), make([]float32, N*C)
			for i := range q {
				q[i] = 1
				k[i] = c.sign * float32(i/C) / 4 // scores up to 4*300/4 = 300, beyond what exp can hold
			}
			checkAttention(t, dev, s, Attention{Queries: 128, Keys: 32}, 1, 1, N, C, q, k, random(3, N*C, 0, 1), boundSum)
		})
	}
}

// Zero queries weigh all keys equally. Values are whole numbers, whose sums over a
// power of two of tokens are exact in f32.
func TestAttentionExact(t *testing.T) {
	dev := gputest.Open(t)
	const N, C = 256, 24
	eachKernel(t, "attention", "mean", dev, func(t *testing.T, s *Set) {
		v := integers(3, N*C, -8, 8)
		for i := N; i < N*C; i += 1 { // whole sums per channel, so that halves represent the mean
			if i/C >= N/2 {
				v[i] = v[i-N/2*C]
			}
		}
		checkAttention(t, dev, s, Attention{Queries: 128, Keys: 32}, 1, 16, 16, C, make([]float32, N*C), integers(2, N*C, -3, 3), v, boundF32)
	})
}

func checkAttention(t *testing.T, dev *gpu.Device, s *Set, a Attention, T, H, W, C int, q, k, v []float32, limit float64) {
	t.Helper()
	f := format(s.Elem)
	q, k, v = gputest.Round(q, f), gputest.Round(k, f), gputest.Round(v, f)
	tokens := T * H * W
	data, dense := make([]float32, 0, tokens*3*Pad4(C)), make([]float32, 0, tokens*3*C)
	for n := range tokens {
		for _, part := range [][]float32{q, k, v} {
			token := part[n*C:][:C]
			dense = append(dense, token...)
			data = append(data, padded(token, C)...)
		}
	}
	qkvs, qkv := activation("qkv", s.Elem, T, H, W, 3*Pad4(C), data)
	os, o := activation("o", s.Elem, T, H, W, C, nil)
	a.O = o
	scores, state, acc := a.Scratch()
	test := gputest.Case{
		Op:      "attention",
		In:      []gputest.Array{qkvs},
		Out:     os,
		Scratch: []int64{scores, state, acc},
		Record: func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
			a.QKV, a.O, a.T, a.N, a.From = qkv.in(in[0]), o.in(out), 1, T, 1
			a.Scores, a.State, a.Acc = scratch[0].All(), scratch[1].All(), scratch[2].All()
			s.Attention(b, t.Name(), a)
			for i := range b.Commands {
				for _, v := range b.Commands[i].Bindings {
					require.True(t, a.Most == 0 || v.Bytes() <= a.Most, "%s binds %d bytes", b.Commands[i].Label, v.Bytes())
				}
			}
		},
		Want:  padded(ref.Attention(wide(dense), T, H*W, C, a.Past), C),
		Bound: bound(s.Elem, limit),
	}
	test.Run(t, dev)
}

// BenchmarkAttention measures SeedVR2's mid block on a 256x256 tile, and one with fewer
// channels, in every kernel that the adapter can run.
func BenchmarkAttention(b *testing.B) {
	dev := gputest.Open(b)
	for _, c := range []int{16, 128, 512} {
		for _, name := range Kernels("attention", F32, dev.Info()) {
			b.Run(fmt.Sprintf("%d/%s", c, name), func(b *testing.B) {
				s, err := NewSet(F32, dev.Info(), Choices{"attention": name})
				require.NoError(b, err)
				qkv, o := benchTensor("qkv", 1, 32, 32, 3*c), benchTensor("o", 1, 32, 32, c)
				a := Attention{QKV: qkv, O: o, N: 1}
				scoreBytes, stateBytes, accBytes := a.Scratch()
				scores, state, acc := &gpu.Buffer{Label: "scores", Size: scoreBytes}, &gpu.Buffer{Label: "state", Size: stateBytes}, &gpu.Buffer{Label: "acc", Size: accBytes}
				batch := &gpu.Batch{Label: "attention"}
				a.Scores, a.State, a.Acc = scores.All(), state.All(), acc.All()
				s.Attention(batch, "attention", a)
				bufs := []*gpu.Buffer{qkv.Buffer, o.Buffer, scores, state, acc}
				gputest.Benchmark(b, dev, batch, bufs...)
				dev.Free(bufs...)
			})
		}
	}
}
