package wgsl

// tables lists the kernels of each operation. The first one is the plain kernel, which
// runs everywhere. A kernel with `better` comes before those above it on the adapters
// that better accepts (adapters.go). A kernel without it runs only if it is chosen, by
// name or by trials on the adapter (package tune).
//
// A kernel has shaders, which run in sequence, with the sizes of their tiles: wg
// invocations in a workgroup, each of which computes `pixels` pixels in `blocks` blocks
// of `block` channels from `taps` adjacent taps. Shaders of folder plain/ run
// everywhere, those of cards/ on graphics cards, those of processors/ on drivers that
// compute on a processor. If the rows of a folder are removed, the other kernels
// replace them. docs/reference/kernels.md shows this table.
var tables = []table{
	{"attention", []kernel{{ // scores, exponentials, values weighted by them; pixels are queries; a block is of keys, then of channels
		name: "plain",
		shaders: []shader{
			{file: "plain/attention_scores", wg: 64, pixels: 8, block: keyBlock, grid: blockGrid},
			{file: "plain/attention_softmax", wg: 64, grid: frameGrid},
			{file: "plain/attention_values", wg: 64, pixels: 8, block: 8, grid: blockGrid},
		},
	}, {
		name: "narrow", needs: choosesSubgroups, better: isIntel,
		first: "Intel", gain: "multiply-adds are 0.67 to 0.85 of its loops", page: "benchmarks/isa.md",
		shaders: []shader{
			{file: "cards/attention_scores_narrow", wg: 64, pixels: 8, block: keyBlock, words: true, grid: blockGrid, narrow: true},
			{file: "plain/attention_softmax", wg: 64, grid: frameGrid},
			{file: "cards/attention_values_narrow", wg: 64, pixels: 8, block: 8, words: true, grid: blockGrid, narrow: true},
		},
	}, {
		name: "cooperative4", needs: subgroupsOf4, better: subgroupsOf4,
		first: "SwiftShader", gain: "2.0 times plain", page: "performance.md#browser",
		shaders: []shader{
			{file: "processors/attention_scores_cooperative4", wg: 64, pixels: 8, block: keyBlock, grid: blockGrid},
			{file: "plain/attention_softmax", wg: 64, grid: frameGrid},
			{file: "processors/attention_values_cooperative4", wg: 64, pixels: 8, block: 8, grid: blockGrid},
		},
	}, {
		name: "blocked", needs: subgroupsOf8, better: subgroupsOf8,
		first: "Mesa 26 on processors", gain: "1.6 times plain", page: "performance.md#processors",
		shaders: []shader{
			{file: "processors/attention_scores_cooperative", wg: 64, pixels: 4, block: keyBlock, blocks: 4, grid: blockedGrid},
			{file: "plain/attention_softmax", wg: 64, grid: frameGrid},
			{file: "processors/attention_values_cooperative", wg: 64, pixels: 4, block: 8, blocks: 4, grid: blockedGrid},
		},
	}, { // with four blocks, Mesa 25 does not unroll the loop over them, and indexes the sums
		name: "cooperative", needs: subgroupsOf8, better: mesaBefore26,
		first: "Mesa 25 on processors", gain: "2.6 times plain", page: "performance.md#processors",
		shaders: []shader{
			{file: "processors/attention_scores_cooperative", wg: 64, pixels: 4, block: keyBlock, blocks: 3, grid: blockedGrid},
			{file: "plain/attention_softmax", wg: 64, grid: frameGrid},
			{file: "processors/attention_values_cooperative", wg: 64, pixels: 4, block: 8, blocks: 3, grid: blockedGrid},
		},
	}, { // exponentials are stored as halves, for the products
		name: "matrix", onlyF16: true, needs: hasRoom(layout.forValues),
		gain: "by trial: products are 0.22 to 0.25 of its loop", page: "benchmarks/isa.md",
		shaders: []shader{
			{file: "cards/attention_scores_matrix", block: 2 * matrixBlock, words: true, grid: flatGrid, fit: pointMatrices(1)},
			{file: "cards/attention_softmax_matrix", wg: 64, grid: frameGrid},
			{file: "cards/attention_values_matrix", block: 2 * matrixBlock, words: true, grid: flatGrid, fit: valuesMatrices},
		},
	}}},

	{"avg_down_3d", []kernel{{name: "plain", shaders: []shader{{file: "plain/avg_down_3d", wg: 64, grid: rowGrid}}}}},

	{"conv3d", []kernel{{ // stride 1
		name: "plain", packing: blocks4x8,
		shaders: []shader{{file: "plain/conv3d", taps: 3, wg: 64, pixels: 8, block: 8, grid: segmentGrid}},
	}, {
		name: "plain4", packing: blocks4x8, needs: isAdreno,
		gain: "by trial: 6 to 8 waves on Adreno, plain 4", page: "benchmarks/isa.md",
		shaders: []shader{{file: "plain/conv3d", taps: 3, wg: 64, pixels: 4, block: 8, grid: segmentGrid}},
	}, {
		name: "tiled", packing: tiled4x8, takes: fillsSquare, better: isNVIDIA,
		first: "NVIDIA", gain: "multiply-adds are 0.77 to 0.85 of its loop, of plain 0.44 to 0.53", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv3d_tiled", taps: 3, wg: 64, pixels: 8, block: 8, grid: squareGrid}},
	}, {
		name: "narrow", packing: blocks4x8, needs: choosesSubgroups, better: isIntel,
		first: "Intel", gain: "multiply-adds are 0.70 to 0.79 of its loop, of plain 0.11 to 0.25", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv3d_narrow", taps: 3, wg: 64, pixels: 4, block: 8, words: true, grid: segmentGrid, subgroup: 64, narrow: true}},
	}, {
		name: "cooperative4", packing: blocks4x8, needs: subgroupsOf4, better: subgroupsOf4,
		first: "SwiftShader", gain: "1.4 times plain", page: "performance.md#browser",
		shaders: []shader{{file: "processors/conv3d_cooperative4", taps: 3, wg: 16, pixels: 16, block: 8, blocks: 4, grid: segmentGrid, subgroup: 4}},
	}, {
		name: "cooperative", packing: blocks4x8, needs: subgroupsOf8, better: mesaBefore26,
		first: "Mesa 25 on processors", gain: "1.25 to 1.6 times plain", page: "performance.md#processors",
		shaders: []shader{{file: "processors/conv3d_cooperative", taps: 3, wg: 64, pixels: 4, block: 8, blocks: 2, grid: segmentGrid, subgroup: 8}},
	}, {
		name: "columns", packing: blocks4x8, needs: mesaFrom26Of8, better: mesaFrom26Of8,
		first: "Mesa 26 on processors", gain: "1.2 to 1.3 times plain in blocks, 1.5 in f16", page: "performance.md#processors",
		shaders: []shader{{file: "processors/conv3d_columns", taps: 3, wg: 8, pixels: 16, block: 8, blocks: 1, words: true, suit: (*shader).inColumns, grid: columnGrid, sizes: threeFrames}},
	}, {
		name: "f16", packing: blocks4x8, onlyF16: true, needs: computesF16,
		gain: "by trial: 0.73 instructions a multiply-add on AMD, plain 1.25", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv3d_f16", taps: 3, wg: 64, pixels: 8, block: 8, words: true, grid: segmentGrid}},
	}, {
		name: "tiled_f16", packing: tiledF16, takes: fillsSquare, onlyF16: true, needs: computesF16,
		gain: "by trial: 0.84 instructions a multiply-add on Ada, tiled 1.20", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv3d_tiled_f16", taps: 3, wg: 64, pixels: 8, block: 8, words: true, grid: squareGrid}},
	}, {
		name: "matrix", packing: rows16x64, onlyF16: true, inputs8: true, takes: fillsMatrices, needs: hasRoom(layout.unchanged),
		gain: "by trial: products are 0.28 of its loop on AMD, 0.33 on Ada", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv3d_matrix", block: matrixBlock, words: true, grid: matrixRowGrid, fit: convMatrices(3, layout.unchanged)}},
	}}},

	{"conv3d_strided", []kernel{{ // spatial stride 2
		name: "plain", packing: blocks4x8,
		shaders: []shader{{file: "plain/conv3d", taps: 3, stride: 2, wg: 64, pixels: 4, block: 8, grid: segmentGrid}},
	}, {
		name: "plain2", packing: blocks4x8, needs: isAdreno,
		gain: "by trial: 6 to 8 waves on Adreno, plain 4", page: "benchmarks/isa.md",
		shaders: []shader{{file: "plain/conv3d", taps: 3, stride: 2, wg: 64, pixels: 2, block: 8, grid: segmentGrid}},
	}, {
		name: "tiled", packing: tiled4x8, takes: fillsSquare, better: isNVIDIA,
		first: "NVIDIA", gain: "multiply-adds are 0.77 to 0.80 of its loop", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv3d_tiled", taps: 3, stride: 2, wg: 64, pixels: 6, block: 8, grid: squareGrid}},
	}, {
		name: "narrow", packing: blocks4x8, needs: choosesSubgroups, better: isIntel,
		first: "Intel", gain: "multiply-adds are 0.62 to 0.73 of its loop", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv3d_narrow", taps: 3, stride: 2, wg: 64, pixels: 3, block: 8, words: true, grid: segmentGrid, subgroup: 64, narrow: true}},
	}, {
		name: "cooperative4", packing: blocks4x8, needs: subgroupsOf4, better: subgroupsOf4,
		first: "SwiftShader", gain: "as conv3d", page: "performance.md#browser",
		shaders: []shader{{file: "processors/conv3d_cooperative4", taps: 3, stride: 2, wg: 16, pixels: 16, block: 8, blocks: 2, grid: segmentGrid, subgroup: 4}},
	}, {
		name: "cooperative", packing: blocks4x8, needs: subgroupsOf8, better: mesaBefore26,
		first: "Mesa 25 on processors", gain: "as conv3d", page: "performance.md#processors",
		shaders: []shader{{file: "processors/conv3d_cooperative", taps: 3, stride: 2, wg: 64, pixels: 4, block: 8, blocks: 2, grid: segmentGrid, subgroup: 8}},
	}, {
		name: "columns", packing: blocks4x8, needs: mesaFrom26Of8, better: mesaFrom26Of8,
		first: "Mesa 26 on processors", gain: "1.3 times plain in blocks", page: "performance.md#processors",
		shaders: []shader{{file: "processors/conv3d_columns", taps: 3, stride: 2, wg: 8, pixels: 8, block: 8, blocks: 2, words: true, suit: (*shader).inColumns, grid: columnGrid, sizes: threeFrames}},
	}, {
		name: "f16", packing: blocks4x8, onlyF16: true, needs: computesF16,
		gain: "by trial: 0.83 instructions a multiply-add on AMD, plain 1.44", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv3d_f16", taps: 3, stride: 2, wg: 64, pixels: 4, block: 8, words: true, grid: segmentGrid}},
	}, {
		name: "tiled_f16", packing: tiledF16, takes: fillsSquare, onlyF16: true, needs: computesF16,
		gain: "by trial: 0.91 instructions a multiply-add on Ada, tiled 1.28", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv3d_tiled_f16", taps: 3, stride: 2, wg: 64, pixels: 6, block: 8, words: true, grid: squareGrid}},
	}, {
		name: "matrix", packing: rows16x128, onlyF16: true, inputs8: true, takes: fillsMatrices, needs: hasRoom(layout.forStrided),
		gain: "by trial: 3.8 to 3.9 instructions a product", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv3d_strided_matrix", block: 2 * matrixBlock, words: true, grid: flatGrid, fit: pointMatrices(3)}},
	}}},

	{"conv3d_winograd_rows", []kernel{{ // Winograd's F(4,3) along rows; the plain kernel computes pixels one by one
		name: "plain", packing: blocks4x8,
		shaders: []shader{{file: "plain/conv3d", taps: 3, wg: 64, pixels: 8, block: 8, grid: segmentGrid}},
	}, { // products, input transform
		name: "transformed", packing: winograd4x8, transform: &transformed, needs: subgroupsOf8, better: mesaBefore26,
		first: "Mesa 25 on processors", gain: "with 16,384 pixels and 64 channels or more", page: "performance.md#processors",
		shaders: []shader{
			{file: "processors/conv3d_winograd_rows", taps: 3, wg: 64, pixels: 16, block: 8, blocks: 2, grid: segmentGrid, subgroup: 8},
			{file: "processors/winograd_inputs_rows", wg: 64, grid: rowGrid},
		},
	}, {
		name: "columns", packing: winograd4x8, transform: &transformed, needs: mesaFrom26Of8, better: mesaFrom26Of8,
		first: "Mesa 26 on processors", gain: "1.33 times conv3d, with 1024 pixels and 64 channels or more", page: "performance.md#processors",
		shaders: []shader{
			{file: "processors/conv3d_winograd_rows_columns", taps: 3, wg: 8, pixels: 16, block: 8, blocks: 1, words: true, suit: (*shader).inColumns, grid: columnGrid},
			{file: "processors/winograd_inputs_rows", wg: 64, grid: rowGrid},
		},
	}}},

	{"conv3d_winograd", []kernel{{ // Winograd's F(2,3) or F(4,3) in time; the plain kernel computes frames one by one
		name: "plain", packing: blocks4x8,
		shaders: []shader{{file: "plain/conv3d", taps: 3, wg: 64, pixels: 8, block: 8, grid: segmentGrid}},
	}, {
		name: "fused", packing: winograd4x8,
		gain: "by trial: four products for six", page: "performance.md#cards",
		shaders: []shader{{file: "cards/conv3d_winograd", taps: 3, wg: 64, pixels: 8, block: 8, grid: segmentGrid}},
	}, {
		name: "passes", packing: winograd4x8, better: isAMD,
		first: "AMD", gain: "four products for six, in registers", page: "performance.md#cards",
		shaders: []shader{{file: "cards/conv3d_winograd_passes", taps: 3, wg: 64, pixels: 8, block: 8, grid: segmentGrid}},
	}, {
		name: "cooperative4", packing: winograd4x8, needs: subgroupsOf4, better: subgroupsOf4,
		first: "SwiftShader", gain: "1.4 times fused", page: "performance.md#browser",
		shaders: []shader{{file: "processors/conv3d_winograd_cooperative4", taps: 3, wg: 16, pixels: 16, block: 8, blocks: 2, grid: segmentGrid, subgroup: 4}},
	}, { // products, input transforms of F(2,3) and F(4,3)
		name: "transformed", packing: winograd4x8, transform: &transformed, needs: subgroupsOf8, better: subgroupsOf8,
		first: "Mesa 25 on processors", gain: "1.4 to 2.1 times fused", page: "performance.md#processors",
		shaders: []shader{
			{file: "processors/conv3d_winograd_transformed", taps: 3, wg: 64, pixels: 8, block: 8, blocks: 2, grid: segmentGrid, subgroup: 8},
			{file: "processors/winograd_inputs", wg: 64, grid: rowGrid},
			{file: "processors/winograd_inputs_4", wg: 64, grid: rowGrid},
		},
	}, {
		name: "columns", packing: winograd4x8, transform: &transformed, needs: mesaFrom26Of8, better: mesaFrom26Of8,
		first: "Mesa 26 on processors", gain: "1.5 to 1.6 times transformed", page: "performance.md#processors",
		shaders: []shader{
			{file: "processors/conv3d_winograd_columns", taps: 3, wg: 8, pixels: 16, block: 8, blocks: 1, words: true, suit: (*shader).inColumns, grid: columnGrid, sizes: oneFrame},
			{file: "processors/winograd_inputs", wg: 64, grid: rowGrid},
			{file: "processors/winograd_inputs_4", wg: 64, grid: rowGrid},
		},
	}}},

	{"conv_depthwise", []kernel{{name: "plain", shaders: []shader{{file: "plain/conv_depthwise", wg: 64, pixels: 4, grid: segmentRowGrid}}}}}, // four channels per invocation
	{"conv_grouped", []kernel{{name: "plain", packing: blocks4x8, shaders: []shader{{file: "plain/conv_grouped", taps: 3, wg: 64, pixels: 8, block: 8, grid: segmentGrid}}}}},

	{"conv_up", []kernel{{
		name: "plain", packing: blocks4x8,
		shaders: []shader{{file: "plain/conv_up", taps: 2, wg: 64, pixels: 8, block: 8, grid: segmentGrid}},
	}, {
		name: "plain4", packing: blocks4x8, needs: isAdreno,
		gain: "by trial: 6 waves on Adreno, plain 4", page: "benchmarks/isa.md",
		shaders: []shader{{file: "plain/conv_up", taps: 2, wg: 64, pixels: 4, block: 8, grid: segmentGrid}},
	}, {
		name: "narrow", packing: blocks4x8, needs: choosesSubgroups, better: isIntel,
		first: "Intel", gain: "multiply-adds are 0.68 to 0.77 of its loop", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv_up_narrow", taps: 2, wg: 64, pixels: 4, block: 8, words: true, grid: segmentGrid, subgroup: 64, narrow: true}},
	}, {
		name: "cooperative4", packing: blocks4x8, needs: subgroupsOf4, better: subgroupsOf4,
		first: "SwiftShader", gain: "1.1 times plain", page: "performance.md#browser",
		shaders: []shader{{file: "processors/conv_up_cooperative4", taps: 2, wg: 16, pixels: 16, block: 8, blocks: 2, grid: segmentGrid, subgroup: 4}},
	}, {
		name: "columns", packing: blocks4x8, needs: mesaFrom26Of8, better: mesaFrom26Of8,
		first: "Mesa 26 on processors", gain: "1.3 times plain with F(2,3) in time", page: "performance.md#processors",
		shaders: []shader{{file: "processors/conv_up_columns", taps: 2, wg: 8, pixels: 8, block: 8, blocks: 2, words: true, suit: (*shader).inColumns, grid: columnGrid, sizes: threeFrames}},
	}, {
		name: "columns_cooperative", packing: blocks4x8, needs: subgroupsOf8, better: mesaBefore26,
		first: "Mesa 25 on processors", gain: "1.2 to 1.4 times cooperative loads in rows", page: "performance.md#processors",
		shaders: []shader{{file: "processors/conv_up_columns_cooperative", taps: 2, wg: 8, pixels: 8, block: 8, blocks: 2, words: true, suit: (*shader).inColumns, grid: columnGrid, sizes: threeFrames, subgroup: 8}},
	}, {
		name: "f16", packing: blocks4x8, onlyF16: true, needs: computesF16,
		gain: "by trial: 0.82 instructions a multiply-add on AMD, plain 1.30", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv_up_f16", taps: 2, wg: 64, pixels: 8, block: 8, words: true, grid: segmentGrid}},
	}, {
		name: "matrix", packing: rows16x64, onlyF16: true, inputs8: true, takes: fillsParities, needs: hasRoom(layout.forUp),
		gain: "by trial: products are 0.29 of its loop on AMD", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/conv_up_matrix", block: matrixBlock, words: true, grid: matrixRowGrid, fit: convMatrices(2, layout.forUp)}},
	}}},

	{"conv_up_winograd", []kernel{{ // the plain kernel computes frames one by one, which in columns is faster on Mesa's driver for processors: 55 GFLOP/s with six products, 31 with four
		name: "plain", packing: blocks4x8,
		shaders: []shader{{file: "plain/conv_up", taps: 2, wg: 64, pixels: 8, block: 8, grid: segmentGrid}},
	}, {
		name: "fused", packing: winograd4x8,
		gain: "by trial: four products for six", page: "performance.md#cards",
		shaders: []shader{{file: "cards/conv_up_winograd", taps: 2, wg: 64, pixels: 8, block: 8, grid: segmentGrid}},
	}, {
		name: "passes", packing: winograd4x8, better: isAMD,
		first: "AMD", gain: "four products for six, in registers", page: "performance.md#cards",
		shaders: []shader{{file: "cards/conv_up_winograd_passes", taps: 2, wg: 64, pixels: 8, block: 8, grid: segmentGrid}},
	}, {
		name: "cooperative4", packing: winograd4x8, needs: subgroupsOf4, better: subgroupsOf4,
		first: "SwiftShader", gain: "1.4 times fused", page: "performance.md#browser",
		shaders: []shader{{file: "processors/conv_up_winograd_cooperative4", taps: 2, wg: 16, pixels: 16, block: 8, blocks: 2, grid: segmentGrid, subgroup: 4}},
	}}},

	{"depth_to_space", []kernel{{name: "plain", shaders: []shader{{file: "plain/depth_to_space", wg: 64, grid: rowGrid}}}}},
	{"dequantise", []kernel{{name: "plain", shaders: []shader{{file: "plain/dequantise", wg: 64, grid: rowGrid}}}}}, // four channels of a pixel per invocation
	{"dup_up_3d", []kernel{{name: "plain", shaders: []shader{{file: "plain/dup_up_3d", wg: 64, grid: rowGrid}}}}},
	{"fade", []kernel{{name: "plain", shaders: []shader{{file: "plain/fade", wg: 256, grid: frameGrid}}}}},
	{"feather_blend", []kernel{{name: "plain", shaders: []shader{{file: "plain/feather_blend", wg: 64, grid: rowGrid}}}}},
	{"feather_normalise", []kernel{{name: "plain", shaders: []shader{{file: "plain/feather_normalise", wg: 256, grid: frameGrid}}}}},
	{"fold", []kernel{{name: "plain", shaders: []shader{{file: "plain/fold", wg: 64, grid: rowGrid}}}}},

	{"group_norm", []kernel{{ // moments of chunks of pixels, moments of groups, the norm
		name: "plain",
		shaders: []shader{
			{file: "plain/group_norm_partial", wg: normWG, grid: eachGrid},
			{file: "plain/group_norm_merge", wg: 64, grid: eachGrid},
			{file: "plain/group_norm_apply", wg: 256, pixels: 4, grid: frameGrid},
		},
	}, {
		name: "by_group", better: onProcessor,
		first: "processors", gain: "7.7 to 8.9 times plain on SwiftShader", page: "performance.md#browser",
		shaders: []shader{
			{file: "processors/group_norm_partial_by_group", wg: 64, grid: frameGrid},
			{file: "plain/group_norm_merge", wg: 8, grid: eachGrid},
			{file: "plain/group_norm_apply", wg: 64, pixels: 16, grid: frameGrid},
		},
	}, { // Mesa 26 takes twice as long for a norm of 16 pixels per invocation
		name: "by_group_4", better: mesaFrom26,
		first: "Mesa 26 on processors", gain: "1.6 times by_group", page: "performance.md#processors",
		shaders: []shader{
			{file: "processors/group_norm_partial_by_group", wg: 64, grid: frameGrid},
			{file: "plain/group_norm_merge", wg: 8, grid: eachGrid},
			{file: "plain/group_norm_apply", wg: 64, pixels: 4, grid: frameGrid},
		},
	}}},

	{"winograd_weights", []kernel{{name: "plain", shaders: []shader{{file: "plain/winograd_weights", wg: 64, grid: rowGrid}}}}},     // a vec4 of each tap per invocation
	{"winograd_weights_4", []kernel{{name: "plain", shaders: []shader{{file: "plain/winograd_weights_4", wg: 64, grid: rowGrid}}}}}, // for F(4,3)

	{"pointwise", []kernel{{ // 1x1xKT, with an optional shuffle of the outputs at the store
		name: "plain", packing: blocks4x8,
		shaders: []shader{{file: "plain/pointwise", wg: 64, pixels: 8, block: 8, grid: segmentGrid}},
	}, {
		name: "tiled", packing: tiled4x8, takes: fillsSquare, better: isNVIDIA,
		first: "NVIDIA", gain: "multiply-adds are 0.77 to 0.85 of its loop", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/pointwise_tiled", wg: 64, pixels: 8, block: 8, grid: squareGrid}},
	}, {
		name: "narrow", packing: blocks4x8, needs: choosesSubgroups, better: isIntel,
		first: "Intel", gain: "multiply-adds are 0.67 to 0.83 of its loop, of plain 0.26 to 0.30", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/pointwise_narrow", taps: 1, wg: 64, pixels: 8, block: 8, words: true, grid: segmentGrid, subgroup: 64, narrow: true}},
	}, {
		name: "blocked", packing: blocks4x8, needs: isLlvmpipe, better: isLlvmpipe,
		first: "Mesa 26 on processors", gain: "1.5 to 1.6 times plain", page: "performance.md#processors",
		shaders: []shader{{file: "processors/pointwise_blocked", wg: 64, pixels: 8, block: 8, blocks: 2, grid: segmentGrid}},
	}, {
		name: "cooperative4", packing: blocks4x8, needs: subgroupsOf4, better: subgroupsOf4,
		first: "SwiftShader", gain: "plain in registers, with cooperative loads", page: "performance.md#browser",
		shaders: []shader{{file: "processors/pointwise_cooperative4", wg: 64, pixels: 8, block: 8, grid: segmentGrid, subgroup: 4}},
	}, {
		name: "cooperative", packing: blocks4x8, needs: subgroupsOf8, better: mesaBefore26,
		first: "Mesa 25 on processors", gain: "1.85 times plain", page: "performance.md#processors",
		shaders: []shader{{file: "processors/pointwise_cooperative", wg: 64, pixels: 4, block: 8, blocks: 2, grid: segmentGrid, subgroup: 8}},
	}, {
		name: "f16", packing: blocks4x8, onlyF16: true, needs: computesF16,
		gain: "by trial: 0.8 instructions a multiply-add on AMD, plain 1.28", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/pointwise_f16", wg: 64, pixels: 8, block: 8, words: true, grid: segmentGrid}},
	}, {
		name: "tiled_f16", packing: tiledF16, takes: fillsSquare, onlyF16: true, needs: computesF16,
		gain: "by trial: 0.76 instructions a multiply-add on AMD, 0.88 on Ada", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/pointwise_tiled_f16", wg: 64, pixels: 8, block: 8, words: true, grid: squareGrid}},
	}, {
		name: "matrix", packing: rows16x128, onlyF16: true, inputs8: true, takes: fillsMatrices, needs: hasRoom(layout.doubled),
		gain: "by trial: products are 0.25 of its loop on AMD", page: "benchmarks/isa.md",
		shaders: []shader{{file: "cards/pointwise_matrix", block: 2 * matrixBlock, words: true, grid: flatGrid, fit: pointMatrices(1)}},
	}}},

	{"quantise", []kernel{{name: "plain", shaders: []shader{{file: "plain/quantise", wg: 64, grid: frameGrid}}}}}, // four channels of a row per invocation
	{"replicate", []kernel{{name: "plain", shaders: []shader{{file: "plain/replicate", wg: 64, grid: rowGrid}}}}},
	{"rms_norm", []kernel{{name: "plain", shaders: []shader{{file: "plain/rms_norm", wg: 128, pixels: 4, grid: rmsGrid}}}}},
	{"sample", []kernel{{name: "plain", shaders: []shader{{file: "plain/sample", wg: 64, grid: frameGrid}}}}},
	{"space_to_depth", []kernel{{name: "plain", shaders: []shader{{file: "plain/space_to_depth", wg: 64, grid: rowGrid}}}}},
	{"spatial_norm", []kernel{{name: "plain", shaders: []shader{{file: "plain/spatial_norm", wg: 64, pixels: 4, grid: frameGrid}}}}},
	{"sum_taps", []kernel{{name: "plain", shaders: []shader{{file: "plain/sum_taps", wg: 64, grid: rowGrid}}}}}, // a vec4 per invocation
	{"time_attention", []kernel{{name: "plain", shaders: []shader{{file: "plain/time_attention", wg: 64, block: 32, grid: rowGrid}}}}},
	{"to_rgba8", []kernel{{name: "plain", shaders: []shader{{file: "plain/to_rgba8", wg: 64, grid: rowGrid}}}}},
	{"unpatchify", []kernel{{name: "plain", shaders: []shader{{file: "plain/unpatchify", wg: 64, grid: rowGrid}}}}},
}
