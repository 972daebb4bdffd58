package wgsl

import (
	"fmt"
	"path"
	"strings"

	"tessera/gpu"
)

// table lists the kernels that compute one operation. The first one is the plain
// kernel, which runs everywhere.
type table struct {
	operation string
	kernels   []kernel
}

// kernel is one way to compute an operation.
type kernel struct {
	name      string              // in Choices and messages
	shaders   []shader            // run one after the other
	transform *transform          // for kernels that compute frames with several shaders; nil if one shader does all of Winograd's
	packing   *Packing            // of its weights; nil if it has none
	takes     func(Shape) bool    // shapes of weights that are packed for it; nil: all. If set, no other kernel shares its packing
	inputs8   bool                // inputs must be a multiple of eight; else as takes
	needs     func(gpu.Info) bool // adapters that can run it; nil: all
	onlyF16   bool                // only for activations stored as F16
	better    func(gpu.Info) bool // adapters on which it comes before the kernels above it; nil: none
	first     string              // name of these adapters
	gain      string              // its speedup there, or where it was chosen,
	page      string              // page and section of docs/ with the measurement
}

// transform records convolutions with a kernel whose input transform is a separate
// pass. The pass writes sums to memory, and the kernel's first shader multiplies them.
// bytes returns the size of the sums for frames of this height, given the bytes of a
// row of sums.
type transform struct {
	bytes  func(h *shader, outputs, high int, row int64) int64
	frames func(s *Set, b *gpu.Batch, label, class string, k *kernel, c *Conv3DWinograd)
	rows   func(s *Set, b *gpu.Batch, label, class string, k *kernel, c *Conv3DWinogradRows)
}

// shader is a .wgsl file with the sizes of its tile. The sizes are defined only here:
// the grid derives from them, and `#import tile` makes them constants of the text.
type shader struct {
	file   string // folder and name without .wgsl; the base of its programs' names
	wg     int    // WG, invocations in a workgroup
	pixels int    // PIXELS of an invocation; 0: no such constant
	block  int    // BLOCK, channels whose weights lie together; 0: no such constant
	blocks int    // BLOCKS, blocks of an invocation, adjusted by covering; 0 is one
	taps   int    // TAPS side by side in a row; 0: none
	stride int    // STRIDE between pixels of y in x; 0 is one, if there are taps
	grid   func(h *shader, e extent) [3]uint32

	sizes []constant                             // other constants of its text
	depth int                                    // terms that it sums at a time, for shaders with WHOLE; 0: others
	fit   func(h *shader, info gpu.Info) *shader // sets the sizes for an adapter; nil: as they are here
	suit  suit                                   // sets the sizes for its output

	relu     bool // applies ReLU to what it stores
	leaky    bool // with relu: applies LeakyReLU instead
	words    bool // reads halves of activations as 32-bit words
	lanes    int  // invocations of a subgroup, which the shader sets; 0: it does not
	narrow   bool // sets lanes to the adapter's smallest, if the adapter has a choice
	unrolled bool // loops of #loop are written out, and sums use fma
	subgroup int  // invocations of a subgroup or workgroup that load a block's weights once and therefore stay together
}

// name returns the name for the shader's programs.
func (h *shader) name() string {
	name := path.Base(h.file)
	if h.stride > 1 {
		name += "_strided"
	}
	switch {
	case h.leaky:
		name += "_leaky"
	case h.relu:
		name += "_relu"
	}
	return name
}

// withReLU returns the shader with or without ReLU.
func (h *shader) withReLU(relu bool) *shader {
	if relu == h.relu {
		return h
	}
	other := *h
	other.relu = relu
	return &other
}

// withLeakyReLU returns the shader with LeakyReLU in place of ReLU, if it has ReLU.
func (h *shader) withLeakyReLU(leaky bool) *shader {
	if !leaky || !h.relu {
		return h
	}
	other := *h
	other.leaky = true
	return &other
}

// forCompiler returns the shader as the adapter's compiler needs it.
func (h *shader) forCompiler(info gpu.Info) *shader {
	if !unrollsNothing(info) {
		return h
	}
	other := *h
	other.unrolled = true
	return &other
}

// forAdapter returns the shader for an adapter.
func (h *shader) forAdapter(info gpu.Info) *shader {
	switch {
	case h.fit != nil:
		return h.fit(h, info)
	case h.narrow && setsSubgroups(info):
		fit := *h
		fit.lanes = info.SubgroupMin
		return &fit
	}
	return h
}

