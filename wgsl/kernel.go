package wgsl

import (
	"fmt"
	"path"
	"strings"

	"tessera/gpu"
)

// table is the kernels that compute one operation. It stands in the operation's
// Go file; its first kernel is the plain one, which runs everywhere.
type table struct {
	operation string
	kernels   []kernel
}

// kernel is one way to compute an operation.
type kernel struct {
	name      string              // in Choices and messages
	shaders   []shader            // run one after the other
	transform *transform          // how it makes frames by all of them; nil where one shader does all of Winograd's
	packing   *Packing            // of its weights; nil where it has none
	takes     func(Shape) bool    // weights that are packed for it; nil is all. Else no other kernel shares its packing
	inputs8   bool                // inputs are a multiple of eight; the same
	needs     func(gpu.Info) bool // adapters that can run it; nil is all
	onlyF16   bool                // it is for activations stored as F16 alone
	better    func(gpu.Info) bool // adapters on which it goes before those in front of it; nil is none
	first     string              // what these are
	gain      string              // by how much it is quicker there, or where it was chosen,
	page      string              // as this page of docs/ has it, in this section
}

// transform records convolutions by a kernel whose input transform is a pass of its own: its
// sums lie in memory, of which bytes says how many for frames so high, whose rows have so
// many, and are multiplied with by the kernel's first shader.
type transform struct {
	bytes  func(h *shader, outputs, high int, row int64) int64
	frames func(s *Set, b *gpu.Batch, label, class string, k *kernel, c *Conv3DWinograd)
	rows   func(s *Set, b *gpu.Batch, label, class string, k *kernel, c *Conv3DWinogradRows)
}

// shader is a .wgsl file and the sizes of its tile. They stand here alone: the
// grid is made of them, and `#import tile` makes them constants of the text.
type shader struct {
	file   string // folder and name without .wgsl, which its programs are called by
	wg     int    // WG, invocations in a workgroup
	pixels int    // PIXELS of an invocation; 0 is none, and no constant
	block  int    // BLOCK, channels that weights lie together for; the same
	blocks int    // BLOCKS, blocks of an invocation, as covering sees fit; 0 is one
	taps   int    // TAPS side by side in a row; 0 is none
	stride int    // STRIDE between pixels of y in x; 0 is one, where there are taps
	grid   func(h *shader, e extent) [3]uint32

	sizes []constant                             // others of its text
	depth int                                    // terms that it adds up at a time, of those that have WHOLE; 0 is others
	fit   func(h *shader, info gpu.Info) *shader // the shader with the sizes of an adapter; nil is as it is here
	suit  suit                                   // the same for what it makes

	relu     bool // what it stores is not below zero
	leaky    bool // but a fifth of it, with relu
	words    bool // halves of activations are read as the words they lie in
	subgroup int  // invocations of a subgroup that load a block's weights once, for which they stay together
}

// name is what its programs are called by.
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

// withReLU is the shader, with ReLU of what it stores where that is asked for.
func (h *shader) withReLU(relu bool) *shader {
	if relu == h.relu {
		return h
	}
	other := *h
	other.relu = relu
	return &other
}

// withLeakyReLU is the shader with LeakyReLU in place of ReLU, if it has that.
func (h *shader) withLeakyReLU(leaky bool) *shader {
	if !leaky || !h.relu {
		return h
	}
	other := *h
	other.leaky = true
	return &other
}

// forAdapter is the shader for an adapter.
func (h *shader) forAdapter(info gpu.Info) *shader {
	if h.fit == nil {
		return h
	}
	return h.fit(h, info)
}

// suit is a shader for what e counts in pixels, of so many channels, and e as its grid
// covers it.
type suit func(h *shader, e extent, channels int) (*shader, extent)

// suitedTo is the shader for what it makes.
func (h *shader) suitedTo(e extent, channels int) (*shader, extent) {
	if h.suit == nil {
		return h, e
	}
	return h.suit(h, e, channels)
}

// setWhole says to a shader whether what it adds up is a multiple of what it does at a time.
func (h *shader) setWhole(values constants, terms int) {
	if h.depth > 0 {
		values["WHOLE"] = flag(terms%h.depth == 0)
	}
}

