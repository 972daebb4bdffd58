package wgsl

import (
	"fmt"

	"tessera/gpu"
)

type convUpParams struct {
	First                         gpu.First
	H_in, W_in, H, W              uint32
	C_in4, C_out4, Z, Blocks      uint32
	Top, Left                     int32
	X0_at, X1_at, X2_at, X_stride uint32
	Weight_at, Weight_stride      uint32
	Y_at, Y_stride                uint32
	Segments, Across              uint32
	Accumulate                    uint32
}

// ConvUp describes one dispatch of a convolution that enlarges twice. Its weight folds
// the enlargement, the layer before it and the convolution into one. Each output pixel
// reads 2x2 cells of x, with separate weights for each of the four parities of its row
// and column, and for each phase of time.
//
// Output pixel (0, 0) is pixel (Y0, X0) of the enlarged frame. Y may be a part of that
// frame, or reach beyond it: pixels outside of x are zero.
type ConvUp struct {
	Weights        // of a ConvUpShape; the bias has ConvUpBias elements
	KT      int    // temporal taps of the weight; 0 is len(Taps)
	Taps    []Tap  // the last 1 to 3 of them
	Phases  int    // frames made of each input frame
	Y0, X0  int    // of the enlarged frame, for output pixel (0, 0)
	Y       Tensor // output
	T, N    int    // output frames T to T+N*Phases-1
	Add     bool   // add to Y, without the bias
	ReLU    bool   // apply ReLU to the result
	later   int    // as Later in Conv3D
}

// parities returns the vec4s of the blocks of four parities, each padded to the
// channels of an invocation.
func (h *shader) parities(blocks int) int {
	return 4 * int(groups(blocks*h.block, h.channelsDeep())) * h.channelsDeep() / 4
}

// pad8 pads the channels of a parity.
func pad8(c int) int { return (c + 7) &^ 7 }

// ConvUpShape returns the shape of ConvUp's weight. Its outputs are [phases, row
// parity, column parity, o padded to 8].
func ConvUpShape(o, i, taps, phases int) Shape {
	return Shape{O: 4 * phases * pad8(o), I: i, KT: taps, KS: 2, Phases: phases}
}

// ConvUpBias returns the number of elements of ConvUp's bias, f32. For every eight
// outputs of a ConvUpShape there are eight numbers of the bias, then eight for each of
// the 2x2 cells, added if the cell is inside of x.
func ConvUpBias(s Shape) int { return 5 * s.O }

// ConvUpPacking returns the packing for ConvUp.
func (s *Set) ConvUpPacking(shape Shape) *Packing { return s.packing("conv_up", shape) }

// ConvUp records an enlarging convolution with one to three temporal taps.
func (s *Set) ConvUp(b *gpu.Batch, label string, c ConvUp) {
	x := c.Taps[0].X
	class := classOf("conv_up", ConvUpShape(c.Y.C, x.C, c.KT, c.Phases))
	h := s.shader(label, class, c.Packing).covering(c.Y.C, len(c.Taps)).withReLU(c.ReLU)
	if s.tapByTap(h, c.Taps) {
		each := c
		each.KT = max(c.KT, len(c.Taps))
		for k := range c.Taps {
			each.Taps, each.later = c.Taps[k:][:1], len(c.Taps)-1-k
			each.ReLU = c.ReLU && k == len(c.Taps)-1
			s.ConvUp(b, label, each)
			each.Add = true
		}
		return
	}
	in := readTaps(c.Weights, 4*c.Phases*pad8(c.Y.C), c.KT, c.Taps, 2, c.N)
	in.skip(c.later, c.KT)
	y, yAt := c.Y.Frames(c.T, c.N*c.Phases)
	blocks := pad8(c.Y.C) / h.block
	e := extent{H: (c.Y.H + 1) / 2, W: (c.Y.W + 1) / 2, N: c.N}
	h, e = h.suitedTo(e, c.Y.C)
	e.C4 = c.Phases * h.parities(blocks)
	macs := int64(c.N*c.Phases) * int64(c.rows(x.H)) * int64(c.Y.W) * int64(c.Y.C) * int64(x.C) * 2 * int64(len(c.Taps))
	values := constants{"KT": float64(len(c.Taps))}
	h.setWhole(values, x.C)
	p := s.products(h, e, class, c.Elem, c.Add, values)
	b.Dispatch(label, p, h.cover(e), convUpParams{
		H_in: uint32(x.H), W_in: uint32(x.W), H: uint32(c.Y.H), W: uint32(c.Y.W),
		C_in4: uint32(x.C4()), C_out4: uint32(c.Y.C4()), Z: uint32(c.Phases), Blocks: uint32(blocks),
		Top: int32(c.Y0), Left: int32(c.X0),
		X0_at: in.at[0], X1_at: in.at[1], X2_at: in.at[2], X_stride: uint32(x.Stride()),
		Weight_at: in.weightAt, Weight_stride: in.weightStride, Y_at: yAt, Y_stride: uint32(c.Y.Stride()), Segments: uint32(h.segments(e)), Across: uint32(h.across(e)),
		Accumulate: uint32(flag(c.Add)),
	}, gpu.Cost{FLOPs: 2 * macs, MACs: macs, Bytes: in.bytes + y.Bytes()}, in.views[0], in.views[1], in.views[2], in.weight, c.Bias.All(), y)
}

