package wgsl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tessera/gpu"
)

// table is the kernels that compute one operation. It stands in the operation's
// Go file; its first kernel is the plain one, which runs everywhere.
type table struct {
	operation string
	kernels   []kernel
}

// tables are those of all operations.
var tables = []table{
	{"attention", attentionKernels},
	{"avg_down_3d", avgDown3DKernels},
	{"conv3d", conv3DKernels},
	{"conv3d_strided", conv3DStridedKernels},
	{"dup_up_3d", dupUp3DKernels},
	{"feather_blend", featherBlendKernels},
	{"feather_normalise", featherNormaliseKernels},
	{"group_norm", groupNormKernels},
	{"pointwise", pointwiseKernels},
	{"rms_norm", rmsNormKernels},
	{"sample", sampleKernels},
	{"to_rgba8", toRGBA8Kernels},
	{"unpatchify", unpatchifyKernels},
}

// kernel is one way to compute an operation.
type kernel struct {
	name    string              // in Choices and messages
	shaders []shader            // run one after the other
	packing *Packing            // of its weights; nil where it has none
	takes   func(Shape) bool    // weights that are packed for it; nil is all. Else no other kernel shares its packing
	needs   func(gpu.Info) bool // adapters that can run it; nil is all
}

// shader is a .wgsl file and the sizes of its tile. They stand here alone: the
// grid is made of them, and `#import tile` makes them constants of the text.
type shader struct {
	file   string // without .wgsl; also what its programs are called
	wg     int    // WG, invocations in a workgroup
	pixels int    // PIXELS of an invocation; 0 is none, and no constant
	block  int    // BLOCK, channels of an invocation; the same
	grid   func(h *shader, e extent) [3]uint32
}

// cover is the grid of workgroups that makes e.
func (h *shader) cover(e extent) [3]uint32 { return h.grid(h, e) }

// tile is the constants of a shader's text.
func (h *shader) tile() string {
	var s strings.Builder
	for _, c := range []struct {
		name  string
		value int
	}{{"WG", h.wg}, {"PIXELS", h.pixels}, {"BLOCK", h.block}} {
		if c.value > 0 {
			fmt.Fprintf(&s, "const %s: u32 = %d;\n", c.name, c.value)
		}
	}
	return s.String()
}

// extent is what a dispatch makes: N frames of HxW pixels of C4 vec4s.
type extent struct{ H, W, C4, N int }

// rowGrid covers rows one by one, with an invocation for each vec4.
func rowGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(e.W*e.C4, h.wg), uint32(e.H), uint32(e.N)}
}

// frameGrid covers frames with invocations of a vec4 in each of their pixels.
func frameGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(int(groups(e.H*e.W, max(1, h.pixels)))*e.C4, h.wg), uint32(e.N), 1}
}

// eachGrid has a workgroup for each W of each frame.
func eachGrid(_ *shader, e extent) [3]uint32 { return [3]uint32{uint32(e.W), uint32(e.N), 1} }

// blockGrid covers W pixels of one frame with invocations of pixels x block; a
// workgroup's channels are the same for all.
func blockGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(e.W, h.pixels*h.wg), groups(4*e.C4, h.block), 1}
}

// segmentGrid covers segments of rows and blocks of channels with workgroups
// `across` segments wide.
func segmentGrid(h *shader, e extent) [3]uint32 {
	across := h.across(e)
	return [3]uint32{groups(h.segments(e), across), groups(int(groups(4*e.C4, h.block)), h.wg/across), uint32(e.N)}
}

// segments are the parts of rows that an invocation makes.
func (h *shader) segments(e extent) int { return e.H * int(groups(e.W, h.pixels)) }

// across is how many segments a workgroup is wide: all of its invocations, or a
// power of 2 that covers what there is.
func (h *shader) across(e extent) int {
	across := h.wg
	for across > 1 && across/2 >= h.segments(e) {
		across /= 2
	}
	return across
}

// groups covers n invocations with workgroups of wg.
func groups(n, wg int) uint32 { return uint32((n + wg - 1) / wg) }

// Choices name the kernel that an operation takes, by the operation's name
// ("conv3d"); others take the first of their table that the adapter can run.
// A weight that the chosen one can't take goes to the first that can.
type Choices map[string]string

// usable are the table's kernels that an adapter can run, the chosen one first.
func (t table) usable(info gpu.Info, choices Choices) ([]*kernel, error) {
	var usable []*kernel
	for i := range t.kernels {
		if k := &t.kernels[i]; k.needs == nil || k.needs(info) {
			usable = append(usable, k)
		}
	}
	name, ok := choices[t.operation]
	if !ok {
		return usable, nil
	}
	at := slices.IndexFunc(usable, func(k *kernel) bool { return k.name == name })
	if at < 0 {
		what := "there is no"
		if slices.ContainsFunc(t.kernels, func(k kernel) bool { return k.name == name }) {
			what = fmt.Sprintf("adapter %q can't run", info.Name)
		}
		return nil, fmt.Errorf("wgsl: %s: %s kernel %q; it can run %s", t.operation, what, name, names(usable))
	}
	return slices.Concat(usable[at:at+1], usable[:at], usable[at+1:]), nil
}

// names lists kernels for messages.
func names(kernels []*kernel) string {
	var list []string
	for _, k := range kernels {
		list = append(list, k.name)
	}
	return strings.Join(list, ", ")
}

// newSet is NewSet with the tables of the operations.
func newSet(elem Elem, info gpu.Info, choices Choices, tables []table) (*Set, error) {
	s := &Set{Elem: elem, kernels: map[string][]*kernel{}, programs: map[string]*gpu.Program{}}
	for _, t := range tables {
		kernels, err := t.usable(info, choices)
		if err != nil {
			return nil, err
		}
		s.kernels[t.operation] = kernels
	}
	for _, operation := range slices.Sorted(maps.Keys(choices)) {
		if s.kernels[operation] == nil {
			return nil, fmt.Errorf("wgsl: kernel %q chosen for %q, which is none of the operations %s",
				choices[operation], operation, strings.Join(slices.Sorted(maps.Keys(s.kernels)), ", "))
		}
	}
	return s, nil
}

// packing is that of the kernel an operation takes for a weight.
func (s *Set) packing(operation string, shape Shape) *Packing {
	for _, k := range s.kernels[operation] {
		if k.takes == nil || k.takes(shape) {
			return k.packing
		}
	}
	panic(fmt.Sprintf("wgsl: no kernel of %s takes a weight of %+v", operation, shape))
}

// kernel is the one that an operation takes for weights packed so; nil is for
// an operation without.
func (s *Set) kernel(label, operation string, p *Packing) *kernel {
	for _, k := range s.kernels[operation] {
		if k.packing == p {
			return k
		}
	}
	var packings []string
	for _, k := range s.kernels[operation] {
		packings = append(packings, fmt.Sprintf("%s %v", k.name, k.packing))
	}
	panic(fmt.Sprintf("wgsl: %s: weights packed %v for %s, whose kernels take: %s", label, p, operation, strings.Join(packings, ", ")))
}

// shader is that of a kernel that has one.
func (s *Set) shader(label, operation string, p *Packing) *shader {
	return &s.kernel(label, operation, p).shaders[0]
}
