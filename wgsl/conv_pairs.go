package wgsl

import (
	"strings"

	"tessera/gpu"
)

type convPairsParams struct {
	First                                gpu.First
	H_in, W_in, W, C_in4, C_out4         uint32
	Top, Left                            int32
	X0_at, X1_at, X2_at, X3_at, X_stride uint32
	Weight_stride                        uint32
	Y_at, Y_stride                       uint32
	Segments, Across                     uint32
}

// ConvPairs describes one dispatch of a causal 3x3x3 convolution of stride 1 that
// makes frames two by two, of four frames each. With weights of PairTaps it does so
// by Winograd's F(2,3), in four products for six.
//
// Y0, X0 and Y are as Conv3D has them.
type ConvPairs struct {
	Weights
	Taps   [4]Tap // the first frame of a pair reads the first three, the second the last three; the next pair two frames on
	Y0, X0 int    // of the input, for output pixel (0, 0)
	Y      Tensor // output
	T, N   int    // output frames T to T+N-1, an even number
	Add    bool   // add to Y, which holds the residual
}

// convPairsKernels compute ConvPairs: the plain one each frame by itself, as Conv3D
// does.
var convPairsKernels = []kernel{{
	name: "plain", packing: blocks4x8,
	shaders: conv3DKernels[0].shaders,
}, {
	name: "fused", packing: pairs4x8, better: processor,
	shaders: []shader{{file: "conv_pairs", wg: 64, pixels: 8, block: 8, grid: segmentGrid}},
}, {
	name: "passes", packing: pairs4x8, better: amd,
	shaders: []shader{{file: "conv_pairs_passes", wg: 64, pixels: 8, block: 8, grid: segmentGrid}},
}}

// pairs4x8 is how PairTaps leaves a weight.
var pairs4x8 = blocked(4, 8)

// processor says whether an adapter is Mesa's driver for processors, where sums are
// memory anyway.
func processor(info gpu.Info) bool { return strings.HasPrefix(info.Name, "llvmpipe") }

// amd says whether an adapter is AMD's, whose compiler keeps two products' sums in
// registers, but not four (docs/benchmarks/2026-11-22-temporal-winograd.md).
func amd(info gpu.Info) bool { return info.Vendor == "amd" }

// Paired says whether ConvPairs is to make frames of a convolution, with PairTaps
// of its weight of a packing and shape: by the kernel that is chosen or comes first.
func (s *Set) Paired(p *Packing, shape Shape) bool {
	return s.find(classOf("conv_pairs", shape), nil).packing == pairs4x8 &&
		shape.KT == 3 && shape.KS == 3 && *p == *pairs4x8
}

// Winograd are choices by which an adapter makes frames in pairs, or does not, and
// the others of c.
func (c Choices) Winograd(info gpu.Info, on bool) Choices {
	all := Choices{}
	for class, name := range c {
		if !strings.HasPrefix(class, "conv_pairs") {
			all[class] = name
		}
	}
	s := &Set{info: info, tables: tables}
	name := s.find("conv_pairs", nil).name
	switch {
	case !on:
		name = "plain"
	case name == "plain":
		name = "fused"
	}
	all["conv_pairs"] = name
	return all
}

// ConvPairs records a convolution of pairs of frames.
func (s *Set) ConvPairs(b *gpu.Batch, label string, c ConvPairs) {
	if c.N < 2 || c.N%2 != 0 {
		panic("wgsl: " + label + ": frames that are no pairs")
	}
	if c.Packing != pairs4x8 {
		s.unpaired(b, label, c)
		return
	}
	x := c.Taps[0].X
	class := classOf("conv_pairs", Shape{O: c.Y.C, I: x.C, KS: 3})
	h := s.shader(label, class, c.Packing)
	plain := Conv3D{Y: c.Y, Stride: 1}
	macs := int64(c.N/2) * int64(plain.rows(c.Y0-1, x.H)) * int64(c.Y.W) * int64(c.Y.C) * int64(x.C) * 3 * 4
	var views [4]gpu.View
	var at [4]uint32
	for k, tap := range c.Taps {
		views[k], at[k] = tap.X.Frames(tap.T, c.N-1)
	}
	shape := Shape{O: 4 * c.Y.C4(), I: x.C, KT: 4, KS: 3}
	weight := gpu.View{Buffer: c.Weight, Size: int64(c.Packing.Size(shape) * c.Elem.Bytes())}
	y, yAt := c.Y.Frames(c.T, c.N)
	e := extent{H: c.Y.H, W: c.Y.W, C4: c.Y.C4(), N: c.N / 2}
	const R = gpu.Read
	p := s.made(h, class, c.Elem, constants{"ACCUMULATE": flag(c.Add), "DEEP": flag(h.across(e) < h.wg), "ROLLED": flag(s.info.Type == "cpu")},
		R, R, R, R, R, R, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(e), convPairsParams{
		H_in: uint32(x.H), W_in: uint32(x.W), W: uint32(c.Y.W), C_in4: uint32(x.C4()), C_out4: uint32(c.Y.C4()),
		Top: int32(c.Y0 - 1), Left: int32(c.X0 - 1),
		X0_at: at[0], X1_at: at[1], X2_at: at[2], X3_at: at[3], X_stride: uint32(2 * x.Stride()),
		Weight_stride: uint32(c.Packing.tap(x.C, 3)), // four taps, in vec4s
		Y_at:          yAt, Y_stride: uint32(c.Y.Stride()), Segments: uint32(h.segments(e)), Across: uint32(h.across(e)),
	}, gpu.Cost{FLOPs: 2 * macs, MACs: macs, Bytes: int64(c.N)*x.FrameBytes() + weight.Size + y.Bytes()},
		views[0], views[1], views[2], views[3], weight, c.Bias.All(), y)
}

// unpaired records each frame by itself.
func (s *Set) unpaired(b *gpu.Batch, label string, c ConvPairs) {
	for f := range c.N {
		conv := Conv3D{Weights: c.Weights, Step: 1, Stride: 1, Y0: c.Y0, X0: c.X0, Y: c.Y, T: c.T + f, N: 1, Add: c.Add}
		for _, tap := range c.Taps[f%2:][:3] {
			conv.Taps = append(conv.Taps, Tap{tap.X, tap.T + f - f%2})
		}
		s.Conv3D(b, label, conv)
	}
}
