package wgsl

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// parted is an operation that computes the rows y of its output, from y0 on, from x.
// reads returns the rows of x for that: n from `from` on, without those outside of x.
type parted struct {
	x, y   Tensor
	reads  func(y0, h int) (from, n int)
	record func(b *gpu.Batch, x, y Tensor, y0, from int)
}

// sameRows returns the output's rows.
func sameRows(y0, h int) (from, n int) { return y0, h }

// Rows computed a few at a time, on parts of frames, equal those computed at once, bit
// for bit. Other rows are untouched.
func TestParts(t *testing.T) {
	dev := gputest.Open(t)
	s, err := NewSet(F32, dev.Info(), nil)
	require.NoError(t, err)
	weight := func(n, biases int) *gpu.Buffer { return &gpu.Buffer{Label: "weight", Size: int64(4 * (n + biases))} }
	weights := func(p *Packing, shape Shape, biases int) Weights {
		return Weights{Weight: weight(p.Size(shape), 0), Bias: weight(0, biases), Elem: F32, Packing: p}
	}
	of := func(T, H, W, C int) Tensor { return Tensor{Elem: F32, T: T, H: H, W: W, C: C} }
	conv, up, point := Shape{O: 20, I: 12, KT: 1, KS: 3}, ConvUpShape(20, 12, 1, 2), Shape{O: 20, I: 12, KT: 1, KS: 1}
	stride1, stride2 := weights(s.ConvPacking(conv, 1), conv, 24), weights(s.ConvPacking(conv, 2), conv, 24)
	folded, product := weights(s.ConvUpPacking(up), up, ConvUpBias(up)), weights(s.PointwisePacking(point), point, 24)
	shuffle := weights(s.PointwisePacking(Shape{O: 96, I: 12, KT: 1, KS: 1}), Shape{O: 96, I: 12, KT: 1, KS: 1}, 96)
	gamma, factors := weight(12, 0), weight(36, 0)
	small := of(1, 4, 3, 12)
	times, plus := small.in(weight(144, 0)), small.in(weight(144, 0))
	cells := func(y0, h int) (from, n int) { return (y0 - 1) >> 1, (y0+h)>>1 - (y0-1)>>1 + 1 }
	all := map[string]parted{
		"conv3d": {of(3, 11, 9, 12), of(3, 11, 9, 20), func(y0, h int) (int, int) { return y0 - 1, h + 2 }, func(b *gpu.Batch, x, y Tensor, y0, from int) {
			s.Conv3D(b, "conv", Conv3D{Weights: stride1, Taps: []Tap{{x, 0}}, Step: 1, Stride: 1, Y0: y0 - from, Y: y, N: 3, Add: true})
		}},
		"conv3d of every other frame": {of(3, 12, 9, 12), of(2, 6, 4, 20), func(y0, h int) (int, int) { return 2 * y0, 2*h + 1 }, func(b *gpu.Batch, x, y Tensor, y0, from int) {
			s.Conv3D(b, "conv", Conv3D{Weights: stride2, Taps: []Tap{{x, 0}}, Step: 2, Stride: 2, Y0: 2*y0 - from, Y: y, N: 2})
		}},
		"conv3d enlarged": {of(2, 5, 4, 12), of(2, 10, 8, 20), cells, func(b *gpu.Batch, x, y Tensor, y0, from int) {
			s.Conv3D(b, "conv", Conv3D{Weights: stride1, Taps: []Tap{{x, 0}}, Step: 1, Stride: 1, Upsample: true, Y0: y0 - 2*from, Y: y, N: 2})
		}},
		"conv_up": {of(2, 5, 4, 12), of(4, 10, 8, 20), cells, func(b *gpu.Batch, x, y Tensor, y0, from int) {
			s.ConvUp(b, "conv", ConvUp{Weights: folded, Taps: []Tap{{x, 0}}, Phases: 2, Y0: y0 - 2*from, Y: y, N: 2})
		}},
		"pointwise": {of(3, 11, 9, 12), of(3, 11, 9, 20), sameRows, func(b *gpu.Batch, x, y Tensor, _, _ int) {
			s.Pointwise(b, "product", Pointwise{Weights: product, X: x, Y: y, N: 3, Add: true})
		}},
		"pixel_shuffle": {of(2, 5, 4, 12), of(2, 10, 8, 20), func(y0, h int) (int, int) { return y0 / 2, h / 2 }, func(b *gpu.Batch, x, y Tensor, _, _ int) {
			s.PixelShuffle(b, "shuffle", PixelShuffle{Weights: shuffle, X: x, Y: y, N: 2, Phases: 1})
		}},
		"avg_down_3d": {of(4, 12, 8, 12), of(2, 6, 4, 12), func(y0, h int) (int, int) { return 2 * y0, 2 * h }, func(b *gpu.Batch, x, y Tensor, _, _ int) {
			s.AvgDown3D(b, "down", AvgDown3D{FT: 2, FS: 2, X: x, Y: y, N: 2})
		}},
		"dup_up_3d": {of(2, 5, 4, 12), of(4, 10, 8, 12), func(y0, h int) (int, int) { return y0 / 2, (y0+h+1)/2 - y0/2 }, func(b *gpu.Batch, x, y Tensor, y0, from int) {
			s.DupUp3D(b, "up", DupUp3D{FT: 2, FS: 2, Y0: y0 - 2*from, X: x, Y: y, N: 2, Phases: 2})
		}},
		"rms_norm": {of(2, 11, 9, 12), of(2, 11, 9, 12), sameRows, func(b *gpu.Batch, x, y Tensor, _, _ int) {
			for f := range 2 {
				s.RMSNorm(b, "norm", RMSNorm{Gamma: gamma, X: x, Y: y, XT: f, YT: f, N: 1})
			}
		}},
		"time_attention": {of(3, 6, 4, 36), of(3, 6, 4, 12), sameRows, func(b *gpu.Batch, x, y Tensor, _, _ int) {
			s.TimeAttention(b, "attention", TimeAttention{Heads: 3, QKV: x, O: y, N: 3})
		}},
		"spatial_norm": {of(2, 12, 9, 12), of(2, 12, 9, 12), sameRows, func(b *gpu.Batch, x, y Tensor, y0, _ int) {
			from, to := y0/3, (y0+x.H+2)/3
			n := SpatialNorm{Factors: factors.All(), X: x, Y: y, N: 1, Times: times.Part(from, to-from), Plus: plus.Part(from, to-from), Each: 2, Top: y0 % 3}
			for n.XT = range 2 {
				n.YT, n.Lead = n.XT, n.XT
				s.SpatialNorm(b, "norm", n)
			}
		}},
		"unpatchify": {of(2, 6, 4, 12), of(2, 12, 8, 3), func(y0, h int) (int, int) { return y0 / 2, h / 2 }, func(b *gpu.Batch, x, y Tensor, _, _ int) {
			for f := range 2 {
				s.Unpatchify(b, "pixels", Unpatchify{X: x, Y: y, XT: f, YT: f, N: 1, Patch: 2})
			}
		}},
	}
	filled := []*gpu.Buffer{gamma, factors, times.Buffer, plus.Buffer}
	for _, w := range []Weights{stride1, stride2, folded, product, shuffle} {
		filled = append(filled, w.Weight, w.Bias)
	}
	fillRandom(t, dev, filled...)
	for name, p := range all {
		t.Run(name, func(t *testing.T) {
			h := 2 // rows of a part, except the last
			if p.y.H%2 == 1 {
				h = 3
			}
			run := func(h int) []byte {
				x, y := p.x.in(&gpu.Buffer{Label: "x", Size: p.x.Bytes()}), p.y.in(&gpu.Buffer{Label: "y", Size: p.y.Bytes()})
				fillRandom(t, dev, x.Buffer, y.Buffer)
				b := &gpu.Batch{Label: name}
				for y0 := 0; y0 < y.H; y0 += h {
					rows := min(h, y.H-y0)
					from, n := p.reads(y0, rows)
					end := min(from+n, x.H)
					from = max(from, 0)
					p.record(b, x.Part(from, end-from), y.Part(y0, rows), y0, from)
				}
				require.NoError(t, dev.Submit(t.Context(), b))
				data := make([]byte, y.Buffer.Size)
				require.NoError(t, dev.Read(t.Context(), data, y.Buffer.All()))
				dev.Free(x.Buffer, y.Buffer)
				return data
			}
			assert.Equal(t, run(p.y.H), run(h))
		})
	}
	dev.Free(filled...)
}

// fillRandom allocates buffers of floats, always equal.
func fillRandom(t *testing.T, dev *gpu.Device, buffers ...*gpu.Buffer) {
	t.Helper()
	require.NoError(t, dev.Alloc(buffers...))
	for i, b := range buffers {
		var data []byte
		for _, v := range random(uint64(i), int(b.Size/4), 0, 1) {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		require.NoError(t, dev.Write(b.All(), data))
	}
}
