package engine

import (
	"fmt"

	"tessera/wgsl"
)

// Module is a part of a network. Forward records it on x and returns its output. Values
// have no memory yet: the graph counts a value's readers, and its memory is freed after
// the last one.
type Module interface {
	Forward(g *Graph, x Value) Value
}

// Series is a list of modules that run one after another.
type Series []Module

// Forward records all modules in order.
func (s Series) Forward(g *Graph, x Value) Value {
	for _, m := range s {
		x = m.Forward(g, x)
	}
	return x
}

// Value is an activation: T frames of H x W pixels of C channels.
type Value struct {
	T, H, W, C int

	id int
}

// Graph records a network's operations on one slice of one tile, in order, on values
// without memory.
type Graph struct {
	at         Position
	begins     bool // see Slice
	full       bool // see Direction.Full
	windows    Windows
	outputs    int         // number of needed output channels of the network; 0: all
	depth      int         // of the portions that it runs in
	away       bool        // see Plan.Away
	lookaheads []lookahead // of layers that read ahead; those from `next` on are still to come
	next       int
	timeOps    *[]bool // see timeOpsOf; nil: do not record
	nodes      []node
	values     int
	marks      []mark
}

// node is one operation.
type node struct {
	at      Position
	label   string
	kind    string // layer kind: "conv"
	macs    int64  // multiply-adds with every temporal tap and every output, even unneeded ones
	reads   []Value
	onto    Value // the value that it adds to in place and returns; without id: none
	over    bool  // a cheap operation, which overwrites reads[0] if no later operation reads that
	inPlace bool  // it overwrites reads[0] in plans with Plan.InPlace, although it reads rows around each
	clip    bool  // it reads all frames as one, so they must be contiguous
	out     Value // without id: it only keeps causal memory
	emit    func(e *emitter, y wgsl.Tensor)

	// Of what can be made in bands.
	reach   reach                                 // input rows for rows of the output
	step    int                                   // the height of bands is a multiple of this; 0: any height
	makes   int                                   // output frames per command; 0 is 1
	joint   int                                   // input frames that one command reads; 0 is 1
	joins   func(e *emitter, y *wgsl.Tensor) bool // reports whether one command makes two frames of y; nil: see makes
	keeps   int                                   // frames of causal memory
	prepare func(e *emitter)                      // records what all bands need
}

// mark says that value holds a module's output after the first node operations.
type mark struct {
	name  string
	node  int
	value Value
}

// record adds an operation and returns its output: onto if that is set, otherwise out.
func (g *Graph) record(n node) Value {
	if n.onto.id != 0 {
		n.out = n.onto
	}
	if n.out != (Value{}) {
		g.values++
		n.out.id = g.values
	}
	n.at = g.at
	g.nodes = append(g.nodes, n)
	return n.out
}

// Input returns the network's input.
func (g *Graph) Input() Value { return g.nodes[0].out }

// Head reports whether the slice begins a clip.
func (g *Graph) Head() bool { return !g.at.later() }

// headFrames returns how many leading frames a layer that doubles or halves frames
// handles separately: 1 at the start of a clip, else 0.
func (g *Graph) headFrames(frames int) int {
	if frames == 2 && g.Head() {
		return 1
	}
	return 0
}

// Outputs returns how many leading channels of c outputs are needed: the means may be
// enough of moments.
func (g *Graph) Outputs(c int) int {
	if g.outputs == 0 {
		return c
	}
	return min(c, g.outputs)
}

// Mark names a module's output for traces.
func (g *Graph) Mark(name string, v Value) {
	g.marks = append(g.marks, mark{name, len(g.nodes), v})
}

// Window is a part of a layer's output: H x W pixels from row Y, column X, in the
// layer's own units.
type Window struct{ Y, X, H, W int }

// Windows are the parts of their outputs that layers compute, by layer name. A layer
// without one computes everything.
type Windows map[string]Window

// key returns a text that identifies the windows.
func (w Windows) key() string {
	if len(w) == 0 {
		return ""
	}
	return fmt.Sprint(map[string]Window(w)) // sorted by name
}

// window returns a layer's window, or whole.
func (g *Graph) window(layer string, whole Window) Window {
	if w, ok := g.windows[layer]; ok {
		return w
	}
	return whole
}
