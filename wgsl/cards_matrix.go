package wgsl

import (
	"tessera/gpu"
)

const (
	matrixDepth = 16 // input channels of a product of matrices
	matrixBlock = 64 // output channels of a workgroup that makes these
)

// rows16x64 is what conv3d's and conv_up's read, and rows16x128 those of conv3d_strided and pointwise:
// for each output 16 inputs, as a product of matrices takes them without turning them.
var (
	rows16x64  = &Packing{in: matrixDepth, out: matrixBlock, rows: true}
	rows16x128 = &Packing{in: matrixDepth, out: 2 * matrixBlock, rows: true}
)

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

// hasRoom says whether an adapter has matrices of a layout that is known, and workgroups as
// large as what is made of it.
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

// workgroup is its invocations.
func (l *layout) workgroup() int { return l.subgroup * l.down * l.across }

// sizes are the constants that all texts of a layout have.
func (l *layout) sizes() []constant {
	return []constant{{"M", l.m}, {"N", l.n}, {"K", l.k}, {"ROWS", l.rows}, {"COLUMNS", l.columns}, {"DOWN", l.down}, {"ACROSS", l.across}, {"PITCH", l.pitch}, {"PARTS", matrixDepth / l.k}, {"FRAMES", l.written}}
}

// fitted is a shader of a layout.
func (h *shader) fitted(l *layout) *shader {
	fit := *h
	fit.wg = l.workgroup()
	fit.pixels = l.m
	fit.depth = matrixDepth * depthSteps
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
		fit.sizes = append(fit.sizes, constant{"SIDE", side}, constant{"POINTS", min(side, l.written)}, constant{"TAKEN", l.rows + side - 1},
			constant{"FETCHES", int(groups(pixels*matrixDepth/8, fit.wg))}, constant{"WEIGHTS", int(groups(side*side*h.block*matrixDepth/8, fit.wg))})
		return fit
	}
}

// matrixRowGrid covers rows and columns with workgroups of as many rows as their
// sums have.
func matrixRowGrid(h *shader, e extent) [3]uint32 {
	rows := h.count("ROWS") * h.count("DOWN")
	return [3]uint32{groups(e.H, rows) * groups(e.W, h.pixels), groups(4*e.C4, h.block), uint32(e.N)}
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

func (l layout) unchanged() layout { return l }

// forUp has in subgroups of 64 twice the rows, by half as many of them down: with four
// taps under a row of pixels they are what most loads of matrices go with.
func (l layout) forUp() layout {
	if l.subgroup == 64 {
		l.rows, l.down = 2*l.rows, l.down/2
	}
	return l
}

// depthSteps is how many times matrixDepth these multiply between two barriers.
const depthSteps = 2

// flatMatrices is a shader of a layout that makes blocks of doubled channels and
// fetches what is multiplied, PIXELS of it in a matrix.
func flatMatrices(h *shader, l layout) *shader {
	fit := h.fitted(&l)
	fetches := groups(l.down*l.rows*l.m*matrixDepth/8, fit.wg)
	fit.sizes = append(fit.sizes, constant{"FETCHES", int(fetches)}, constant{"AHEAD", depthSteps})
	return fit
}

// pointMatrices is pointwise_matrix for an adapter, attention_scores_matrix, whose weights
// are keys, or with 3x3 taps conv3d_strided_matrix.
func pointMatrices(side int) func(h *shader, info gpu.Info) *shader {
	return func(h *shader, info gpu.Info) *shader {
		fit := flatMatrices(h, layoutFor(info).doubled())
		fit.sizes = append(fit.sizes, constant{"SIDE", side}, constant{"WEIGHTS", int(groups(h.block*matrixDepth/8, fit.wg))})
		return fit
	}
}

// valuesMatrices is attention_values_matrix for an adapter.
func valuesMatrices(h *shader, info gpu.Info) *shader {
	fit := flatMatrices(h, layoutFor(info).forValues())
	fit.sizes = append(fit.sizes, constant{"TURNS", depthSteps * matrixDepth / 4 * h.block / 4 / fit.wg})
	return fit
}

// flatGrid covers pixels, all rows as one, with workgroups of all that their sums are of.
func flatGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(max(1, e.H)*e.W, h.pixels*h.count("ROWS")*h.count("DOWN")), groups(4*e.C4, h.block), uint32(e.N)}
}
