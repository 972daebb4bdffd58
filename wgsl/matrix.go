//go:build !js

package wgsl

import (
	_ "embed"

	"tessera/gpu"
)

// Kernels that multiply by subgroup matrices, halves with sums in f32. They and
// their texts are not in a page's engine, whose browser has no such matrices.
var (
	//go:embed attention_scores_matrix.wgsl
	attentionScoresMatrixText string
	//go:embed attention_softmax_matrix.wgsl
	attentionSoftmaxMatrixText string
	//go:embed attention_values_matrix.wgsl
	attentionValuesMatrixText string
	//go:embed conv3d_matrix.wgsl
	conv3dMatrixText string
	//go:embed conv3d_strided_matrix.wgsl
	conv3dStridedMatrixText string
	//go:embed conv_up_matrix.wgsl
	convUpMatrixText string
	//go:embed pointwise_matrix.wgsl
	pointwiseMatrixText string
	//go:embed shared/conv_matrix.wgsl
	sharedConvMatrixText string
	//go:embed shared/flat_matrix.wgsl
	sharedFlatMatrixText string
	//go:embed shared/halves_f32.wgsl
	sharedHalvesF32Text string
	//go:embed shared/halves_packed.wgsl
	sharedHalvesPackedText string
	//go:embed shared/matrices.wgsl
	sharedMatricesText string
	//go:embed shared/sources_eights.wgsl
	sharedSourcesEightsText string
)

// nativeTexts are the shaders that are not in a page's engine.
var nativeTexts = []embedded{
	{"attention_scores_eights.wgsl", &attentionScoresEightsText},
	{"attention_scores_matrix.wgsl", &attentionScoresMatrixText},
	{"attention_softmax_matrix.wgsl", &attentionSoftmaxMatrixText},
	{"attention_values_eights.wgsl", &attentionValuesEightsText},
	{"attention_values_matrix.wgsl", &attentionValuesMatrixText},
	{"conv3d_columns.wgsl", &conv3dColumnsText},
	{"conv3d_matrix.wgsl", &conv3dMatrixText},
	{"conv3d_strided_columns.wgsl", &conv3dStridedColumnsText},
	{"conv3d_strided_matrix.wgsl", &conv3dStridedMatrixText},
	{"conv_lines.wgsl", &convLinesText},
	{"conv_lines_columns.wgsl", &convLinesColumnsText},
	{"conv_pairs_ahead.wgsl", &convPairsAheadText},
	{"conv_pairs_columns.wgsl", &convPairsColumnsText},
	{"conv_up_columns.wgsl", &convUpColumnsText},
	{"conv_up_matrix.wgsl", &convUpMatrixText},
	{"dequantise.wgsl", &dequantiseText},
	{"line_frames.wgsl", &lineFramesText},
	{"pair_frames.wgsl", &pairFramesText},
	{"pointwise_matrix.wgsl", &pointwiseMatrixText},
	{"quad_frames.wgsl", &quadFramesText},
	{"quad_taps.wgsl", &quadTapsText},
	{"quantise.wgsl", &quantiseText},
	{"shared/columns.wgsl", &sharedColumnsText},
	{"shared/columns_frames.wgsl", &sharedColumnsFramesText},
	{"shared/conv3d_columns.wgsl", &sharedConv3dColumnsText},
	{"shared/conv_matrix.wgsl", &sharedConvMatrixText},
	{"shared/eights.wgsl", &sharedEightsText},
	{"shared/flat_matrix.wgsl", &sharedFlatMatrixText},
	{"shared/fused.wgsl", &sharedFusedText},
	{"shared/halves_f32.wgsl", &sharedHalvesF32Text},
	{"shared/halves_packed.wgsl", &sharedHalvesPackedText},
	{"shared/made_loops.wgsl", &sharedMadeLoopsText},
	{"shared/made_written.wgsl", &sharedMadeWrittenText},
	{"shared/matrices.wgsl", &sharedMatricesText},
	{"shared/multiply_halves.wgsl", &sharedMultiplyHalvesText},
	{"shared/pairs_params.wgsl", &sharedPairsParamsText},
	{"shared/points_halves.wgsl", &sharedPointsHalvesText},
	{"shared/six.wgsl", &sharedSixText},
	{"shared/sources_eights.wgsl", &sharedSourcesEightsText},
	{"shared/sources_halves.wgsl", &sharedSourcesHalvesText},
	{"shared/staged_halves.wgsl", &sharedStagedHalvesText},
	{"shared/under_halves.wgsl", &sharedUnderHalvesText},
	{"shared/weights_halves.wgsl", &sharedWeightsHalvesText},
}

