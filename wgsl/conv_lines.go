//go:build !js

package wgsl

import (
	_ "embed"
	"fmt"

	"tessera/gpu"
)

// Pixels of a row four by four, by Winograd's F(4,3) along the row: what quads.go has
// along time, for single frames.
var (
	//go:embed conv_lines.wgsl
	convLinesText string
	//go:embed conv_lines_columns.wgsl
	convLinesColumnsText string
	//go:embed line_frames.wgsl
	lineFramesText string
)

type lineFramesParams struct {
	First          gpu.First
	W_in, W, C_in4 uint32
	Left           int32
	X_at, Stride   uint32
}

// ConvLines describes a 3x3 convolution of stride 1 and one temporal tap. With weights of
// LineTaps it makes the pixels of a row four by four, in six products for twelve.
//
// Y0, X0 and Y are as Conv3D has them.
type ConvLines struct {
	Weights
	Tap    Tap         // of the first output frame
	Y0, X0 int         // of the input, for output pixel (0, 0)
	Y      Tensor      // output
	T, N   int         // output frames T to T+N-1
	Add    bool        // add to Y, which holds the residual
	Sums   *gpu.Buffer // of at least the bytes of LineSums
}

// convLinesKernels compute ConvLines: the plain one as Conv3D does. The others have two
// shaders: the products' and the sums'.
var convLinesKernels = []kernel{{
	name: "plain", packing: blocks4x8,
	shaders: conv3DKernels[0].shaders,
}, {
	name: "ahead", packing: pairs4x8, needs: eights, better: looping,
	shaders: []shader{
		{file: "conv_lines", taps: 3, wg: 64, pixels: 16, block: 8, tall: 2, grid: segmentGrid, together: 8},
		{file: "line_frames", wg: 64, grid: rowGrid},
	},
}, {
	name: "columns", packing: pairs4x8, needs: columned, better: columned,
	shaders: []shader{
		{file: "conv_lines_columns", taps: 3, wg: 8, pixels: 16, block: 8, tall: 1, upright: true, grid: columnGrid},
		{file: "line_frames", wg: 64, grid: rowGrid},
	},
}}

// linePixels is how many pixels a frame has at least: with fewer, to make weights takes
// longer than what they save, or before Mesa 26, which takes 5 s for the kernel, once, that.
func linePixels(info gpu.Info) int {
	if looping(info) {
		return 1 << 14
	}
	return 1 << 10
}

// Lined says whether ConvLines is to make frames of so many pixels, with LineTaps of a
// weight of a packing and shape: by the kernel that is chosen or comes first, of f32.
func (s *Set) Lined(p *Packing, shape Shape, pixels int) bool {
	return s.Elem == F32 && shape.KT == 1 && shape.KS == 3 && pixels >= linePixels(s.info) && *p == *pairs4x8 && s.lines(shape).packing == pairs4x8
}

// lines is the kernel for a weight of a shape.
func (s *Set) lines(shape Shape) *kernel { return s.find(classOf("conv_lines", shape), nil) }

// LineBytes is the bytes of a weight that LineTaps makes: six sums for three columns.
func (s *Set) LineBytes(shape Shape) int64 {
	return 2 * int64(pairs4x8.Size(shape)*s.summed().Bytes())
}

// LineTaps records sums of a weight's columns and gives the weights that they make, in
// LineBytes.
func (s *Set) LineTaps(b *gpu.Batch, label string, w Weights, shape Shape, to *gpu.Buffer) Weights {
	if to.Size < s.LineBytes(shape) || shape.KT != 1 {
		panic(fmt.Sprintf("wgsl: %s: columns of %v in %d bytes", label, shape, to.Size))
	}
	size := w.Packing.tap(shape.I, 3)
	blocks := w.Packing.Size(shape) / size
	s.sixTaps(b, label, w, blocks, size/12, pairs4x8.in*pairs4x8.out/4, gpu.View{Buffer: to, Size: s.LineBytes(shape)})
	return Weights{Weight: to, Bias: w.Bias, Elem: s.summed(), Packing: pairs4x8}
}

// LineSums is the bytes of ConvLines.Sums for o outputs, w pixels wide, of frames like x.
func (s *Set) LineSums(o int, x *Tensor, w int) int64 {
	return s.lines(Shape{O: o, I: x.C, KS: 3}).shaders[0].columns(o).sums(x.H, lineRow(x, w))
}

// lineRow is the bytes of a row of six sums for w pixels.
func lineRow(x *Tensor, w int) int64 { return int64((w+3)/4) * int64(x.C4()) * 6 * 16 }

// ConvLines records a convolution of frames with one temporal tap.
func (s *Set) ConvLines(b *gpu.Batch, label string, c ConvLines) {
	if c.Packing != pairs4x8 {
		s.Conv3D(b, label, Conv3D{Weights: c.Weights, Taps: []Tap{c.Tap}, Step: 1, Stride: 1, Y0: c.Y0, X0: c.X0, Y: c.Y, T: c.T, N: c.N, Add: c.Add})
		return
	}
	x := &c.Tap.X
	class := classOf("conv_lines", Shape{O: c.Y.C, I: x.C, KS: 3})
	k := s.kernel(label, class, c.Packing)
	h := k.shaders[0].columns(c.Y.C)
	for t := range c.N {
		h.inRows(lineRow(x, c.Y.W), x.H, c.Y0, c.Y.H, func(y, rows, from, n int) {
			in := x.Part(from, n)
			s.lineSumsOf(b, label, &k.shaders[1], &c, c.Tap.T+t, &in)
			s.productsOf(b, label, class, h, &products{
				Weights: c.Weights, sums: c.Sums, H: n, W: (c.Y.W + 3) / 4, C: x.C, top: y + c.Y0 - 1 - from,
				Y: c.Y.Part(y, rows), T: c.T + t, of: 4, lines: true, add: c.Add,
			})
		})
	}
}

// lineSumsOf records those of rows of frame t.
func (s *Set) lineSumsOf(b *gpu.Batch, label string, h *shader, c *ConvLines, t int, in *Tensor) {
	x, at := in.Frames(t, 1)
	fours := (c.Y.W + 3) / 4
	sums := gpu.View{Buffer: c.Sums, Size: int64(in.H) * lineRow(in, c.Y.W)}
	b.Dispatch(label, s.program(h, constants{}, gpu.Read, gpu.ReadWrite), h.cover(extent{H: in.H, W: fours, C4: in.C4(), N: 1}), lineFramesParams{
		W_in: uint32(in.W), W: uint32(fours), C_in4: uint32(in.C4()), Left: int32(c.X0 - 1), X_at: at, Stride: uint32(in.H * fours * in.C4()),
	}, gpu.Cost{FLOPs: 88 * int64(in.H*fours*in.C4()), Bytes: x.Bytes() + sums.Size}, x, sums)
}
