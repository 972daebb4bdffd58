package wgsl

import (
	"slices"
	"strings"

	"tessera/gpu"
)

type conv3DWinogradParams struct {
	First                                gpu.First
	H_in, W_in, W, C_in4, C_out4         uint32
	Top, Left                            int32
	X0_at, X1_at, X2_at, X3_at, X_stride uint32
	Weight_stride                        uint32
	Y_at, Y_stride                       uint32
	Segments, Across                     uint32
	Accumulate                           uint32
}

// Conv3DWinograd describes a causal 3x3x3 convolution of stride 1 that computes several
// frames at once from weights of WinogradWeights. By Winograd's F(2,3) it computes two
// frames from four, with four products instead of six. If WinogradFrames returns four,
// F(4,3) computes four frames from six, with six products instead of twelve.
//
// With other weights it computes each frame separately. Y0, X0 and Y are as in Conv3D.
type Conv3DWinograd struct {
	Weights
	Taps   []Tap       // four for F(2,3), six for F(4,3); output frame i reads three from tap i on. The next two output frames read two frames later, the next four four
	Y0, X0 int         // of the input, for output pixel (0, 0)
	Y      Tensor      // output
	T, N   int         // output frames T to T+N-1; N is a multiple of two or four
	Add    bool        // add to Y, which holds the residual
	ReLU   bool        // apply ReLU to the result
	Sums   *gpu.Buffer // at least WinogradSums bytes
}

// winograd4x8 is the packing of weights from WinogradWeights.
var winograd4x8 = blocked(4, 8)

// UsesWinograd reports whether Conv3DWinograd should compute frames with
// WinogradWeights of a weight with this packing and shape; for a ConvUpShape, whether
// ConvUpWinograd should. The kernel that is chosen or comes first decides.
func (s *Set) UsesWinograd(p *Packing, shape Shape) bool {
	operation := "conv3d_winograd"
	if shape.KS == 2 {
		operation = "conv_up_winograd"
	}
	if _, chosen := s.choices[operation]; !chosen && shape.O <= 8 && mesaBefore26(s.info) {
		return false // compiling costs more than it saves
	}
	return shape.KT == 3 && *p == *winograd4x8 && s.find(classOf(operation, shape), nil).packing == winograd4x8
}

// WinogradFrames returns how many of n frames Conv3DWinograd computes together, for a
// weight for which UsesWinograd is true: four if its kernel can and n is a multiple of
// four, else two. In f16 it is two, because the error of six products of rounded
// weights is too large.
func (s *Set) WinogradFrames(shape Shape, n int) int {
	if s.Elem == F32 && n%4 == 0 && s.find(classOf("conv3d_winograd", shape), nil).transform != nil {
		return 4
	}
	return 2
}

// WinogradSums returns the bytes of Conv3DWinograd.Sums for o outputs of frames like x,
// computed `of` at a time; 0 if the kernel needs none.
func (s *Set) WinogradSums(o int, x *Tensor, of int) int64 {
	k := s.find(classOf("conv3d_winograd", Shape{O: o, I: x.C, KS: 3}), nil)
	if k.transform == nil {
		return 0
	}
	return k.transform.bytes(&k.shaders[0], o, x.H, sumsRow(x, of))
}

// sumsRow returns the bytes of a row of the sums for `of` frames.
func sumsRow(x *Tensor, of int) int64 { return int64(x.W) * int64(x.C4()) * int64(of+2) * 16 }

// Winograd returns choices that turn Winograd on or off for an adapter: frames in
// pairs, and pixels of a row in fours if the adapter has kernels for it. It keeps the
// other choices of c. If c chooses plain for one of these operations, that stays plain.
func (c Choices) Winograd(info gpu.Info, on bool) Choices {
	operations := []string{"conv3d_winograd", "conv_up_winograd", "conv3d_winograd_rows"}
	all := Choices{}
	for class, name := range c {
		if operation, _, _ := strings.Cut(class, " "); !slices.Contains(operations, operation) {
			all[class] = name
		}
	}
	s := &Set{info: info, tables: tables}
	for _, operation := range operations {
		name := s.find(operation, nil).name
		switch {
		case !on || c[operation] == "plain":
			name = "plain"
		case name == "plain" && operation != "conv3d_winograd_rows":
			name = "fused"
		}
		all[operation] = name
	}
	return all
}

// WinogradOf returns the convolution of x from its first frame on into all frames of y,
// computed `of` at a time. If the kernel uses Winograd, it records WinogradWeights;
// buffer creates the memory for these and for sums.
func (s *Set) WinogradOf(b *gpu.Batch, label string, w Weights, x, y Tensor, of int, buffer func(label string, bytes int64) *gpu.Buffer) Conv3DWinograd {
	c, shape := Conv3DWinograd{Weights: w, Y: y, N: y.T}, Shape{O: y.C, I: x.C, KT: 3, KS: 3}
	if s.UsesWinograd(w.Packing, shape) {
		c.Weights = s.WinogradWeights(b, label, WinogradWeights{Weights: w, Shape: shape, Of: of, To: buffer("taps", s.WinogradBytes(shape, of))})
	}
	if sums := s.WinogradSums(y.C, &x, of); sums > 0 {
		c.Sums = buffer("sums", sums)
	}
	for t := range of + 2 {
		c.Taps = append(c.Taps, Tap{x, t})
	}
	return c
}