// rows16x64 is what conv3d's and conv_up's read, and rows16x128 those of conv3d_strided and pointwise:
// for each output 16 inputs, as a product of matrices takes them without turning them.
var (
	rows16x64  = &Packing{in: matrixDepth, out: matrixBlock, rows: true}
	rows16x128 = &Packing{in: matrixDepth, out: 2 * matrixBlock, rows: true}
)

// attentionMatrixKernels store powers as halves, which are multiplied with.
var attentionMatrixKernels = []kernel{{
	name: "matrix", halves: true, needs: hasRoom(layout.forValues),
	shaders: []shader{
		{file: "attention_scores_matrix", block: 2 * matrixBlock, grid: flatGrid, fit: pointMatrices(1)},
		{file: "attention_softmax_matrix", wg: 64, grid: frameGrid},
		{file: "attention_values_matrix", block: 2 * matrixBlock, grid: flatGrid, fit: valuesMatrices},
	},
}}

var conv3DMatrixKernels = []kernel{{
	name: "matrix", packing: rows16x64, halves: true, eights: true, takes: fillsMatrices, needs: hasRoom(layout.asIs),
	shaders: []shader{{file: "conv3d_matrix", block: matrixBlock, grid: tallGrid, fit: convMatrices(3, layout.asIs)}},
}}

var conv3DStridedMatrixKernels = []kernel{{
	name: "matrix", packing: rows16x128, halves: true, eights: true, takes: fillsMatrices, needs: hasRoom(layout.doubled),
	shaders: []shader{{file: "conv3d_strided_matrix", block: 2 * matrixBlock, grid: flatGrid, fit: pointMatrices(3)}},
}}

var convUpMatrixKernels = []kernel{{
	name: "matrix", packing: rows16x64, halves: true, eights: true, takes: fillsParities, needs: hasRoom(layout.forUp),
	shaders: []shader{{file: "conv_up_matrix", block: matrixBlock, grid: tallGrid, fit: convMatrices(2, layout.forUp)}},
}}

var pointwiseMatrixKernels = []kernel{{
	name: "matrix", packing: rows16x128, halves: true, eights: true, takes: fillsMatrices, needs: hasRoom(layout.doubled),
	shaders: []shader{{file: "pointwise_matrix", block: 2 * matrixBlock, grid: flatGrid, fit: pointMatrices(1)}},
}}

// fillsMatrices leaves weights to others that would leave most of a block idle.
func fillsMatrices(s Shape) bool { return s.O >= 48 && s.I >= matrixDepth }

// fillsParities leaves to others a ConvUpShape whose blocks would be of two parities.
func fillsParities(s Shape) bool {
	return s.O/(4*max(1, s.Phases))%matrixBlock == 0 && s.I >= matrixDepth
}

// layout is how a workgroup's sums are made of matrices: each subgroup has rows x
// columns of them, and there are down x across subgroups.
type layout struct {
	m, n, k, subgroup           int // of a matrix; of the largest subgroup
	rows, columns, down, across int
	pitch                       int // vec4<u32>s from one row of 16 halves to the next in workgroup memory
	memory                      int // bytes of it, at most
	written                     int // 3: loops over frames and columns of taps are written out; 1: they are loops
}