// suit returns a shader for an output of extent e in pixels and this many channels, and
// the extent that its grid covers.
type suit func(h *shader, e extent, channels int) (*shader, extent)

// suitedTo returns the shader for its output.
func (h *shader) suitedTo(e extent, channels int) (*shader, extent) {
	if h.suit == nil {
		return h, e
	}
	return h.suit(h, e, channels)
}

// setWhole sets WHOLE if the number of terms is a multiple of those that the shader
// sums at a time.
func (h *shader) setWhole(values constants, terms int) {
	if h.depth > 0 {
		values["WHOLE"] = flag(terms%h.depth == 0)
	}
}

// cover returns the grid of workgroups for e.
func (h *shader) cover(e extent) [3]uint32 { return h.grid(h, e) }

// extent is the output of a dispatch: N frames of HxW pixels of C4 vec4s.
type extent struct{ H, W, C4, N int }

// rowGrid covers single rows, with an invocation for each vec4.
func rowGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(e.W*e.C4, h.wg), uint32(e.H), uint32(e.N)}
}

// frameGrid covers frames; each invocation computes a vec4 of several pixels.
func frameGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(int(groups(e.H*e.W, max(1, h.pixels)))*e.C4, h.wg), uint32(e.N), 1}
}

// eachGrid has a workgroup for each of W items of each frame.
func eachGrid(_ *shader, e extent) [3]uint32 { return [3]uint32{uint32(e.W), uint32(e.N), 1} }

// blockGrid covers W pixels of one frame with invocations of pixels x block. All
// invocations of a workgroup have the same channels.
func blockGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(e.W, h.pixels*h.wg), groups(4*e.C4, h.block), 1}
}

// segmentGrid covers segments of rows and blocks of channels with workgroups that are
// `across` segments wide.
func segmentGrid(h *shader, e extent) [3]uint32 {
	across := h.across(e)
	return [3]uint32{groups(h.segments(e), across), groups(int(groups(4*e.C4, h.channelsDeep())), h.wg/across), uint32(e.N)}
}

// covering returns a register-blocked shader with a number of blocks that suits the
// channels: the table's number; three or two if that fills the last invocation; one if
// there is only one block. With several temporal taps in its text it has two blocks
// instead of four, which take three times as long to compile and are no faster.
func (h *shader) covering(channels, taps int) *shader {
	blocks := int(groups(channels, max(1, h.block)))
	n := h.blocks
	switch {
	case n == 0:
		return h
	case blocks == 1:
		n = 1
	case blocks%n != 0 && blocks%3 == 0:
		n = 3
	case blocks%n != 0 && blocks%2 == 0:
		n = 2
	case n > 3 && taps > 1:
		n = 2
	}
	suited := *h
	suited.blocks = n
	return &suited
}

// shared reports whether many layers share one pipeline because it takes seconds to
// compile. Params then replace some overrides (SHARED).
func (h *shader) shared() bool { return h.blocks > 0 }

// tapByTap reports whether each temporal tap is a separate dispatch that adds to y in
// f32. Shared pipelines use this because one tap compiles seconds faster than three.
func (s *Set) tapByTap(h *shader, taps []Tap) bool {
	return h.shared() && s.Elem == F32 && len(taps) > 1
}

// channelsDeep returns the number of channels of an invocation.
func (h *shader) channelsDeep() int { return h.block * max(1, h.blocks) }

// segments returns the number of row parts, one for each invocation.
func (h *shader) segments(e extent) int { return e.H * int(groups(e.W, h.pixels)) }

// across returns the width of a workgroup in segments: all of its invocations, or the
// smallest power of 2 that covers the output and keeps a cooperating subgroup together.
func (h *shader) across(e extent) int {
	across, least := h.wg, max(1, h.subgroup)
	for across > least && across/2 >= h.segments(e) {
		across /= 2
	}
	return across
}

// groups returns how many workgroups of wg cover n invocations.
func groups(n, wg int) uint32 { return uint32((n + wg - 1) / wg) }

// Choices name the kernel of an operation ("conv3d") or of a class of it ("conv3d
// 128→256"), which takes precedence. Other operations use the first kernel of their
// table that the adapter can run, or the last one that is better there. If the chosen
// kernel cannot take a weight or an activation, another kernel that can takes its
// place.
type Choices map[string]string

