//go:build !js

package wgsl

import (
	_ "embed"

	"tessera/gpu"
)

// Pairs of frames of sums that are made ahead. They are for Mesa's drivers for
// processors, which no browser has.
var (
	//go:embed conv_pairs_ahead.wgsl
	convPairsAheadText string
	//go:embed pair_frames.wgsl
	pairFramesText string
	//go:embed shared/pairs_params.wgsl
	sharedPairsParamsText string
)

// Ahead says that there are kernels which make them.
const Ahead = true

type convPairsAheadParams struct {
	First                           gpu.First
	H_in, W_in, H, W, C_in4, C_out4 uint32
	Top, Left                       int32
	X_stride, Weight_stride         uint32
	Y_at, Y_stride                  uint32
	Segments, Across                uint32
	Start                           int32
	Accumulate                      uint32
}

type pairFramesParams struct {
	First                            gpu.First
	Size, X0_at, X1_at, X2_at, X3_at uint32
}

// convPairsAheadKernels have two shaders: the products', and the sums'.
var convPairsAheadKernels = []kernel{{
	name: "ahead", packing: pairs4x8, needs: eights, better: eights,
	shaders: []shader{
		{file: "conv_pairs_ahead", taps: 3, wg: 64, pixels: 8, block: 8, tall: 2, grid: segmentGrid, together: 8},
		{file: "pair_frames", wg: 64, grid: rowGrid},
	},
}}

// sumsAhead is how many bytes of sums are made at a time: they are multiplied with
// while the processor's cache has them. Tests make fewer.
var sumsAhead = 8 << 20

// sumsLeast is of how many rows they are at least; tests have less.
var sumsLeast = 8

// PairSums is the bytes of ConvPairs.Sums for o outputs of frames like x; 0 where its
// kernel takes none.
func (s *Set) PairSums(o int, x *Tensor) int64 {
	k := s.find(classOf("conv_pairs", Shape{O: o, I: x.C, KS: 3}), nil)
	if k.packing != pairs4x8 || len(k.shaders) < 2 {
		return 0
	}
	return int64(min(x.H, k.shaders[0].columns(o).sumsRows(x)+2)) * sumsRow(x)
}

// sumsRow is the bytes of a row of four sums.
func sumsRow(x *Tensor) int64 { return int64(x.W) * int64(x.C4()) * 4 * 16 }

// sumsRows is of how many rows there are sums at a time, but for one above and below:
// whole columns of an invocation, of 8 pixels where there is no room for longer ones.
func (h *shader) sumsRows(x *Tensor) int {
	rows, column := sumsAhead/int(sumsRow(x))-2, min(h.pixels, sumsLeast)
	if rows >= h.pixels {
		column = h.pixels
	}
	return max(column, rows-rows%column)
}

// columns is the shader for so many channels: three blocks have columns of six pixels,
// since sums of eight take a third longer to compile and are no faster.
func (h *shader) columns(channels int) *shader {
	suited := *h.covering(channels, 1)
	if suited.tall == 3 {
		suited.pixels = 6
	}
	return &suited
}

// ahead records pairs of frames whose sums are made first, some rows at a time; false
// where the kernel makes none.
func (s *Set) ahead(b *gpu.Batch, label, class string, c *ConvPairs) bool {
	k := s.kernel(label, class, c.Packing)
	if len(k.shaders) < 2 {
		return false
	}
	x, h := &c.Taps[0].X, k.shaders[0].columns(c.Y.C)
	most := h.sumsRows(x)
	for t := 0; t < c.N; t += 2 {
		for y := 0; y < c.Y.H; y += most {
			rows := min(c.Y.H-y, most)
			from := min(max(y+c.Y0-1, 0), x.H-1)
			to := min(max(y+c.Y0+rows+1, from+1), x.H)
			s.sumsOf(b, label, &k.shaders[1], c, t, from, to-from)
			s.productsOf(b, label, class, h, c, t, y, rows, from, to-from)
		}
	}
	return true
}

// sumsOf records those of n rows of the pair from frame t on.
func (s *Set) sumsOf(b *gpu.Batch, label string, h *shader, c *ConvPairs, t, row, n int) {
	const R = gpu.Read
	var x [4]gpu.View
	var at [4]uint32
	for k := range x {
		part := c.Taps[k].X.Part(row, n)
		x[k], at[k] = part.Frames(c.Taps[k].T+t, 1)
	}
	part := c.Taps[0].X.Part(row, n)
	size := n * part.W * part.C4()
	to := gpu.View{Buffer: c.Sums, Size: int64(size) * 4 * 16}
	p := s.program(h, constants{}, R, R, R, R, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{H: 1, W: size, C4: 1, N: 1}), pairFramesParams{
		Size: uint32(size), X0_at: at[0], X1_at: at[1], X2_at: at[2], X3_at: at[3],
	}, gpu.Cost{FLOPs: 16 * int64(size), Bytes: 4*part.FrameBytes() + to.Size}, x[0], x[1], x[2], x[3], to)
}

// productsOf records theirs, of rows of the output from y0 on.
func (s *Set) productsOf(b *gpu.Batch, label, class string, h *shader, c *ConvPairs, t, y0, rows, from, n int) {
	const R = gpu.Read
	x, part := &c.Taps[0].X, c.Y.Part(y0, rows)
	y, yAt := part.Frames(c.T+t, 2)
	e := extent{H: int(groups(rows, h.pixels)), W: h.pixels * 8 * int(groups(part.W, 8)), C4: part.C4(), N: 1} // segments are columns of pixels, eight of them together
	if h.upright {
		h, e = h.inColumns(extent{H: rows, W: part.W, C4: part.C4(), N: 1}, part.C)
	}
	top := y0 + c.Y0 - 1 - from
	sums := gpu.View{Buffer: c.Sums, Size: int64(n) * sumsRow(x)}
	shape := Shape{O: 4 * part.C4(), I: x.C, KT: 4, KS: 3}
	weight := gpu.View{Buffer: c.Weight, Size: int64(c.Packing.Size(shape) * c.Elem.Bytes())}
	plain := Conv3D{Y: part, Stride: 1}
	macs := int64(plain.rows(top, n)) * int64(part.W) * int64(part.C) * int64(x.C) * 3 * 4
	p := s.made(h, class, c.Elem, constants{
		"ACCUMULATE": flag(c.Add && !h.shared()), "DEEP": flag(h.across(e) < h.wg), "ROLLED": 1,
	}, R, R, R, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(e), convPairsAheadParams{
		H_in: uint32(n), W_in: uint32(x.W), H: uint32(rows), W: uint32(part.W), C_in4: uint32(x.C4()), C_out4: uint32(part.C4()),
		Top: int32(top), Left: int32(c.X0 - 1), X_stride: uint32(n * x.W * x.C4()), Weight_stride: uint32(c.Packing.tap(x.C, 3)),
		Y_at: yAt, Y_stride: uint32(part.Stride()), Segments: uint32(h.segments(e)), Across: uint32(h.across(e)), Start: -int32(flag(h.size("Q") > 8)), Accumulate: uint32(flag(c.Add)),
	}, gpu.Cost{FLOPs: 2 * macs, MACs: macs, Bytes: sums.Size + weight.Size + y.Bytes()}, sums, weight, c.Bias.All(), y)
}
