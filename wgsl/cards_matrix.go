package wgsl

import (
	"tessera/gpu"
)

const (
	matrixDepth = 16 // input channels of a matrix product
	matrixBlock = 64 // output channels of a workgroup that computes such products
)

// rows16x64 is the packing for conv3d and conv_up, rows16x128 for conv3d_strided and
// pointwise: 16 inputs for each output, which a matrix product reads without
// transposing.
var (
	rows16x64  = &Packing{in: matrixDepth, out: matrixBlock, rows: true}
	rows16x128 = &Packing{in: matrixDepth, out: 2 * matrixBlock, rows: true}
)

// fillsMatrices rejects weights that would leave most of a block idle.
func fillsMatrices(s Shape) bool { return s.O >= 48 && s.I >= matrixDepth }

// fillsParities rejects a ConvUpShape whose blocks would mix two parities.
func fillsParities(s Shape) bool {
	return s.O/(4*max(1, s.Phases))%matrixBlock == 0 && s.I >= matrixDepth
}

// layout is how a workgroup's sums are divided into matrices: each subgroup has rows x
// columns of them, and there are down x across subgroups.
type layout struct {
	m, n, k, subgroup           int // of a matrix; invocations of a subgroup: the adapter's largest, unless the shader sets them
	rows, columns, down, across int
	pitch                       int  // vec4<u32>s between rows of 16 halves in workgroup memory
	memory                      int  // bytes of workgroup memory, at most
	written                     int  // 3: loops over frames and columns of taps are unrolled; 1: they stay loops
	set                         bool // the shader sets the subgroup's size, to the adapter's smallest
}

// layouts of the adapters that have matrices, best first: NVIDIA's cards (where
// 16x16x16 needs twice the moves between registers), AMD's, Intel's Xe2 and DG2,
// Apple's and lavapipe.
var layouts = []layout{
	{16, 8, 16, 32, 4, 8, 4, 1, 3, 48 << 10, 3, false},
	{16, 16, 16, 32, 4, 4, 4, 1, 3, 48 << 10, 3, false},
	{16, 16, 16, 64, 4, 4, 4, 1, 2, 48 << 10, 3, false},
	{8, 16, 16, 16, 2, 1, 4, 4, 3, 48 << 10, 3, true},
	{8, 8, 16, 8, 1, 1, 4, 8, 3, 48 << 10, 3, true},
	{8, 8, 8, 32, 4, 8, 4, 1, 2, 32 << 10, 3, false},
	{8, 8, 8, 8, 1, 1, 1, 8, 2, 32 << 10, 1, false},
}

// layoutOf returns the layout of an adapter, or nil.
func layoutOf(info gpu.Info) *layout {
	if !info.F16 || !info.Subgroups {
		return nil
	}
	for i := range layouts {
		l := &layouts[i]
		for _, m := range info.Matrices {
			if m == (gpu.Matrix{M: l.m, N: l.n, K: l.k, In: "f16", Out: "f32"}) && l.runsOn(info) && info.Limits.MaxWorkgroupMemory >= l.memory {
				return l
			}
		}
	}
	return nil
}

// runsOn reports whether subgroups have the layout's size.
func (l *layout) runsOn(info gpu.Info) bool {
	if l.set {
		return setsSubgroups(info) && info.SubgroupMin == l.subgroup
	}
	return info.SubgroupMax == l.subgroup
}

// hasRoom returns a test for adapters that have a known layout, and workgroups large
// enough for the layout that made derives from it.
func hasRoom(made func(layout) layout) func(info gpu.Info) bool {
	return func(info gpu.Info) bool {
		l := layoutOf(info)
		if l == nil {
			return false
		}
		made := made(*l)
		return info.Limits.MaxInvocations >= made.workgroup()
	}
}

// workgroup returns the number of invocations.
func (l *layout) workgroup() int { return l.subgroup * l.down * l.across }

// sizes returns the constants that all shaders with a layout have.
func (l *layout) sizes() []constant {
	return []constant{{"M", l.m}, {"N", l.n}, {"K", l.k}, {"ROWS", l.rows}, {"COLUMNS", l.columns}, {"DOWN", l.down}, {"ACROSS", l.across}, {"PITCH", l.pitch}, {"PARTS", matrixDepth / l.k}, {"FRAMES", l.written}}
}

// fitted returns the shader with the sizes of a layout.
func (h *shader) fitted(l *layout) *shader {
	fit := *h
	fit.wg = l.workgroup()
	if l.set {
		fit.lanes = l.subgroup
	}
	fit.pixels = l.m
	fit.depth = matrixDepth * depthSteps
	fit.sizes = l.sizes()
	return &fit
}

