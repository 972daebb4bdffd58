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
	shaders: []shader{{file: "conv_up_columns", taps: 2, wg: 8, pixels: 8, block: 8, tall: 2, upright: true, grid: columnGrid}},
}, {
	name: "columns8", packing: blocks4x8, needs: eights, better: looping,
	shaders: []shader{{file: "conv_up_columns", taps: 2, wg: 8, pixels: 8, block: 8, tall: 2, upright: true, grid: columnGrid, together: 8}},
}}