// Conv3DWinograd records a convolution that computes two or four frames at once.
func (s *Set) Conv3DWinograd(b *gpu.Batch, label string, c Conv3DWinograd) {
	of := len(c.Taps) - 2
	if of != 2 && of != 4 || c.N < of || c.N%of != 0 {
		panic("wgsl: " + label + ": frames not in multiples of two or four")
	}
	if c.Packing != winograd4x8 {
		s.winogradPlain(b, label, c)
		return
	}
	x := c.Taps[0].X
	class := classOf("conv3d_winograd", Shape{O: c.Y.C, I: x.C, KS: 3})
	if k := s.kernel(label, class, c.Packing); k.transform != nil {
		k.transform.frames(s, b, label, class, k, &c)
		return
	}
	if of != 2 {
		panic("wgsl: " + label + ": this kernel has no F(4,3)")
	}
	h := s.shader(label, class, c.Packing).covering(c.Y.C, 1).withReLU(c.ReLU)
	plain := Conv3D{Y: c.Y, Stride: 1}
	macs := int64(c.N/2) * int64(plain.rows(c.Y0-1, x.H)) * int64(c.Y.W) * int64(c.Y.C) * int64(x.C) * 3 * 4
	in := readWinograd(c.Weights, Shape{O: 4 * c.Y.C4(), I: x.C, KT: 4, KS: 3}, c.Taps, c.N)
	y, yAt := c.Y.Frames(c.T, c.N)
	e := extent{H: c.Y.H, W: c.Y.W, C4: c.Y.C4(), N: c.N / 2}
	b.Dispatch(label, s.winogradProgram(h, e, class, c.Elem, constants{"ACCUMULATE": flag(c.Add && !h.shared())}), h.cover(e), conv3DWinogradParams{
		H_in: uint32(x.H), W_in: uint32(x.W), W: uint32(c.Y.W), C_in4: uint32(x.C4()), C_out4: uint32(c.Y.C4()),
		Top: int32(c.Y0 - 1), Left: int32(c.X0 - 1),
		X0_at: in.at[0], X1_at: in.at[1], X2_at: in.at[2], X3_at: in.at[3], X_stride: uint32(2 * x.Stride()),
		Weight_stride: in.weightStride, Y_at: yAt, Y_stride: uint32(c.Y.Stride()), Segments: uint32(h.segments(e)), Across: uint32(h.across(e)),
		Accumulate: uint32(flag(c.Add)),
	}, gpu.Cost{FLOPs: 2 * macs, MACs: macs, Bytes: in.bytes + y.Bytes()}, in.views[0], in.views[1], in.views[2], in.views[3], in.weight, c.Bias.All(), y)
}

// winogradProgram returns the program of a shader that imports `products` with four
// inputs.
func (s *Set) winogradProgram(h *shader, e extent, class string, weight Elem, c constants) *gpu.Program {
	const R = gpu.Read
	c["DEEP"], c["ROLLED"] = flag(h.across(e) < h.wg), flag(s.info.Type == "cpu")
	return s.made(h, class, weight, c, R, R, R, R, R, R, gpu.ReadWrite)
}

// winogradViews are the bindings of F(2,3): frames of x, and weights of four taps.
type winogradViews struct {
	views        [4]gpu.View
	at           [4]uint32 // offset of the first frame in each view, in vec4s
	weight       gpu.View
	weightStride uint32 // between blocks, in vec4s
	bytes        int64  // bytes read, counting frames once
}

// readWinograd binds the frames that n output frames read, and a weight of a shape.
func readWinograd(w Weights, shape Shape, taps []Tap, n int) winogradViews {
	in := winogradViews{
		weight:       gpu.View{Buffer: w.Weight, Size: int64(w.Packing.Size(shape) * w.Elem.Bytes())},
		weightStride: uint32(w.Packing.tap(shape.I, shape.KS)), // four taps, in vec4s
	}
	for k, tap := range taps {
		in.views[k], in.at[k] = tap.X.Frames(tap.T, n-1)
	}
	in.bytes = int64(n)*taps[0].X.FrameBytes() + in.weight.Size
	return in
}

// winogradTaps returns the three taps of frame f among the four of F(2,3).
func winogradTaps(taps []Tap, f int) (all []Tap) {
	for _, tap := range taps[f%2:][:3] {
		all = append(all, Tap{tap.X, tap.T + f - f%2})
	}
	return all
}

// winogradPlain records each frame separately.
func (s *Set) winogradPlain(b *gpu.Batch, label string, c Conv3DWinograd) {
	for f := range c.N {
		s.Conv3D(b, label, Conv3D{
			Weights: c.Weights, Taps: winogradTaps(c.Taps, f), Step: 1, Stride: 1, Y0: c.Y0, X0: c.X0, Y: c.Y, T: c.T + f, N: 1, Add: c.Add, ReLU: c.ReLU,
		})
	}
}