// layoutFor returns layoutOf, or the first layout for an unknown adapter.
func layoutFor(info gpu.Info) layout {
	if l := layoutOf(info); l != nil {
		return *l
	}
	return layouts[0]
}

// convMatrices returns a fit for a convolution with side x side taps that keeps all
// pixels under its taps in workgroup memory, in the layout that made derives from the
// adapter's. Invocations fetch eight halves at a time.
func convMatrices(side int, made func(layout) layout) func(h *shader, info gpu.Info) *shader {
	return func(h *shader, info gpu.Info) *shader {
		l := made(layoutFor(info))
		fit := h.fitted(&l)
		pixels := (l.down*l.rows + side - 1) * (l.m + side - 1)
		fit.sizes = append(fit.sizes, constant{"SIDE", side}, constant{"POINTS", min(side, l.written)}, constant{"TAKEN", l.rows + side - 1},
			constant{"FETCHES", int(groups(pixels*matrixDepth/8, fit.wg))}, constant{"WEIGHTS", int(groups(side*side*h.block*matrixDepth/8, fit.wg))})
		return fit
	}
}

// matrixRowGrid covers rows and columns with workgroups of as many rows as their sums
// have.
func matrixRowGrid(h *shader, e extent) [3]uint32 {
	rows := h.count("ROWS") * h.count("DOWN")
	return [3]uint32{groups(e.H, rows) * groups(e.W, h.pixels), groups(4*e.C4, h.block), uint32(e.N)}
}

// doubled computes twice as many channels with twice as many subgroups across, because
// pointwise and conv3d_strided use a fetched pixel for only one tap. A subgroup of 64
// holds a sum in half as many registers, so it takes twice the rows, and there is a
// quarter of the subgroups down. On Intel's cards sums of 2x2 matrices fill a third of
// the registers, and more of them spill.
func (l layout) doubled() layout {
	if l.set {
		l.rows, l.columns = 2, 2*l.columns
		return l
	}
	l.across *= 2
	if l.subgroup == 64 {
		l.rows, l.down = 2*l.rows, l.down/4
	}
	return l
}

// forStrided is doubled, on Intel's cards with half of the sums: more of them spill.
func (l layout) forStrided() layout {
	l = l.doubled()
	if l.set {
		l.rows = 1
	}
	return l
}

// forValues is doubled, with twice as many subgroups of 64 down: values that a
// workgroup has transposed serve twice the queries.
func (l layout) forValues() layout {
	l = l.doubled()
	if l.subgroup == 64 {
		l.down *= 2
	}
	return l
}

func (l layout) unchanged() layout { return l }

// forUp gives subgroups of 64 twice the rows, and half as many of them down: with only
// four taps, most matrix loads depend on the number of rows. Intel's cards have two
// rows, which spill with nine taps on DG2.
func (l layout) forUp() layout {
	if l.set {
		l.rows = 2
	}
	if l.subgroup == 64 {
		l.rows, l.down = 2*l.rows, l.down/2
	}
	return l
}

// depthSteps is the number of products of depth matrixDepth between two barriers.
const depthSteps = 2

// flatMatrices returns a shader for a layout from doubled, forStrided or forValues. It fetches its
// input in matrices of PIXELS rows.
func flatMatrices(h *shader, l layout) *shader {
	fit := h.fitted(&l)
	fetches := groups(l.down*l.rows*l.m*matrixDepth/8, fit.wg)
	fit.sizes = append(fit.sizes, constant{"FETCHES", int(fetches)}, constant{"AHEAD", depthSteps})
	return fit
}

// pointMatrices returns a fit for pointwise_matrix, for attention_scores_matrix, whose
// weights are keys, or, with side 3, for conv3d_strided_matrix.
func pointMatrices(side int) func(h *shader, info gpu.Info) *shader {
	return func(h *shader, info gpu.Info) *shader {
		l := layoutFor(info).doubled()
		if side > 1 {
			l = layoutFor(info).forStrided()
		}
		fit := flatMatrices(h, l)
		fit.sizes = append(fit.sizes, constant{"SIDE", side}, constant{"WEIGHTS", int(groups(h.block*matrixDepth/8, fit.wg))})
		return fit
	}
}

// valuesMatrices fits attention_values_matrix to an adapter.
func valuesMatrices(h *shader, info gpu.Info) *shader {
	fit := flatMatrices(h, layoutFor(info).forValues())
	fit.sizes = append(fit.sizes, constant{"TURNS", depthSteps * matrixDepth / 4 * h.block / 4 / fit.wg})
	return fit
}

// flatGrid covers the pixels of all rows as one sequence, with workgroups as large as
// their sums.
func flatGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(max(1, e.H)*e.W, h.pixels*h.count("ROWS")*h.count("DOWN")), groups(4*e.C4, h.block), uint32(e.N)}
}
