//go:build !js

package wgsl

import (
	_ "embed"

	"tessera/gpu"
)

// Pairs and quads of frames of sums that are made ahead. They are for Mesa's drivers for
// processors, which no browser has.
var (
	//go:embed conv_pairs_ahead.wgsl
	convPairsAheadText string
	//go:embed pair_frames.wgsl
	pairFramesText string
	//go:embed shared/made_loops.wgsl
	sharedMadeLoopsText string
	//go:embed shared/made_written.wgsl
	sharedMadeWrittenText string
	//go:embed shared/pairs_params.wgsl
	sharedPairsParamsText string
)

// Ahead says that there are kernels which make them.
const Ahead = true

type convPairsAheadParams struct {
	First                           gpu.First
	Share0, Share1, Share2          [4]float32
	Share3, Share4, Share5          [4]float32
	Products, Frames                uint32
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

// convPairsAheadKernels have four shaders: the products', the sums' of pairs and of quads,
// and that of weights for quads.
var convPairsAheadKernels = []kernel{{
	name: "ahead", packing: pairs4x8, needs: eights, better: eights,
	shaders: []shader{
		{file: "conv_pairs_ahead", taps: 3, wg: 64, pixels: 8, block: 8, tall: 2, grid: segmentGrid, together: 8},
		{file: "pair_frames", wg: 64, grid: rowGrid},
		quadShaders[0], quadShaders[1],
	},
}}

// sumsAhead is how many bytes of sums are made at a time: they are multiplied with
// while the processor's cache has them. Tests make fewer.
var sumsAhead = 8 << 20

// sumsLeast is of how many rows they are at least; tests have less.
var sumsLeast = 8

// PairSums is the bytes of ConvPairs.Sums for o outputs of frames like x, made `of` by
// `of`; 0 where its kernel takes none.
func (s *Set) PairSums(o int, x *Tensor, of int) int64 {
	k := s.find(classOf("conv_pairs", Shape{O: o, I: x.C, KS: 3}), nil)
	if k.packing != pairs4x8 || len(k.shaders) < 2 {
		return 0
	}
	return int64(min(x.H, k.shaders[0].columns(o).sumsRows(x, of)+2)) * sumsRow(x, of)
}

// sumsRow is the bytes of a row of the sums for so many frames.
func sumsRow(x *Tensor, of int) int64 { return int64(x.W) * int64(x.C4()) * int64(of+2) * 16 }

// sumsRows is of how many rows there are sums at a time, but for one above and below:
// whole columns of an invocation, of 8 pixels where there is no room for longer ones.
func (h *shader) sumsRows(x *Tensor, of int) int { return h.rowsOf(sumsRow(x, of)) }

// rowsOf is how many rows of so many bytes that is.
func (h *shader) rowsOf(bytes int64) int {
	rows, column := sumsAhead/int(bytes)-2, min(h.pixels, sumsLeast)
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

// ahead records frames whose sums are made first, some rows at a time; false where the
// kernel makes none.
func (s *Set) ahead(b *gpu.Batch, label, class string, c *ConvPairs) bool {
	k := s.kernel(label, class, c.Packing)
	if len(k.shaders) < 2 {
		return false
	}
	x, h, of := &c.Taps[0].X, k.shaders[0].columns(c.Y.C), len(c.Taps)-2
	most := h.sumsRows(x, of)
	for t := 0; t < c.N; t += of {
		for y := 0; y < c.Y.H; y += most {
			rows := min(c.Y.H-y, most)
			from := min(max(y+c.Y0-1, 0), x.H-1)
			to := min(max(y+c.Y0+rows+1, from+1), x.H)
			s.sumsOf(b, label, k, c, t, from, to-from)
			s.productsOf(b, label, class, h, c, t, y, rows, from, to-from)
		}
	}
	return true
}

// sumsOf records those of n rows of the pair or quad from frame t on.
func (s *Set) sumsOf(b *gpu.Batch, label string, k *kernel, c *ConvPairs, t, row, n int) {
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
		b.Dispatch(label, s.program(h, constants{}, R, R, R, R, R, R, gpu.ReadWrite), h.cover(e), quadFramesParams{
			Size: uint32(size), X0_at: at[0], X1_at: at[1], X2_at: at[2], X3_at: at[3], X4_at: at[4], X5_at: at[5],
		}, gpu.Cost{FLOPs: 88 * int64(size), Bytes: bytes}, views[:]...)
		return
	}
	h := &k.shaders[1]
	b.Dispatch(label, s.program(h, constants{}, R, R, R, R, gpu.ReadWrite), h.cover(e), pairFramesParams{
		Size: uint32(size), X0_at: at[0], X1_at: at[1], X2_at: at[2], X3_at: at[3],
	}, gpu.Cost{FLOPs: 16 * int64(size), Bytes: bytes}, views[:5]...)
}

// productsOf records theirs, of rows of the output from y0 on.
func (s *Set) productsOf(b *gpu.Batch, label, class string, h *shader, c *ConvPairs, t, y0, rows, from, n int) {
	const R = gpu.Read
	products := len(c.Taps)
	shares := pairShares
	if products == 6 {
		shares = quadShares
	}
	x, part := &c.Taps[0].X, c.Y.Part(y0, rows)
	y, yAt := part.Frames(c.T+t, products-2)
	e := extent{H: int(groups(rows, h.pixels)), W: h.pixels * 8 * int(groups(part.W, 8)), C4: part.C4(), N: 1} // segments are columns of pixels, eight of them together
	if h.upright {
		h, e = h.inColumns(extent{H: rows, W: part.W, C4: part.C4(), N: 1}, part.C)
	}
	top := y0 + c.Y0 - 1 - from
	sums := gpu.View{Buffer: c.Sums, Size: int64(n) * sumsRow(x, products-2)}
	shape := Shape{O: 4 * part.C4(), I: x.C, KT: products, KS: 3}
	weight := gpu.View{Buffer: c.Weight, Size: int64(c.Packing.Size(shape) * c.Elem.Bytes())}
	plain := Conv3D{Y: part, Stride: 1}
	macs := int64(plain.rows(top, n)) * int64(part.W) * int64(part.C) * int64(x.C) * 3 * int64(products)
	p := s.made(h, class, c.Elem, constants{
		"ACCUMULATE": flag(c.Add && !h.shared()), "DEEP": flag(h.across(e) < h.wg),
	}, R, R, R, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(e), convPairsAheadParams{
		Share0: shares[0], Share1: shares[1], Share2: shares[2], Share3: shares[3], Share4: shares[4], Share5: shares[5], Products: uint32(products), Frames: uint32(products - 2),
		H_in: uint32(n), W_in: uint32(x.W), H: uint32(rows), W: uint32(part.W), C_in4: uint32(x.C4()), C_out4: uint32(part.C4()),
		Top: int32(top), Left: int32(c.X0 - 1), X_stride: uint32(n * x.W * x.C4()), Weight_stride: uint32(c.Packing.tap(x.C, 3) * products / 4),
		Y_at: yAt, Y_stride: uint32(part.Stride()), Segments: uint32(h.segments(e)), Across: uint32(h.across(e)), Start: -int32(flag(h.size("Q") > 8)), Accumulate: uint32(flag(c.Add)),
	}, gpu.Cost{FLOPs: 2 * macs, MACs: macs, Bytes: sums.Size + weight.Size + y.Bytes()}, sums, weight, c.Bias.All(), y)
}
