package wgsl

import (
	"tessera/gpu"
)

type winogradParams struct {
	First                           gpu.First
	Shares                          [6][4]float32
	Products, Frames                uint32
	H_in, W_in, H, W, C_in4, C_out4 uint32
	Top, Left                       int32
	X_stride, Weight_stride         uint32
	Y_at, Y_stride                  uint32
	Segments, Across                uint32
	Start                           int32
	Accumulate                      uint32
}

type winogradInputsParams struct {
	First                            gpu.First
	Size, X0_at, X1_at, X2_at, X3_at uint32
}

type winogradInputs4Params struct {
	First                                          gpu.First
	Size, X0_at, X1_at, X2_at, X3_at, X4_at, X5_at uint32
}

// transformBytes is the number of bytes of sums computed at a time, so that they are
// still in the processor's cache when they are multiplied. Tests use less.
var transformBytes = 8 << 20

// transformRows is the minimum number of rows computed at a time; tests use less.
var transformRows = 8

// sums returns the bytes of the sums of an input of this height, given the bytes of a
// row of sums.
func (h *shader) sums(high int, row int64) int64 { return int64(min(high, h.sumsRows(row)+2)) * row }

// sumsRows returns the number of rows computed at a time, without one above and one
// below, given the bytes of a row. It is a multiple of an invocation's column, or of 8
// pixels if longer columns do not fit.
func (h *shader) sumsRows(bytes int64) int {
	rows, column := transformBytes/int(bytes)-2, min(h.pixels, transformRows)
	if rows >= h.pixels {
		column = h.pixels
	}
	return max(column, rows-rows%column)
}

// columns returns the shader for this many channels. With three blocks, columns have
// six pixels, because eight take a third longer to compile and are no faster.
func (h *shader) columns(channels int) *shader {
	suited := *h.covering(channels, 1)
	if suited.blocks == 3 {
		suited.pixels = 6
	}
	return &suited
}

// transformed is the transform of kernels with a separate input transform.
var transformed = transform{
	bytes:  func(h *shader, outputs, high int, row int64) int64 { return h.columns(outputs).sums(high, row) },
	frames: (*Set).winogradTransformed,
	rows:   (*Set).winogradRowsTransformed,
}

// winogradTransformed records frames with an input transform of some rows at a time.
func (s *Set) winogradTransformed(b *gpu.Batch, label, class string, k *kernel, c *Conv3DWinograd) {
	x, h, of := &c.Taps[0].X, k.shaders[0].columns(c.Y.C), len(c.Taps)-2
	for t := 0; t < c.N; t += of {
		h.eachRows(sumsRow(x, of), x.H, c.Y0, c.Y.H, func(y, rows, from, n int) {
			s.inputTransform(b, label, k, c, t, from, n)
			s.winogradProducts(b, label, class, h, &products{
				Weights: c.Weights, sums: c.Sums, H: n, W: x.W, C: x.C, top: y + c.Y0 - 1 - from, left: c.X0 - 1, taps: 1,
				Y: c.Y.Part(y, rows), T: c.T + t, of: of, add: c.Add, relu: c.ReLU,
			})
		})
	}
}

// eachRows calls record for the output's rows, as many at a time as sumsRows returns.
// These rows read n rows of x from `from` on.
func (h *shader) eachRows(row int64, high, y0, out int, record func(y, rows, from, n int)) {
	most := h.sumsRows(row)
	for y := 0; y < out; y += most {
		rows := min(out-y, most)
		from := min(max(y+y0-1, 0), high-1)
		to := min(max(y+y0+rows+1, from+1), high)
		record(y, rows, from, to-from)
	}
}

// inputTransform records the sums of n rows of the frames for frame t on: four frames
// for F(2,3), six for F(4,3).
func (s *Set) inputTransform(b *gpu.Batch, label string, k *kernel, c *Conv3DWinograd, t, row, n int) {
	const R = gpu.Read
	var views [7]gpu.View
	var at [6]uint32
	for i, tap := range c.Taps {
		part := tap.X.Part(row, n)
		views[i], at[i] = part.Frames(tap.T+t, 1)
	}
	part := c.Taps[0].X.Part(row, n)
	size := n * part.W * part.C4()
	frames := len(c.Taps)
	to := gpu.View{Buffer: c.Sums, Size: int64(size) * int64(frames) * 16}
	views[frames] = to
	e := extent{H: 1, W: size, C4: 1, N: 1}
	bytes := int64(frames)*part.FrameBytes() + to.Size
	if frames == 6 {
		h := &k.shaders[2]
		b.Dispatch(label, s.program(h, constants{}, R, R, R, R, R, R, gpu.ReadWrite), h.cover(e), winogradInputs4Params{
			Size: uint32(size), X0_at: at[0], X1_at: at[1], X2_at: at[2], X3_at: at[3], X4_at: at[4], X5_at: at[5],
		}, gpu.Cost{FLOPs: 88 * int64(size), Bytes: bytes}, views[:]...)
		return
	}
	h := &k.shaders[1]
	b.Dispatch(label, s.program(h, constants{}, R, R, R, R, gpu.ReadWrite), h.cover(e), winogradInputsParams{
		Size: uint32(size), X0_at: at[0], X1_at: at[1], X2_at: at[2], X3_at: at[3],
	}, gpu.Cost{FLOPs: 16 * int64(size), Bytes: bytes}, views[:5]...)
}

