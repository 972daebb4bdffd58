//go:build !js

package wgsl

import _ "embed"

// Enlarging convolutions in columns of pixels of one parity, as conv3d_columns.go has
// the others. They are for Mesa's drivers for processors, which no browser has.
//
//go:embed conv_up_columns.wgsl
var convUpColumnsText string

// Before Mesa 26, whose driver sees which addresses are the same for all, invocations
// load weights together.
var convUpColumnsKernels = []kernel{{
	name: "columns", packing: blocks4x8, needs: columned, better: columned,
	shaders: []shader{{file: "conv_up_columns", taps: 2, wg: 8, pixels: 16, block: 8, tall: 1, upright: true, grid: columnGrid}},
}, {
	name: "columns8", packing: blocks4x8, needs: eights, better: looping,
	shaders: []shader{{file: "conv_up_columns", taps: 2, wg: 8, pixels: 8, block: 8, tall: 2, upright: true, grid: columnGrid, together: 8}},
}}

// enlarging is an upright shader for n frames like y of so many phases, and its extent,
// whose segments are columns, eight of them together. Columns of 16 pixels are of 8, and
// of two blocks, as inColumns has it; of three blocks they are of six, which take less
// to compile.
func (h *shader) enlarging(y *Tensor, phases, n int) (*shader, extent) {
	suited, high, blocks := *h, (y.H+1)/2, pad8(y.C)/h.block
	if h.pixels == 16 && 16*8*groups(high, 16) > 8*9*groups(high, 8) {
		suited.pixels, suited.tall = 8, 2
	}
	h = suited.covering(y.C, 1)
	if h.tall == 3 {
		h.pixels = 6
	}
	return h, extent{H: int(groups(high, h.pixels)), W: 8 * h.pixels * int(groups((y.W+1)/2, 8)), C4: phases * h.parities(blocks), N: n}
}