// layouts are those of the adapters that have matrices, best first: NVIDIA's
// cards (where 16x16x16 takes twice the moves between registers), AMD's, Apple's
// and lavapipe.
var layouts = []layout{
	{16, 8, 16, 32, 4, 8, 4, 1, 3, 48 << 10, 3},
	{16, 16, 16, 32, 4, 4, 4, 1, 3, 48 << 10, 3},
	{16, 16, 16, 64, 4, 4, 4, 1, 2, 48 << 10, 3},
	{8, 8, 8, 32, 4, 8, 4, 1, 2, 32 << 10, 3},
	{8, 8, 8, 8, 1, 1, 1, 8, 2, 32 << 10, 1},
}

// layoutOf is that of an adapter, or nil.
func layoutOf(info gpu.Info) *layout {
	if !info.F16 || !info.Subgroups {
		return nil
	}
	for i := range layouts {
		l := &layouts[i]
		for _, m := range info.Matrices {
			if m == (gpu.Matrix{M: l.m, N: l.n, K: l.k, In: "f16", Out: "f32"}) && info.SubgroupMax == l.subgroup && info.Limits.MaxWorkgroupMemory >= l.memory {
				return l
			}
		}
	}
	return nil
}

func hasMatrices(info gpu.Info) bool { return layoutOf(info) != nil }

// hasRoom is for workgroups of what is made of a layout.
func hasRoom(made func(layout) layout) func(info gpu.Info) bool {
	return func(info gpu.Info) bool {
		l := made(layoutFor(info))
		return hasMatrices(info) && info.Limits.MaxInvocations >= l.workgroup()
	}
}

// workgroup is its invocations.
func (l *layout) workgroup() int { return l.subgroup * l.down * l.across }

// sizes are the constants that all texts of a layout have.
func (l *layout) sizes() []size {
	return []size{{"M", l.m}, {"N", l.n}, {"K", l.k}, {"ROWS", l.rows}, {"COLUMNS", l.columns}, {"DOWN", l.down}, {"ACROSS", l.across}, {"PITCH", l.pitch}, {"PARTS", matrixDepth / l.k}, {"TAPS", 3}, {"FRAMES", l.written}}
}

// fitted is a shader of a layout.
func (h *shader) fitted(l *layout) *shader {
	fit := *h
	fit.wg = l.workgroup()
	fit.pixels = l.m
	fit.sizes = l.sizes()
	return &fit
}

// layoutFor is layoutOf, and one for an adapter of which nothing is known.
func layoutFor(info gpu.Info) layout {
	if l := layoutOf(info); l != nil {
		return *l
	}
	return layouts[0]
}

// convMatrices is the shader, of what is made of an adapter's layout, of a convolution
// with side x side taps and the pixels under all of them in workgroup memory. What
// invocations fetch they fetch by eight halves.
func convMatrices(side int, made func(layout) layout) func(h *shader, info gpu.Info) *shader {
	return func(h *shader, info gpu.Info) *shader {
		l := made(layoutFor(info))
		fit := h.fitted(&l)
		pixels := (l.down*l.rows + side - 1) * (l.m + side - 1)
		fit.sizes = append(fit.sizes, size{"SIDE", side}, size{"POINTS", min(side, l.written)}, size{"TAKEN", l.rows + side - 1},
			size{"FETCHES", int(groups(pixels*matrixDepth/8, fit.wg))}, size{"WEIGHTS", int(groups(side*side*h.block*matrixDepth/8, fit.wg))})
		return fit
	}
}

// tallGrid covers rows and columns with workgroups as many rows tall as their
// sums are.
func tallGrid(h *shader, e extent) [3]uint32 {
	tall := h.size("ROWS") * h.size("DOWN")
	return [3]uint32{groups(e.H, tall) * groups(e.W, h.pixels), groups(4*e.C4, h.block), uint32(e.N)}
}

// doubled makes twice as many channels, since a pixel that pointwise or conv3d_strided
// fetches has one tap to be used for: by twice as many subgroups across, and in subgroups
// of 64, which hold a sum in half as many registers, by half as many of twice the rows.
func (l layout) doubled() layout {
	l.across *= 2
	if l.subgroup == 64 {
		l.rows, l.down = 2*l.rows, l.down/4
	}
	return l
}