// newSet is NewSet with given tables.
func newSet(elem Elem, info gpu.Info, choices Choices, tables []table) (*Set, error) {
	s := &Set{Elem: elem, info: info, choices: choices, tables: tables, programs: map[string]*gpu.Program{}, workloads: workloads{}}
	refused := "" // the first by name, so that the error is deterministic
	for name, choice := range choices {
		if !s.hasKernel(name, choice) && (refused == "" || name < refused) {
			refused = name
		}
	}
	if refused == "" {
		return s, nil
	}
	return nil, fmt.Errorf("wgsl: no kernel %q of %q on adapter %q: there %s", choices[refused], refused, info.Name, s.listKernels(refused))
}

// supports reports whether the adapter can run a kernel; canRun also considers the
// set's activations.
func (s *Set) supports(k *kernel) bool { return k.needs == nil || k.needs(s.info) }
func (s *Set) canRun(k *kernel) bool   { return s.supports(k) && (!k.onlyF16 || s.Elem == F16) }

// hasKernel reports whether the adapter can run this kernel of a class's operation, for
// any kind of activations.
func (s *Set) hasKernel(class, name string) bool {
	operation, _, _ := strings.Cut(class, " ")
	for i := range s.tables {
		for j := range s.tables[i].kernels {
			if k := &s.tables[i].kernels[j]; s.tables[i].operation == operation && k.name == name && s.supports(k) {
				return true
			}
		}
	}
	return false
}

// find returns the kernel of a class or operation: among those that the adapter can run
// and that fit (nil: all), the chosen one, or the one that comes first.
func (s *Set) find(class string, fits func(k *kernel) bool) *kernel {
	var found *kernel
	operation, _, _ := strings.Cut(class, " ")
	chosen, ok := s.choices[class]
	if !ok {
		chosen, ok = s.choices[operation]
	}
	for i := range s.tables {
		for j := range s.tables[i].kernels {
			k := &s.tables[i].kernels[j]
			if s.tables[i].operation != operation || !s.canRun(k) || fits != nil && !fits(k) {
				continue
			}
			if ok && k.name == chosen {
				return k
			}
			if found == nil || k.better != nil && k.better(s.info) {
				found = k
			}
		}
	}
	return found
}

// listKernels describes the kernels of an operation that the set can run, or, for an
// unknown operation, the set's operations.
func (s *Set) listKernels(name string) string {
	kernels, operations := "are kernels", "are operations"
	for i := range s.tables {
		t := &s.tables[i]
		operations += " " + t.operation
		for j := range t.kernels {
			k := &t.kernels[j]
			if t.operation == name && s.canRun(k) {
				kernels += fmt.Sprintf(" %s (weights %v)", k.name, k.packing)
			}
		}
	}
	if s.find(name, nil) == nil {
		return operations
	}
	return kernels
}

// packing returns the packing of the kernel for a weight.
func (s *Set) packing(name string, shape Shape) *Packing {
	return s.find(classOf(name, shape), func(k *kernel) bool { return k.suits(shape) }).packing
}

// suits reports whether weights of this shape can be packed for a kernel.
func (k *kernel) suits(shape Shape) bool {
	return (k.takes == nil || k.takes(shape)) && (!k.inputs8 || shape.I%8 == 0)
}

// kernel returns the kernel of a class for weights with this packing; nil is for
// operations without weights.
func (s *Set) kernel(label, class string, p *Packing) *kernel {
	k := s.find(class, func(k *kernel) bool { return k.packing == p })
	if k == nil {
		operation, _, _ := strings.Cut(class, " ")
		panic(fmt.Sprintf("wgsl: %s: no kernel of %s for weights %v: there %s", label, operation, p, s.listKernels(operation)))
	}
	return k
}

// shader returns the shader of a kernel with only one.
func (s *Set) shader(label, class string, p *Packing) *shader {
	return s.kernel(label, class, p).shaders[0].forAdapter(s.info)
}

// Kernels lists the kernels of an operation that an adapter can run for activations
// stored as elem.
func Kernels(operation string, elem Elem, info gpu.Info) []string {
	s := &Set{Elem: elem, info: info}
	var names []string
	for i := range tables {
		for j := range tables[i].kernels {
			if k := &tables[i].kernels[j]; tables[i].operation == operation && s.canRun(k) {
				names = append(names, k.name)
			}
		}
	}
	return names
}
