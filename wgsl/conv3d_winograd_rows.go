package wgsl

import (
	"fmt"

	"tessera/gpu"
)

// Conv3DWinogradRows describes a 3x3 convolution of stride 1. With weights of
// WinogradRowWeights it computes four pixels of a row at once, with six products
// instead of twelve.
//
// Y0, X0 and Y are as in Conv3D.
type Conv3DWinogradRows struct {
	Weights
	Taps   []Tap       // of the first output frame; one for each temporal tap of the weights
	Y0, X0 int         // of the input, for output pixel (0, 0)
	Y      Tensor      // output
	T, N   int         // output frames T to T+N-1
	Add    bool        // add to Y, which holds the residual
	ReLU   bool        // apply ReLU to the result
	Sums   *gpu.Buffer // at least WinogradRowSums bytes
}

// Limits below which rows do not pay. With fewer pixels per frame, making the weights
// takes longer than they save. With fewer channels, the products run at half the rate
// of plain convolutions. Mesa before 26 compiles the kernel for 5 s, once, and needs
// more pixels to save that.
const (
	rowsPixels     = 1 << 10
	rowsChannels   = 64
	slowRowsPixels = 1 << 14
)

// UsesWinogradRows reports whether Conv3DWinogradRows should compute f32 frames of this
// many pixels, with WinogradRowWeights of a weight with this packing and shape. The
// kernel that is chosen or comes first decides. A kernel that compiles slowly is not
// used for the few single frames of a clip, unless it is chosen by name.
func (s *Set) UsesWinogradRows(p *Packing, shape Shape, pixels int, clip bool) bool {
	if s.Elem != F32 || shape.KS != 3 || pixels < rowsPixels || *p != *winograd4x8 || s.winogradRows(shape).packing != winograd4x8 {
		return false
	}
	if _, chosen := s.choices["conv3d_winograd_rows"]; chosen {
		return true
	}
	return min(shape.O, shape.I) >= rowsChannels && !(mesaBefore26(s.info) && (clip || pixels < slowRowsPixels))
}

// winogradRows returns the kernel for a weight of a shape.
func (s *Set) winogradRows(shape Shape) *kernel {
	return s.find(classOf("conv3d_winograd_rows", shape), nil)
}

// WinogradRowBytes returns the bytes of a weight from WinogradRowWeights: six sums for
// three columns.
func (s *Set) WinogradRowBytes(shape Shape) int64 {
	return 2 * int64(winograd4x8.Size(shape)*s.summed().Bytes())
}

// WinogradRowWeights records the sums of a weight's columns into `to`, of at least
// WinogradRowBytes, and returns the new weights.
func (s *Set) WinogradRowWeights(b *gpu.Batch, label string, w Weights, shape Shape, to *gpu.Buffer) Weights {
	if to.Size < s.WinogradRowBytes(shape) {
		panic(fmt.Sprintf("wgsl: %s: columns of %v in %d bytes", label, shape, to.Size))
	}
	blocks := int(groups(shape.O, w.Packing.out))
	matrix := w.Packing.in * w.Packing.out / 4
	row := matrix * int(groups(shape.I, w.Packing.in)) // one of the three columns
	s.weightTransform4(b, label, w, blocks, winogradWeights4Params{
		Size: uint32(shape.KT * 3 * row), Run: uint32(matrix), Part: uint32(row), Rows: 3, Taps: uint32(shape.KT),
	}, gpu.View{Buffer: to, Size: s.WinogradRowBytes(shape)})
	return Weights{Weight: to, Bias: w.Bias, Elem: s.summed(), Packing: winograd4x8}
}

// WinogradRowSums returns the bytes of Conv3DWinogradRows.Sums for o outputs, w pixels
// wide, of frames like x with kt temporal taps; 0 if the kernel needs none.
func (s *Set) WinogradRowSums(o int, x *Tensor, w, kt int) int64 {
	k := s.winogradRows(Shape{O: o, I: x.C, KS: 3})
	if k.transform == nil {
		return 0
	}
	return k.transform.bytes(&k.shaders[0], o, x.H, rowSums(x, w, kt))
}

// rowSums returns the bytes of a row of six sums for w pixels.
func rowSums(x *Tensor, w, kt int) int64 { return int64((w+3)/4) * int64(kt) * int64(x.C4()) * 6 * 16 }

// WinogradRowsOf returns the convolution into y, given the taps of its first frame. If
// the kernel uses Winograd, it records WinogradRowWeights; buffer creates the memory
// for these and for sums.
func (s *Set) WinogradRowsOf(b *gpu.Batch, label string, w Weights, taps []Tap, y Tensor, buffer func(label string, bytes int64) *gpu.Buffer) Conv3DWinogradRows {
	c, shape := Conv3DWinogradRows{Weights: w, Taps: taps, Y: y, N: y.T}, Shape{O: y.C, I: taps[0].X.C, KT: len(taps), KS: 3}
	if *w.Packing == *winograd4x8 && s.winogradRows(shape).packing == winograd4x8 {
		c.Weights = s.WinogradRowWeights(b, label, w, shape, buffer("columns", s.WinogradRowBytes(shape)))
		c.Sums = buffer("sums", s.WinogradRowSums(y.C, &taps[0].X, y.W, shape.KT))
	}
	return c
}

// Conv3DWinogradRows records a convolution of separate frames.
func (s *Set) Conv3DWinogradRows(b *gpu.Batch, label string, c Conv3DWinogradRows) {
	if c.Packing != winograd4x8 {
		s.Conv3D(b, label, Conv3D{Weights: c.Weights, Taps: c.Taps, Step: 1, Stride: 1, Y0: c.Y0, X0: c.X0, Y: c.Y, T: c.T, N: c.N, Add: c.Add, ReLU: c.ReLU})
		return
	}
	class := classOf("conv3d_winograd_rows", Shape{O: c.Y.C, I: c.Taps[0].X.C, KS: 3})
	k := s.kernel(label, class, c.Packing)
	k.transform.rows(s, b, label, class, k, &c)
}