// forValues is doubled, in subgroups of 64 with twice as many of them down: values
// that a workgroup has turned serve twice the queries.
func (l layout) forValues() layout {
	l = l.doubled()
	if l.subgroup == 64 {
		l.down *= 2
	}
	return l
}

func (l layout) asIs() layout { return l }

// forUp has in subgroups of 64 twice the rows, by half as many of them down: with four
// taps under a row of pixels they are what most loads of matrices go with.
func (l layout) forUp() layout {
	if l.subgroup == 64 {
		l.rows, l.down = 2*l.rows, l.down/2
	}
	return l
}

// ahead is how many times matrixDepth these multiply between two barriers.
const ahead = 2

// flatMatrices is a shader of a layout that makes blocks of doubled channels and
// fetches what is multiplied, PIXELS of it in a matrix.
func flatMatrices(h *shader, l layout) *shader {
	fit := h.fitted(&l)
	fetches := groups(l.down*l.rows*l.m*matrixDepth/8, fit.wg)
	fit.sizes = append(fit.sizes, size{"FETCHES", int(fetches)}, size{"AHEAD", ahead})
	return fit
}

// pointMatrices is pointwise_matrix for an adapter, attention_scores_matrix, whose weights
// are keys, or with 3x3 taps conv3d_strided_matrix.
func pointMatrices(side int) func(h *shader, info gpu.Info) *shader {
	return func(h *shader, info gpu.Info) *shader {
		fit := flatMatrices(h, layoutFor(info).doubled())
		fit.sizes = append(fit.sizes, size{"SIDE", side}, size{"WEIGHTS", int(groups(h.block*matrixDepth/8, fit.wg))})
		return fit
	}
}

// valuesMatrices is attention_values_matrix for an adapter.
func valuesMatrices(h *shader, info gpu.Info) *shader {
	fit := flatMatrices(h, layoutFor(info).forValues())
	fit.sizes = append(fit.sizes, size{"TURNS", ahead * matrixDepth / 4 * h.block / 4 / fit.wg})
	return fit
}

// whole says to a shader of matrices that what it adds up is a multiple of what it
// fetches at a time.
func (h *shader) whole(values constants, terms int) {
	if h.fit != nil {
		values["WHOLE"] = flag(terms%(matrixDepth*ahead) == 0)
	}
}

// flatGrid covers pixels, all rows as one, with workgroups of all that their sums are of.
func flatGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(max(1, e.H)*e.W, h.pixels*h.size("ROWS")*h.size("DOWN")), groups(4*e.C4, h.block), uint32(e.N)}
}

func init() { // a page's tables are made when it is compiled
	tables = append(tables, table{"conv_lines", convLinesKernels})
	for i := range tables {
		switch t := &tables[i]; t.operation {
		case "attention":
			t.kernels = append(append(t.kernels, attentionEightsKernels...), attentionMatrixKernels...)
		case "conv3d":
			t.kernels = append(t.kernels, conv3DColumnsKernels...)
			t.kernels = append(t.kernels, halvesKernels(t.kernels)...)
			t.kernels = append(t.kernels, conv3DMatrixKernels...)
		case "conv3d_strided":
			t.kernels = append(t.kernels, conv3DStridedColumnsKernels...)
			t.kernels = append(t.kernels, halvesKernels(t.kernels)...)
			t.kernels = append(t.kernels, conv3DStridedMatrixKernels...)
		case "conv_pairs":
			t.kernels = append(append(t.kernels, convPairsAheadKernels...), convPairsColumnsKernels...)
		case "conv_up":
			t.kernels = append(t.kernels, convUpColumnsKernels...)
			t.kernels = append(t.kernels, halvesKernels(t.kernels)...)
			t.kernels = append(t.kernels, convUpMatrixKernels...)
		case "pointwise":
			t.kernels = append(t.kernels, halvesKernels(t.kernels)...)
			t.kernels = append(t.kernels, pointwiseMatrixKernels...)
		}
	}
}
