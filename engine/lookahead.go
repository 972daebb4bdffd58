package engine

import (
	"fmt"

	"tessera/gpu"
	"tessera/wgsl"
)

// Lookahead: a convolution that reads future frames makes its output for a frame only
// when those have arrived.
//
// A slice is then some frames of the result. Each layer makes what later layers need for
// them. The first slice of a clip reads all frames that its output depends on, the next
// slices as many as they output. The last slices read no frames: one layer after another
// reaches the end of the clip, where the last frame is repeated. A convolution keeps two
// frames between slices, as one that reads the past does, and a value that is added to
// its output waits for it (Delay). So the result is that of the whole clip.

// lookahead is the number of frames that such a layer makes in a slice, and its lag: how
// many of its input frames came in earlier slices and have no output yet.
type lookahead struct{ frames, lag int }

// lookahead returns the number of frames that a convolution of x makes in the slice, and
// its lag.
func (g *Graph) lookahead(c Causal, x Value) (frames, lag int) {
	switch {
	case c.Lookahead == 0:
		return c.frames(g.at, x.T), 0
	case g.at == Whole:
		g.addTimeOp(false)
		return x.T, 0
	}
	p := g.lookaheads[g.next]
	g.next++
	return p.frames, p.lag
}

// addTimeOp records an operation's effect on time, if timeOpsOf asks for it.
func (g *Graph) addTimeOp(doubles bool) {
	if g.timeOps != nil {
		*g.timeOps = append(*g.timeOps, doubles)
	}
}

// timeOpsOf lists a network's effects on time, in order: true for doubling all frames but
// the first, false for reading one frame ahead.
func timeOpsOf(net Module, c int) (doubles []bool) {
	g := &Graph{at: Whole, timeOps: &doubles}
	net.Forward(g, g.record(node{label: "input", out: Value{T: 1, H: 2, W: 2, C: c}}))
	return doubles
}

// lookaheadSlices divides a clip into slices that output step frames each, after a first one
// that outputs at least one. lookaheads are those of each kind of slice, by layer.
func lookaheadSlices(doubles []bool, frames, step int) (all []Slice, lookaheads [][]lookahead) {
	totals := []int{frames} // of the input, and of each operation's output
	for k, doubles := range doubles {
		totals = append(totals, totals[k])
		if doubles {
			totals[k+1] = 2*totals[k] - 1
		}
	}
	end := totals[len(doubles)]
	before := make([]int, len(totals))
	kinds := map[string]int{}
	for wanted := 1; before[len(doubles)] < end; wanted += step {
		now := framesNeeded(doubles, totals, min(wanted, end))
		s := Slice{T: before[0], N: now[0] - before[0], at: Steady}
		if all == nil {
			s.at = First
		}
		var p []lookahead
		for k, doubles := range doubles {
			if !doubles {
				p = append(p, lookahead{now[k+1] - before[k+1], before[k] - before[k+1]})
			}
		}
		key := fmt.Sprint(s.N, s.at, p)
		kind, ok := kinds[key]
		if !ok {
			kind = len(lookaheads)
			kinds[key], lookaheads = kind, append(lookaheads, p)
		}
		s.Kind = kind
		all, before = append(all, s), now
	}
	return all, lookaheads
}

// framesNeeded returns how many frames of the input, and of each operation's output, the
// given number of result frames needs.
func framesNeeded(doubles []bool, totals []int, wanted int) []int {
	needs := make([]int, len(totals))
	needs[len(doubles)] = wanted
	for k := len(doubles) - 1; k >= 0; k-- {
		needs[k] = min(needs[k+1]+1, totals[k])
		if doubles[k] {
			needs[k] = needs[k+1]/2 + 1
		}
	}
	for k, doubles := range doubles {
		switch {
		case doubles:
			needs[k+1] = 2*needs[k] - 1
		case needs[k] < totals[k]:
			needs[k+1] = needs[k] - 1
		default: // the last frame stands for later ones
			needs[k+1] = max(needs[k+1], needs[k]-1)
		}
	}
	return needs
}

// Delay delays x as Convs lookahead convolutions do, so that it can be added to their
// output.
type Delay struct {
	Name  string
	Convs int
}

// Forward returns x for the frames that they make.
func (d *Delay) Forward(g *Graph, x Value) Value {
	if g.at == Whole {
		return x
	}
	frames, lag := 0, 0
	for _, p := range g.lookaheads[g.next:][:d.Convs] {
		frames, lag = p.frames, lag+p.lag
	}
	time := Causal{Kernel: d.Convs + 1, Lookahead: d.Convs}
	return g.record(node{
		label: d.Name, kind: "copy", reads: []Value{x}, out: Value{T: frames, H: x.H, W: x.W, C: x.C}, reach: each, keeps: time.kept(),
		emit: func(e *emitter, y wgsl.Tensor) {
			l := e.time(d.Name, time)
			for t := range y.T {
				at, _ := l.frame(t - lag)
				e.batch.Copy(d.Name, frameOf(&y, t), gpu.View{Buffer: at.X.Buffer, Offset: at.X.At(at.T), Size: y.FrameBytes()})
			}
			l.keep(e, d.Name)
		},
	})
}