// cover is the grid of workgroups that makes e.
func (h *shader) cover(e extent) [3]uint32 { return h.grid(h, e) }

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
	return [3]uint32{groups(h.segments(e), across), groups(int(groups(4*e.C4, h.channelsDeep())), h.wg/across), uint32(e.N)}
}

// covering is a register-blocked shader with as many blocks as suit the channels: those of
// the table, three or two where so the last is full, or one where there is one block alone.
// With several temporal taps in its text it is two in place of four, which take three
// times as long to compile, and are no faster.
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

// shared says whether one pipeline is to do for many layers, since it takes seconds to
// compile: then params have what is an override elsewhere (SHARED).
func (h *shader) shared() bool { return h.blocks > 0 }

// tapByTap says whether taps are dispatches of their own, which add to y in f32: where
// pipelines are shared, one temporal tap is seconds less to compile than three.
func (s *Set) tapByTap(h *shader, taps []Tap) bool {
	return h.shared() && s.Elem == F32 && len(taps) > 1
}

// channelsDeep is how many channels an invocation makes.
func (h *shader) channelsDeep() int { return h.block * max(1, h.blocks) }

// segments are the parts of rows that an invocation makes.
func (h *shader) segments(e extent) int { return e.H * int(groups(e.W, h.pixels)) }

// across is how many segments a workgroup is wide: all of its invocations, or a
// power of 2 that covers what there is, and a subgroup that works together.
func (h *shader) across(e extent) int {
	across, least := h.wg, max(1, h.subgroup)
	for across > least && across/2 >= h.segments(e) {
		across /= 2
	}
	return across
}

// groups covers n invocations with workgroups of wg.
func groups(n, wg int) uint32 { return uint32((n + wg - 1) / wg) }

// Choices name the kernel that an operation takes, by the operation's name
// ("conv3d"), or by a class of it ("conv3d 128→256"), which goes first; others
// take the first of their table that the adapter can run, or the last that is
// better there. A weight that the chosen one can't take goes to one of those that
// can; so do activations.
type Choices map[string]string

// newSet is NewSet with the tables of the operations.
func newSet(elem Elem, info gpu.Info, choices Choices, tables []table) (*Set, error) {
	s := &Set{Elem: elem, info: info, choices: choices, tables: tables, programs: map[string]*gpu.Program{}, workloads: workloads{}}
	refused := "" // the first by name, so that the error is always the same
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

// supports says whether the adapter can run a kernel, and canRun whether it can for the
// set's activations.
func (s *Set) supports(k *kernel) bool { return k.needs == nil || k.needs(s.info) }
func (s *Set) canRun(k *kernel) bool   { return s.supports(k) && (!k.onlyF16 || s.Elem == F16) }

// hasKernel says whether the adapter can run the kernel of a name of a class's operation,
// for whichever activations.
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

// find is the one of the kernels of a class, or operation, that the adapter can run
// and that fit (nil: all do) which is chosen or goes before the others.
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

// listKernels says what an operation, or where there is none of the name what the set,
// can run.
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

// packing is that of the kernel an operation takes for a weight.
func (s *Set) packing(name string, shape Shape) *Packing {
	return s.find(classOf(name, shape), func(k *kernel) bool { return k.suits(shape) }).packing
}

// suits says whether weights of a shape are packed for a kernel.
func (k *kernel) suits(shape Shape) bool {
	return (k.takes == nil || k.takes(shape)) && (!k.inputs8 || shape.I%8 == 0)
}

// kernel is the one that a class takes for weights packed so; nil is for an
// operation without.
func (s *Set) kernel(label, class string, p *Packing) *kernel {
	k := s.find(class, func(k *kernel) bool { return k.packing == p })
	if k == nil {
		operation, _, _ := strings.Cut(class, " ")
		panic(fmt.Sprintf("wgsl: %s: no kernel of %s for weights %v: there %s", label, operation, p, s.listKernels(operation)))
	}
	return k
}

// shader is that of a kernel that has one.
func (s *Set) shader(label, class string, p *Packing) *shader {
	return s.kernel(label, class, p).shaders[0].forAdapter(s.info)
}

// Kernels are the names of an operation's kernels that an adapter can run for
// activations stored as elem.
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