// rows counts the rows of cells that all rows of the output read, out of the input's
// `high` rows.
func (c *ConvUp) rows(high int) int {
	n := 0
	for r := c.Y0; r < c.Y0+c.Y.H; r++ {
		first := (r - 1) >> 1
		n += max(0, min(first+2, high)-max(first, 0))
	}
	return n
}

type foldParams struct {
	First                    gpu.First
	Inputs, C_out4           uint32
	Y_at, Parity, Block, Row uint32
	Group, Column            uint32
	Inputs_in, Outputs_in    uint32
}

// Fold describes the last step of making a ConvUp's weight. For each of the 4x4 points
// of rows and columns, X holds the product of the two layers' matrices. Its pixels are
// inputs, its channels are outputs O to O+X.C-1 of one parity.
type Fold struct {
	Weights
	X          Tensor // [16, 1, I, outputs], f32
	Shape      Shape  // of the resulting weight
	Phases     int    // phases of time in the weight
	Phase, Tap int    // that X contributes to
	O          int    // first output, at the start of a block of the packing
}

// Fold records the transform of X into its part of the weight.
func (s *Set) Fold(b *gpu.Batch, label string, f Fold) {
	x := f.X
	if x.Elem != F32 || x.T != 16 || x.W != f.Shape.I || f.O%f.Packing.out != 0 || x.C%8 != 0 {
		panic(fmt.Sprintf("wgsl: %s: folds %d frames of %d inputs and %d outputs from %d on into %+v", label, x.T, x.W, x.C, f.O, f.Shape))
	}
	parity := f.Shape.O / (4 * f.Phases)
	pack := f.Packing
	matrix, tap := pack.in*pack.out/4, pack.tap(f.Shape.I, 2)/4
	block := f.Shape.KT * tap
	row, group, e := tap/2, 2*matrix, extent{H: 1, W: x.W, C4: x.C4(), N: 1}
	if pack.rows {
		row, group, e.W, e.C4 = 2*matrix, 4*matrix, Pad4(x.W)/4, 4*x.C4()
	}
	h := s.shader(label, "fold", nil)
	made := 16 * int64(x.W*x.C)
	b.Dispatch(label, s.weighted(h, f.Elem, constants{"ROWS": flag(pack.rows)}, gpu.Read, gpu.ReadWrite), h.cover(e), foldParams{
		Inputs: uint32(x.W), C_out4: uint32(x.C4()),
		Y_at: uint32((4*f.Phase*parity+f.O)/pack.out*block + f.Tap*tap), Parity: uint32(parity / pack.out * block), Block: uint32(block),
		Row: uint32(row), Group: uint32(group), Column: uint32(matrix), Inputs_in: uint32(pack.in), Outputs_in: uint32(pack.out),
	}, gpu.Cost{FLOPs: 4 * made, Bytes: x.Bytes() + made*int64(f.Elem.Bytes())}, gpu.View{Buffer: x.Buffer, Size: x.Bytes()}, f.Weight.All())
}
