package wgsl

import (
	"fmt"

	"tessera/gpu"
)

// Tensor is an activation in memory: frames of [H, W, C], channels-last, with C padded
// to a multiple of 4. Frame t begins at byte At(t).
type Tensor struct {
	_ gpu.Incomparable

	Buffer *gpu.Buffer
	Elem   Elem
	T      int // frames
	H, W   int // pixels
	C      int // channels, without padding

	Row, Rows int // of a part: its H rows start at row Row of Rows in a frame; Rows 0: the whole frame
}

// Part returns h rows of x from row y on.
func (x *Tensor) Part(y, h int) Tensor {
	if y < 0 || h < 1 || y+h > x.H {
		panic("wgsl: rows out of range")
	}
	part := *x
	if h < x.H {
		part.Row, part.Rows, part.H = x.Row+y, x.rows(), h
	}
	return part
}

// rows returns the number of rows of a frame in memory.
func (x *Tensor) rows() int {
	if x.Rows > 0 {
		return x.Rows
	}
	return x.H
}

// C4 returns the number of vec4s in a pixel.
func (x *Tensor) C4() int { return Pad4(x.C) / 4 }

// Stride returns the number of vec4s from one frame to the next.
func (x *Tensor) Stride() int { return x.rows() * x.W * x.C4() }

// pixelBytes returns the size of one pixel.
func (x *Tensor) pixelBytes() int64 { return int64(x.C4() * 4 * x.Elem.Bytes()) }

// RowBytes returns the size of one row.
func (x *Tensor) RowBytes() int64 { return int64(x.W) * x.pixelBytes() }

// FrameBytes returns the size of one frame, or of a part's rows of it.
func (x *Tensor) FrameBytes() int64 { return int64(x.H) * x.RowBytes() }

// Bytes returns the size of all frames, or of a part's rows of them.
func (x *Tensor) Bytes() int64 { return int64(x.T) * x.FrameBytes() }

// At returns the byte at which frame t begins.
func (x *Tensor) At(t int) int64 { return (int64(t)*int64(x.rows()) + int64(x.Row)) * x.RowBytes() }

// bindAlign is the largest StorageAlignment that a device may require.
const bindAlign = 256

// Frames returns a binding of n frames from frame t on: a view that starts at a
// multiple of bindAlign, and the offset of frame t in it in vec4s.
func (x *Tensor) Frames(t, n int) (gpu.View, uint32) {
	return x.bytes(x.At(t), x.At(t+n-1)+x.FrameBytes())
}

// bytes returns a binding of the bytes from `from` to before `to`.
func (x *Tensor) bytes(from, to int64) (gpu.View, uint32) {
	start := from &^ (bindAlign - 1)
	return gpu.View{Buffer: x.Buffer, Offset: start, Size: to - start}, uint32((from - start) / int64(4*x.Elem.Bytes()))
}

// alone panics if a kernel that needs contiguous frames would process several frames of
// a part.
func (x *Tensor) alone(n int) {
	if n > 1 && x.rows() != x.H {
		panic("wgsl: a part has one frame")
	}
}

// Weights of a convolution: the weight as Elem, packed by Pack, and the bias as f32,
// one number per output channel, padded with zeros to a multiple of 8. An operation
// with fewer outputs than the weights computes the first of them.
type Weights struct {
	_ gpu.Incomparable

	Weight, Bias *gpu.Buffer
	Elem         Elem
	Packing      *Packing // from Set.ConvPacking, Set.PointwisePacking and so on
}

// Tap is the source of one temporal tap: frame T of X for the first output frame.
type Tap struct {
	X Tensor
	T int
}

type conv3dParams struct {
	First                         gpu.First
	H_in, W_in, H, W              uint32
	C_in4, C_out4                 uint32
	Top, Left                     int32
	X0_at, X1_at, X2_at, X_stride uint32
	Weight_at, Weight_stride      uint32
	Y_at, Y_stride                uint32
	Segments, Across              uint32
	Accumulate                    uint32
}

// Conv3D describes one dispatch of a causal convolution.
//
// Output pixel (0, 0) is centred at row Y0 and column X0 of the input. With Stride 2 it
// reads three rows from Y0 and three columns from X0 on. Y may be a part of the whole
// output, or reach beyond it: pixels outside of the input are zero.
type Conv3D struct {
	Weights
	KT       int    // temporal taps of the weight; 0 is len(Taps)
	Later    int    // last taps of the weight, which this dispatch skips
	Taps     []Tap  // the last 1 to 3 of the remaining taps; inputs of earlier taps are zero
	Step     int    // frames of X between output frames: the temporal stride
	Stride   int    // 1 with one pixel of padding around, 2 with one pixel right and below
	Upsample bool   // the input is X enlarged twice by nearest neighbour
	Y0, X0   int    // of the input, for output pixel (0, 0)
	Y        Tensor // output
	T, N     int    // output frames T to T+N-1
	Add      bool   // add to Y, which holds the residual
	ReLU     bool   // apply ReLU to the result
	summed   bool   // Y holds sums that include the bias
}

func fillsSquare(s Shape) bool { return s.O >= 32 && s.I >= 16 }

// squareGrid covers segments of rows and blocks of channels with square workgroups: as
// many segments wide as blocks deep.
func squareGrid(h *shader, e extent) [3]uint32 {
	lanes := 1
	for lanes*lanes < h.wg {
		lanes++
	}
	return [3]uint32{groups(h.segments(e), lanes), groups(int(groups(4*e.C4, h.block)), lanes), uint32(e.N)}
}

