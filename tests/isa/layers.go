package main

import (
	"tessera/gpu"
	"tessera/wgsl"
)

// layer is an operation as a network records it, at one of its widths.
type layer struct {
	operation, name string
	record          func(s *wgsl.Set, b *gpu.Batch, label string)
}

const channels = 128

var layers = []layer{
	{"conv3d", "3 taps", conv(1, 3)},
	{"conv3d", "1 tap", conv(1, 1)},
	{"conv3d_strided", "3 taps", conv(2, 3)},
	{"conv3d_winograd", "2 frames", func(s *wgsl.Set, b *gpu.Batch, label string) {
		x, y := tensor(s, "x", channels), tensor(s, "y", channels)
		x.T, y.T = 4, 2
		w := weights(s, s.ConvPacking(wgsl.Shape{O: channels, I: channels, KT: 3, KS: 3}, 1))
		once := func(label string, bytes int64) *gpu.Buffer { return buffer(label) }
		s.Conv3DWinograd(b, label, s.WinogradOf(&gpu.Batch{}, label, w, x, y, 2, once))
	}},
	{"conv_up", "2 taps", func(s *wgsl.Set, b *gpu.Batch, label string) {
		x, y := tensor(s, "x", channels), tensor(s, "y", channels)
		y.H, y.W = 2*y.H, 2*y.W
		s.ConvUp(b, label, wgsl.ConvUp{
			Weights: weights(s, s.ConvUpPacking(wgsl.ConvUpShape(channels, channels, 2, 2))),
			Taps:    []wgsl.Tap{{X: x, T: 0}, {X: x, T: 1}}, Phases: 2, Y: y, N: 1,
		})
	}},
	{"conv_up_winograd", "2 frames", func(s *wgsl.Set, b *gpu.Batch, label string) {
		x, y := tensor(s, "x", channels), tensor(s, "y", channels)
		y.H, y.W = 2*y.H, 2*y.W
		shape := wgsl.ConvUpShape(channels, channels, 3, 1)
		w := weights(s, s.ConvUpPacking(shape))
		if s.UsesWinograd(w.Packing, shape) {
			w = s.WinogradWeights(&gpu.Batch{}, label, wgsl.WinogradWeights{Weights: w, Shape: shape, Of: 2, To: buffer("taps")})
		}
		s.ConvUpWinograd(b, label, wgsl.ConvUpWinograd{Weights: w, Taps: []wgsl.Tap{{X: x, T: 0}, {X: x, T: 1}, {X: x, T: 2}, {X: x, T: 3}}, Y: y, N: 2})
	}},
	{"pointwise", "1 tap", func(s *wgsl.Set, b *gpu.Batch, label string) {
		s.Pointwise(b, label, wgsl.Pointwise{
			Weights: weights(s, s.PointwisePacking(wgsl.Shape{O: channels, I: channels, KT: 1, KS: 1})),
			X:       tensor(s, "x", channels), Y: tensor(s, "y", channels), N: 1,
		})
	}},
	{"pointwise", "shuffle", func(s *wgsl.Set, b *gpu.Batch, label string) {
		y := tensor(s, "y", channels)
		y.H, y.W = 2*y.H, 2*y.W
		s.PixelShuffle(b, label, wgsl.PixelShuffle{
			Weights: weights(s, s.PointwisePacking(wgsl.Shape{O: 8 * channels, I: channels, KT: 1, KS: 1})),
			X:       tensor(s, "x", channels), Y: y, N: 1, Phases: 2,
		})
	}},
	{"attention", "512 channels", func(s *wgsl.Set, b *gpu.Batch, label string) {
		a := wgsl.Attention{QKV: tensor(s, "qkv", 3*512), O: tensor(s, "o", 512), N: 1}
		for _, v := range []*gpu.View{&a.Scores, &a.State, &a.Acc} {
			*v = buffer("scratch").All()
		}
		s.Attention(b, label, a)
	}},
	{"time_attention", "4 heads", func(s *wgsl.Set, b *gpu.Batch, label string) {
		s.TimeAttention(b, label, wgsl.TimeAttention{Heads: 4, Unit: true, QKV: tensor(s, "qkv", 3*channels), O: tensor(s, "o", channels), N: 4})
	}},
	{"spatial_norm", "2x2 pixels", func(s *wgsl.Set, b *gpu.Batch, label string) {
		times, plus := tensor(s, "times", channels), tensor(s, "plus", channels)
		times.H, times.W, plus.H, plus.W = times.H/2, times.W/2, plus.H/2, plus.W/2
		s.SpatialNorm(b, label, wgsl.SpatialNorm{
			Factors: buffer("factors").All(), X: tensor(s, "x", channels), Y: tensor(s, "y", channels), N: 1, Times: times, Plus: plus, Each: 1,
		})
	}},
	{"conv_grouped", "groups of 64", func(s *wgsl.Set, b *gpu.Batch, label string) {
		s.ConvGrouped(b, label, wgsl.ConvGrouped{
			Weights: weights(s, s.GroupedPacking(wgsl.Shape{O: channels, I: 64, KT: 1, KS: 3})), Group: 64,
			X: tensor(s, "x", channels), Y: tensor(s, "y", channels), N: 1,
		})
	}},
	{"conv_depthwise", "7x7", func(s *wgsl.Set, b *gpu.Batch, label string) {
		x := tensor(s, "x", channels)
		s.ConvDepthwise(b, label, wgsl.ConvDepthwise{Weight: buffer("weight"), Side: 7, Taps: []wgsl.Tap{{X: x, T: 0}, {X: x, T: 1}}, Y: tensor(s, "y", 2*channels), N: 1})
	}},
}

// conv records a 3x3 convolution with this many temporal taps.
func conv(stride, taps int) func(s *wgsl.Set, b *gpu.Batch, label string) {
	return func(s *wgsl.Set, b *gpu.Batch, label string) {
		x, y := tensor(s, "x", channels), tensor(s, "y", channels)
		y.H, y.W = y.H/stride, y.W/stride
		s.Conv3D(b, label, wgsl.Conv3D{
			Weights: weights(s, s.ConvPacking(wgsl.Shape{O: channels, I: channels, KT: taps, KS: 3}, stride)),
			Taps:    []wgsl.Tap{{X: x, T: 0}, {X: x, T: 1}, {X: x, T: 2}}[:taps], Step: 1, Stride: stride, Y: y, N: 1,
		})
	}
}

// buffer is large enough for every layer; it is never allocated.
func buffer(label string) *gpu.Buffer { return &gpu.Buffer{Label: label, Size: 64 << 20} }

func tensor(s *wgsl.Set, label string, c int) wgsl.Tensor {
	return wgsl.Tensor{Buffer: buffer(label), Elem: s.Elem, T: 4, H: 32, W: 64, C: c}
}

// weights have the storage of activations.
func weights(s *wgsl.Set, p *wgsl.Packing) wgsl.Weights {
	elem := wgsl.Packed
	if s.Elem == wgsl.F32 {
		elem = wgsl.F32
	}
	return wgsl.Weights{Weight: buffer("weight"), Bias: buffer("bias"), Elem: elem, Packing: p}
}
