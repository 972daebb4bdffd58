package engine

import (
	"tessera/gpu"
	"tessera/wgsl"
)

// Offload: where the device has no room for them, causal memory and frames that wait for
// a portion live on the host (this file), and so do large weights (offload_weights.go).
//
// The planner (offload_plan.go) decides whether offload is allowed, refuses what the host
// has no room for, and adds up what lives there and what crosses. Offload is the last of
// the savings that it tries (savings.go).
//
// A recording makes a layer with causal memory in bands of rows. It brings the memory's
// rows in right before a band, and takes those that are kept out right after it; a weight
// comes in before each layer that reads it, into memory that activations do not use then.
// These are transfers: steps between the commands of the recording's batch.
//
// The runner has the bytes: of causal memory in runner/host.go, of weights in
// runner/weights.go. The device does what it was told before while bytes are on their way.

// mostAcross is how many bytes of a layer's memory are on the device at once, at
// most, unless one row of it is more.
const mostAcross = 32 << 20

// piece is that, or what Internals.Across says, or less where bindings are small.
func (e *emitter) piece() int64 {
	most := e.bank.across
	if most == 0 {
		most = mostAcross
	}
	return max(4, min(most, e.limits.MaxBinding/4)&^3)
}

// HostMemory holds frames on the host, in slots of equal size, the oldest first. Slots
// are zero until they are written. A pass starts empty.
type HostMemory struct{ Sizes []int64 }

// HostSlot is the place on the host of the frame that a buffer stands for.
type HostSlot struct {
	Of   *HostMemory
	Slot int
}

// HostRows are N bytes of a slot, starting at At.
type HostRows struct {
	HostSlot
	At, N int64
}

// host is the memory of a layer on the host, whose frames are as large as the
// buffers that would be on the device; nil where those are.
func (m *memoryBank) host(layer string) *HostMemory {
	if !m.away {
		return nil
	}
	if m.hosts == nil {
		m.hosts = map[*gpu.Buffer]HostSlot{}
	}
	buffers := m.frames[layer]
	first, ok := m.hosts[buffers[0]]
	if !ok {
		first.Of = &HostMemory{make([]int64, len(buffers))}
		for i, b := range buffers {
			m.hosts[b] = HostSlot{first.Of, i}
		}
	}
	for i, b := range buffers {
		first.Of.Sizes[i] = b.Size
	}
	return first.Of
}

// parking is where frames wait for portions of a depth, and takes so many bytes or
// more.
func (m *memoryBank) parking(depth int, bytes int64) *HostMemory {
	a := m.parked[depth]
	if a == nil {
		a = &HostMemory{make([]int64, 1)}
		if m.parked == nil {
			m.parked = map[int]*HostMemory{}
		}
		m.parked[depth] = a
	}
	a.Sizes[0] = max(a.Sizes[0], bytes)
	return a
}

// park records that all of x goes to the host.
func (g *Graph) park(depth int, x Value) {
	g.record(node{label: "frames", kind: "copy", reads: []Value{x}, emit: func(e *emitter, _ wgsl.Tensor) {
		e.goes(&timeline{away: e.bank.parking(depth, e.x.Bytes())}, 0, allOf(e.x))
	}})
}

// unpark records that frames of it from t on come back, as a value like out.
func (g *Graph) unpark(depth int, out Value, t int) Value {
	return g.record(node{label: "frames", kind: "copy", out: out, emit: func(e *emitter, y wgsl.Tensor) {
		l := &timeline{away: e.bank.parking(depth, 0)}
		first := int64(t) * y.FrameBytes()
		for at, all := int64(0), y.Bytes(); at < all; at += e.piece() {
			l.from = first + at
			e.comes(l, 0, gpu.View{Buffer: y.Buffer, Offset: at, Size: min(e.piece(), all-at)})
		}
	}})
}

// transfer is a step between the commands of a recording: before command number at.
type transfer struct {
	at    int
	step  Step
	view  *gpu.View // that the step moves; nil: none
	bytes int64     // that cross
}

// weight says that a weight crosses.
func (t *transfer) weight() bool {
	in, ok := t.step.(*BringIn)
	if !ok {
		return false
	}
	_, ok = in.From.(HostWeight)
	return ok
}

// heavy says that a node's memory is too much to be on the device at once.
func (e *emitter) heavy(n *node, rows int, x *wgsl.Tensor) bool {
	return (e.bank.away || e.bank.eight) && e.at != Whole && int64(n.keeps*rows)*x.RowBytes() > e.piece()
}

// off has the timeline's memory on the host, if the plan has it there.
func (e *emitter) off(l *timeline, layer string) {
	if l.away = e.bank.host(layer); l.away != nil {
		l.from = l.memory[0].At(0)
	}
}

// fetch brings the memory's rows in.
func (e *emitter) fetch(l *timeline, layer string) {
	if l.away == nil || !l.at.later() {
		return
	}
	for i := range l.memory {
		m := &l.memory[i]
		e.close(layer+" memory", m)
		e.comes(l, i, allOf(*m))
	}
}

// comes brings rows of a slot in.
func (e *emitter) comes(l *timeline, slot int, to gpu.View) {
	s := &BringIn{to, &HostRows{HostSlot{l.away, slot}, l.from, to.Size}}
	e.transfers = append(e.transfers, transfer{len(e.batch.Commands), s, &s.To, to.Size})
}

// goes takes rows out, to a slot.
func (e *emitter) goes(l *timeline, slot int, from gpu.View) {
	for at, most := int64(0), e.piece(); at < from.Size; at += most {
		s := &TakeOut{From: gpu.View{Buffer: from.Buffer, Offset: from.Offset + at, Size: min(most, from.Size-at)}}
		s.To = &HostRows{HostSlot{l.away, slot}, l.from + at, s.From.Size}
		e.transfers = append(e.transfers, transfer{len(e.batch.Commands), s, &s.From, s.From.Size})
	}
}

// keepOnHost takes the rows that are kept out. Those of frames that came before are on
// the host: slots turn, once all bands are made.
func (l *timeline) keepOnHost(e *emitter, label string) {
	before := 0
	if l.at.later() {
		before = max(0, len(l.memory)-l.x.T)
	}
	for i := before; i < len(l.memory); i++ {
		if tap, ok := l.frame(l.x.T - len(l.memory) + i); ok {
			l.sendToHost(e, label+" memory", i-before, tap)
			continue
		}
		e.transfers = append(e.transfers, transfer{at: len(e.batch.Commands), step: &Forget{HostRows{HostSlot{l.away, i - before}, l.from, l.bytes()}}})
	}
	if before > 0 {
		e.turning = &Turn{l.away, len(l.memory) - before}
	}
}

// turned turns the slots of the layer that was made.
func (e *emitter) turned() {
	if e.turning != nil {
		e.transfers = append(e.transfers, transfer{at: len(e.batch.Commands), step: e.turning})
		e.turning = nil
	}
}

// between are the recording's commands as batches, with the transfers between them.
func (r *Recording) between(in map[*gpu.Buffer]*gpu.Buffer) []Step {
	var steps []Step
	done := 0
	batch := func(end int) {
		if end > done {
			steps = append(steps, &RunBatch{&gpu.Batch{Label: r.batch.Label, Commands: r.batch.Commands[done:end]}})
			done = end
		}
	}
	for _, t := range r.transfers {
		batch(t.at)
		if t.view != nil {
			lies(in, t.view)
		}
		steps = append(steps, t.step)
	}
	batch(len(r.batch.Commands))
	return steps
}
