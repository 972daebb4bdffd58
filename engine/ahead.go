package engine

import (
	"fmt"

	"tessera/gpu"
	"tessera/wgsl"
)

// Ahead: networks whose convolutions read frames to come, so that what they make of a
// frame waits for those behind it.
//
// A slice is then some frames of the result. Each layer makes what later ones need for
// them, and reads as much more of what it is made of: the first slice of a clip takes in
// all that its frames depend on, the next ones as many as come out, and the last ones
// none, while layer after layer comes to the clip's end, where the last frame stands for
// those to come. What a convolution keeps between slices is two frames, as where it reads
// the past, and what is added to its output waits for it (Delay). So the result is that of
// the whole clip.

// pace is how many frames a layer that reads ahead makes in a slice, and its lag: how many
// of those that it reads came in slices before, without one made for them.
type pace struct{ frames, lag int }

// pace is that of a convolution of x.
func (g *Graph) pace(c Causal, x Value) (frames, lag int) {
	switch {
	case c.Ahead == 0:
		return c.frames(g.at, x.T), 0
	case g.at == Whole:
		g.tick(false)
		return x.T, 0
	}
	p := g.paces[g.next]
	g.next++
	return p.frames, p.lag
}

// tick notes what happens to time, where somebody wants that.
func (g *Graph) tick(doubles bool) {
	if g.clock != nil {
		*g.clock = append(*g.clock, doubles)
	}
}

// clockOf is what a network does to time, in order: true where it makes two frames of one,
// but of the first; false where it reads one ahead.
func clockOf(net Module, c int) (doubles []bool) {
	g := &Graph{at: Whole, clock: &doubles}
	net.Forward(g, g.record(node{label: "input", out: Value{T: 1, H: 2, W: 2, C: c}}))
	return doubles
}

// ahead divides a clip of so many frames into slices that make step frames of the result
// each, after the first that makes one at least, with the paces of each kind.
func ahead(doubles []bool, frames, step int) (all []Slice, paces [][]pace) {
	totals := []int{frames} // of the input, and of what each step makes
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
		now := until(doubles, totals, min(wanted, end))
		s := Slice{T: before[0], N: now[0] - before[0], at: Steady}
		if all == nil {
			s.at = First
		}
		var p []pace
		for k, doubles := range doubles {
			if !doubles {
				p = append(p, pace{now[k+1] - before[k+1], before[k] - before[k+1]})
			}
		}
		key := fmt.Sprint(s.N, s.at, p)
		kind, ok := kinds[key]
		if !ok {
			kind = len(paces)
			kinds[key], paces = kind, append(paces, p)
		}
		s.Kind = kind
		all, before = append(all, s), now
	}
	return all, paces
}

// until is how many frames there are of the input, and of what each step makes, when
// there are as many of the result as wanted.
func until(doubles []bool, totals []int, wanted int) []int {
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
		default: // the last one stands for those to come
			needs[k+1] = max(needs[k+1], needs[k]-1)
		}
	}
	return needs
}

// Delay is x as late as what so many convolutions that follow make of it, which it is
// added to.
type Delay struct {
	Name  string
	Convs int
}

// Forward is x of the frames that they make.
func (d *Delay) Forward(g *Graph, x Value) Value {
	if g.at == Whole {
		return x
	}
	frames, lag := 0, 0
	for _, p := range g.paces[g.next:][:d.Convs] {
		frames, lag = p.frames, lag+p.lag
	}
	time := Causal{Kernel: d.Convs + 1, Ahead: d.Convs}
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