// convOperation returns the operation of a convolution with this spatial stride.
func convOperation(stride int) string {
	if stride == 2 {
		return "conv3d_strided"
	}
	return "conv3d"
}

// ConvPacking returns the packing for a 3x3 convolution of spatial stride 1 or 2, from
// the kernel that is chosen or comes first. Any set that can run this kernel accepts
// it.
func (s *Set) ConvPacking(shape Shape, stride int) *Packing {
	return s.packing(convOperation(stride), shape)
}

// Conv3D records a 3x3 convolution with one to three temporal taps.
func (s *Set) Conv3D(b *gpu.Batch, label string, c Conv3D) {
	class := classOf(convOperation(c.Stride), Shape{O: c.Y.C, I: c.Taps[0].X.C, KS: 3})
	h := s.shader(label, class, c.Packing)
	if s.tapByTap(h, c.Taps) {
		each := c
		each.KT = max(c.KT, len(c.Taps))
		for k := range c.Taps {
			each.Taps, each.Later = c.Taps[k:][:1], c.Later+len(c.Taps)-1-k
			each.ReLU = c.ReLU && k == len(c.Taps)-1
			s.Conv3D(b, label, each)
			each.Add, each.summed = true, true
		}
		return
	}
	h = h.covering(c.Y.C, len(c.Taps)).withReLU(c.ReLU)
	top, left, scale := c.Y0-1, c.X0-1, 1
	if c.Stride == 2 {
		top, left = c.Y0, c.X0
	}
	if c.Upsample {
		scale = 2
	}
	x := c.Taps[0].X
	in := readTaps(c.Weights, 4*c.Y.C4(), c.KT, c.Taps, 3, (c.N-1)*c.Step+1)
	in.skip(c.Later, c.KT)
	y, yAt := c.Y.Frames(c.T, c.N)
	e := extent{H: c.Y.H, W: c.Y.W, C4: c.Y.C4(), N: c.N}
	h, e = h.suitedTo(e, c.Y.C)
	macs := int64(c.N) * int64(c.rows(top, scale*x.H)) * int64(c.Y.W) * int64(c.Y.C) * int64(x.C) * 3 * int64(len(c.Taps))
	values := constants{"KT": float64(len(c.Taps)), "SCALE": float64(scale)}
	h.setWhole(values, x.C)
	p := s.products(h, e, class, c.Elem, c.Add, values)
	b.Dispatch(label, p, h.cover(e), conv3dParams{
		H_in: uint32(x.H), W_in: uint32(x.W), H: uint32(c.Y.H), W: uint32(c.Y.W), C_in4: uint32(x.C4()), C_out4: uint32(c.Y.C4()),
		Top: int32(top), Left: int32(left),
		X0_at: in.at[0], X1_at: in.at[1], X2_at: in.at[2], X_stride: uint32(c.Step * x.Stride()),
		Weight_at: in.weightAt, Weight_stride: in.weightStride,
		Y_at: yAt, Y_stride: uint32(c.Y.Stride()), Segments: uint32(h.segments(e)), Across: uint32(h.across(e)),
		Accumulate: uint32(flag(c.Add) + flag(c.summed)),
	}, gpu.Cost{FLOPs: 2 * macs, MACs: macs, Bytes: in.bytes + y.Bytes()}, in.views[0], in.views[1], in.views[2], in.weight, c.Bias.All(), y)
}

// rows counts the input rows that all rows of the output read, summed over the output
// rows. The first one reads from row top, and h is the input's height. Rows outside are
// skipped.
func (c *Conv3D) rows(top, h int) int {
	n := 0
	for r := range c.Y.H {
		from := c.Stride*r + top
		n += max(0, min(from+3, h)-max(from, 0))
	}
	return n
}

// tapViews are the bindings of temporal taps: frames of x, and a part of the weight.
type tapViews struct {
	views                  [3]gpu.View
	at                     [3]uint32 // offset of the first frame in each view, in vec4s
	weight                 gpu.View
	weightAt, weightStride uint32 // of the first tap; between blocks; in vec4s
	bytes                  int64  // bytes read, counting frames once
}

// readTaps binds the frames of the last taps of a weight with kt temporal taps (0:
// len(taps)), each of ks x ks pixels, and the weight of the first o outputs.
func readTaps(w Weights, o, kt int, taps []Tap, ks, frames int) tapViews {
	n := len(taps)
	if kt == 0 {
		kt = n
	}
	if n < 1 || n > 3 || n > kt {
		panic(fmt.Sprintf("wgsl: %s: %d of %d temporal taps", w.Weight.Label, n, kt))
	}
	size := w.Packing.tap(taps[0].X.C, ks) / 4
	bytes := int64(w.Packing.Size(Shape{O: o, I: taps[0].X.C, KT: kt, KS: ks}) * w.Elem.Bytes())
	in := tapViews{weight: gpu.View{Buffer: w.Weight, Size: bytes}, weightAt: uint32((kt - n) * size), weightStride: uint32(kt * size)}
	for k := range in.views {
		tap := taps[min(k, n-1)]
		in.views[k], in.at[k] = tap.X.Frames(tap.T, frames)
	}
	in.bytes = in.views[0].Bytes() + bytes*int64(n)/int64(kt)
	return in
}

// skip moves back by this many of kt taps, to leave out the last ones.
func (v *tapViews) skip(taps, kt int) {
	if taps > 0 {
		v.weightAt -= uint32(taps) * v.weightStride / uint32(kt)
	}
}

// flag converts a boolean override.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
