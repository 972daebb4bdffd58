//go:build !js

package wgsl

import _ "embed"

// Pairs and quads of frames in columns of pixels, as conv3d_columns.go has single ones.
//
//go:embed conv_pairs_columns.wgsl
var convPairsColumnsText string

var convPairsColumnsKernels = []kernel{{
	name: "columns", packing: pairs4x8, needs: columned, better: columned,
	shaders: []shader{
		{file: "conv_pairs_columns", taps: 3, wg: 8, pixels: 16, block: 8, tall: 1, upright: true, grid: columnGrid, sizes: []size{{"K", 1}}},
		{file: "pair_frames", wg: 64, grid: rowGrid},
		quadShaders[0], quadShaders[1],
	},
}}
