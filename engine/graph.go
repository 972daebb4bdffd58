package engine

import (
	"fmt"

	"tessera/wgsl"
)

// Module is a part of a network. Forward records it on x and returns its output.
// Neither has memory yet: the graph counts the readers of a value, and its memory is
// free after the last one.
type Module interface {
	Forward(g *Graph, x Value) Value
}

// Series is a list of modules that run one after another.
type Series []Module

// Forward records all of them.
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
	outputs    int         // channels that are wanted of what the network makes; 0: all
	depth      int         // of the portions that it is run in
	away       bool        // see Plan.Away
	lookaheads []lookahead // of layers that read ahead, from `next` on those to come
	next       int
	timeOps    *[]bool // see timeOpsOf; nil: not recorded
	nodes      []node
	values     int
	marks      []mark
}

// node is one operation.
type node struct {
	at      Position
	label   string
	kind    string // of layer: "conv"
	macs    int64  // multiply-adds with every temporal tap and every output, needed or not
	reads   []Value
	onto    Value // what it adds to in place, and returns; no id: nothing
	over    bool  // it takes little to make, and lies where the first of reads does, if nobody reads that later
	inPlace bool  // the same in plans of Plan.InPlace, though it reads rows around each
	clip    bool  // it reads all frames as one, which lie one right behind the other
	out     Value // no id: it only keeps causal memory
	emit    func(e *emitter, y wgsl.Tensor)

	// Of what can be made in bands.
	reach   reach                                 // the rows that it reads for some of the output's
	step    int                                   // bands are of a multiple of so many rows; 0: any
	makes   int                                   // frames of the output that one command makes; 0 is 1
	joint   int                                   // frames of what it reads that one command reads; 0 is 1
	joins   func(e *emitter, y *wgsl.Tensor) bool // whether one command makes two frames of y; nil: as makes says
	keeps   int                                   // frames of causal memory
	prepare func(e *emitter)                      // records what all bands need
}

// mark says that after node number node-1 the output of a module is in value.
type mark struct {
	name  string
	node  int
	value Value
}

// record adds an operation. What it makes is out, or onto where that is set:
// then out is not looked at.
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

// Input is the network's input.
func (g *Graph) Input() Value { return g.nodes[0].out }

// Head reports whether the slice begins a clip.
func (g *Graph) Head() bool { return !g.at.later() }

// headFrames is the number of leading frames that a layer which doubles or halves frames
// handles separately: 1 at the start of a clip, else 0.
func (g *Graph) headFrames(frames int) int {
	if frames == 2 && g.Head() {
		return 1
	}
	return 0
}

// Outputs is the number of leading output channels that are needed, of c: the mean
// may be enough of moments.
func (g *Graph) Outputs(c int) int {
	if g.outputs == 0 {
		return c
	}
	return min(c, g.outputs)
}

// Mark names a module's output, for traces.
func (g *Graph) Mark(name string, v Value) {
	g.marks = append(g.marks, mark{name, len(g.nodes), v})
}

// Window is a part of a layer's output: H x W pixels from row Y, column X, in the
// layer's own units.
type Window struct{ Y, X, H, W int }

// Windows are the parts of their outputs that layers compute, by layer name. A layer
// without one computes everything.
type Windows map[string]Window

// key identifies windows.
func (w Windows) key() string {
	if len(w) == 0 {
		return ""
	}
	return fmt.Sprint(map[string]Window(w)) // in the order of the names
}

// window is that of a layer, or whole.
func (g *Graph) window(layer string, whole Window) Window {
	if w, ok := g.windows[layer]; ok {
		return w
	}
	return whole
}