// outputTransform2 and outputTransform4 are the factors of each product in each of the
// frames: the powers of its point.
var (
	outputTransform2 = [6][4]float32{{1, 0}, {1, 1}, {1, -1}, {0, -1}}
	outputTransform4 = [6][4]float32{
		{1, 0, 0, 0},
		{1, 0.75, 0.5625, 0.421875}, {1, -0.75, 0.5625, -0.421875},
		{1, 1.5, 2.25, 3.375}, {1, -1.5, 2.25, -3.375},
		{0, 0, 0, 1},
	}
)

// products describes the products of an input transform's sums with weights of as many
// sums.
type products struct {
	Weights
	sums      *gpu.Buffer
	H, W, C   int    // of each sum, of one temporal tap
	taps      int    // temporal taps, whose channels follow one another; 1 for frames
	top, left int    // of the sums, for output pixel (0, 0)
	Y         Tensor // rows of the output
	T, of     int    // output frames T to T+of-1
	rows      bool   // `of` counts pixels of a row instead of frames
	add, relu bool
}

// winogradProducts records the products.
func (s *Set) winogradProducts(b *gpu.Batch, label, class string, h *shader, p *products) {
	const R = gpu.Read
	h = h.withReLU(p.relu)
	n, columns, frames, wide, stride, shares := p.of+2, 3, p.of, p.Y.W, p.Y.Stride(), outputTransform4
	if p.rows { // the sums already include the columns
		columns, frames, wide, stride = 1, 1, p.W, p.Y.C4()
	}
	if p.of == 2 {
		shares = outputTransform2
	}
	y, at := p.Y.Frames(p.T, frames)
	in4 := p.taps * int(groups(p.C, 4))
	e := extent{H: int(groups(p.Y.H, h.pixels)), W: h.pixels * 8 * int(groups(wide, 8)), C4: p.Y.C4(), N: 1} // segments are columns of pixels, in groups of eight
	if h.suit != nil {
		h, e = h.suit(h, extent{H: p.Y.H, W: wide, C4: p.Y.C4(), N: 1}, p.Y.C)
	}
	sums := gpu.View{Buffer: p.sums, Size: 16 * int64(n) * int64(p.H) * int64(p.W) * int64(in4)}
	of := Shape{O: p.Y.C, I: 4 * in4, KT: n, KS: 3}
	weight := gpu.View{Buffer: p.Weight, Size: int64(p.Packing.Size(of) / 3 * columns * p.Elem.Bytes())}
	plain := Conv3D{Y: p.Y, Stride: 1}
	macs := int64(plain.rows(p.top, p.H)) * int64(wide) * int64(p.Y.C) * int64(p.C) * int64(p.taps*n*columns)
	program := s.made(h, class, p.Elem, constants{
		"ACCUMULATE": flag(p.add && !h.shared()), "DEEP": flag(h.across(e) < h.wg),
	}, R, R, R, gpu.ReadWrite)
	b.Dispatch(label, program, h.cover(e), winogradParams{
		Shares: shares, Products: uint32(n), Frames: uint32(p.of),
		H_in: uint32(p.H), W_in: uint32(p.W), H: uint32(p.Y.H), W: uint32(p.Y.W), C_in4: uint32(in4), C_out4: uint32(p.Y.C4()),
		Top: int32(p.top), Left: int32(p.left), X_stride: uint32(p.H * p.W * in4), Weight_stride: uint32(p.Packing.tap(of.I, 3) * n * columns / 12),
		Y_at: at, Y_stride: uint32(stride), Segments: uint32(h.segments(e)), Across: uint32(h.across(e)), Start: -int32(flag(h.count("INPUTS") > 8)), Accumulate: uint32(flag(p.add)),
	}, gpu.Cost{FLOPs: 2 * macs, MACs: macs, Bytes: sums.Size + weight.Size + y.Bytes()}, sums, weight, p.Bias.All(), y)
}
