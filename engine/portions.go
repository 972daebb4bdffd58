package engine

import (
	"tessera/gpu"
	"tessera/wgsl"
)

// Portions: a slice runs a part of the network on a few frames at a time, so that its
// intermediates take less memory.
//
// The planner tries them first if a plan does not fit (savings.go), nested ever deeper
// (Plan.Depth). A network marks the parts that can run so by Graph.Portions.
//
// A recording has the nodes of one portion after another. Those after the first continue at
// another Position, so that causal memory passes from portion to portion as from slice to
// slice. With offload, frames wait for their portion on the host.
//
// The runner sees only commands.

// deepest is the greatest depth of nested portions in any network; longest is the
// greatest number of latent frames in a slice with portions.
const (
	deepest = 2
	longest = 8
)

// deepest returns the greatest depth of portions for the job. A clip of one slice has no
// portions, nor have temporal tiles, which have no causal memory, nor slices of more than
// longest frames, for which recording all portions would take too long.
func (p *planner) deepest() int {
	if p.Independent || p.fixedSlices() || p.Frames <= p.First(p.o.Chunk*p.InFrames) || p.o.Chunk > longest {
		return 0
	}
	return deepest
}

// Portions records do on a few frames of x at a time, so that its intermediates take less
// memory, if the plan's depth requires it; otherwise, and if a clip is one slice, on all
// of x. With causal memory on the host, waiting frames are there too. do is causal in
// time: a clip's first frame becomes one frame, and every `step` frames after it become
// equally many.
func (g *Graph) Portions(depth, step int, x Value, do func(x Value) Value) Value {
	return g.portions(depth, 1, step, x, do)
}

// Groups is Portions for a do that makes one or more frames from each `step` frames,
// starting with the clip's first.
func (g *Graph) Groups(depth, step int, x Value, do func(x Value) Value) Value {
	return g.portions(depth, step, step, x, do)
}

// portions implements Portions and Groups: each portion has step frames, a clip's first
// one `first`.
func (g *Graph) portions(depth, first, step int, x Value, do func(x Value) Value) Value {
	if depth < 1 || depth > g.depth || x.T <= step || g.at == Whole {
		return do(x)
	}
	var parts []Value
	if g.away {
		g.park(depth, x)
	}
	for t := 0; t < x.T; { // all at once, to free x
		part := x
		if part.T = min(step, x.T-t); t == 0 && g.Head() {
			part.T = min(first, x.T)
		}
		if !g.away {
			part = g.copyFrames(part, Value{}, 0, x, t)
		}
		parts = append(parts, part)
		t += part.T
	}
	at, begins, marks := g.at, g.begins, len(g.marks)
	var joins []int // nodes
	var all Value
	from := 0
	for _, part := range parts {
		if g.away {
			part = g.unpark(depth, part, from)
			from += part.T
		}
		y := do(part)
		t := all.T
		all = g.copyFrames(y, all, t, y, 0)
		all.T = t + y.T
		joins = append(joins, len(g.nodes)-1)
		g.at, g.begins = g.at.next(), false
	}
	for _, n := range joins { // the number of frames is known now
		g.nodes[n].out.T = all.T
	}
	g.at, g.begins, g.marks = at, begins, g.marks[:marks] // a trace shows whole modules only
	return all
}

// copyFrames records a copy of frames of x, from frame `from` on, to frames `to` on of
// onto, or else of a new value like out.
func (g *Graph) copyFrames(out, onto Value, to int, x Value, from int) Value {
	return g.record(node{label: "frames", kind: "copy", reads: []Value{x}, onto: onto, out: out, emit: func(e *emitter, y wgsl.Tensor) {
		in := e.x
		bytes := in.FrameBytes()
		size := int64(min(in.T-from, y.T-to)) * bytes
		e.batch.Copy("frames", gpu.View{Buffer: y.Buffer, Offset: int64(to) * bytes, Size: size}, gpu.View{Buffer: in.Buffer, Offset: int64(from) * bytes, Size: size})
	}})
}

// next returns the position of the portion after one at p.
func (p Position) next() Position {
	if p == First {
		return Second
	}
	return Steady
}
