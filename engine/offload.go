package engine

import (
	"tessera/gpu"
	"tessera/wgsl"
)

// Offload: if the device has no room for them, causal memory and frames that wait for a
// portion live on the host (this file), and so do large weights (offload_weights.go) and
// activations of pictures (offload_activations.go).
//
// The planner (offload_plan.go) decides whether offload is allowed, refuses what does not
// fit on the host, and counts the bytes there and the transfers. Offload is the last
// saving that it tries (savings.go).
//
// A recording runs a layer with causal memory in bands of rows. It uploads the memory's
// rows right before a band, and downloads the new ones right after it. It uploads a
// weight before each layer that reads it, into memory that activations do not use at that
// time. These transfers are steps between the commands of the recording's batch.
//
// The runner stores the bytes: causal memory in runner/host.go, weights in
// runner/weights.go. The device executes earlier commands during a transfer.

// maxTransfer limits the bytes of a layer's memory that are on the device at once, unless
// one row is larger.
const maxTransfer = 32 << 20

// transferLimit returns maxTransfer or Internals.Across, or less if bindings are small.
func (e *emitter) transferLimit() int64 {
	most := e.bank.across
	if most == 0 {
		most = maxTransfer
	}
	return max(4, min(most, e.limits.MaxBinding/4)&^3)
}

// HostMemory holds frames on the host, in slots of equal size, the oldest first. Slots
// are zero until they are written. A pass starts empty.
type HostMemory struct{ Sizes []int64 }

// HostSlot is the host location of the frame that a buffer stands for.
type HostSlot struct {
	Of   *HostMemory
	Slot int
}

// HostRows are N bytes of a slot, starting at At.
type HostRows struct {
	HostSlot
	At, N int64
}

// host returns a layer's memory on the host, with frames of the size of the placeholder
// buffers; nil if the memory is on the device.
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

// parkedFrames returns the host memory of frames that wait for portions of a depth, with
// slots of at least the given bytes.
func (m *memoryBank) parkedFrames(depth int, bytes int64) *HostMemory {
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

// park records the download of x.
func (g *Graph) park(depth int, x Value) {
	g.record(node{label: "frames", kind: "copy", reads: []Value{x}, emit: func(e *emitter, _ wgsl.Tensor) {
		e.downloadSlot(&timeline{away: e.bank.parkedFrames(depth, e.x.Bytes())}, 0, allOf(e.x))
	}})
}

// unpark records the upload of parked frames from t on, as a value like out.
func (g *Graph) unpark(depth int, out Value, t int) Value {
	return g.record(node{label: "frames", kind: "copy", out: out, emit: func(e *emitter, y wgsl.Tensor) {
		l := &timeline{away: e.bank.parkedFrames(depth, 0)}
		first := int64(t) * y.FrameBytes()
		for at, all := int64(0), y.Bytes(); at < all; at += e.transferLimit() {
			l.from = first + at
			e.uploadSlot(l, 0, gpu.View{Buffer: y.Buffer, Offset: at, Size: min(e.transferLimit(), all-at)})
		}
	}})
}

// transfer is a step between the commands of a recording: before command number at.
type transfer struct {
	at    int
	step  Step
	view  *gpu.View // memory on the device; nil: none
	bytes int64     // transferred bytes
}

// weight reports whether the transfer is a weight's.
func (t *transfer) weight() bool {
	in, ok := t.step.(*Upload)
	if !ok {
		return false
	}
	_, ok = in.From.(HostWeight)
	return ok
}

// exceedsTransfer reports whether a node's causal memory is too large to be on the device at
// once.
func (e *emitter) exceedsTransfer(n *node, rows int, x *wgsl.Tensor) bool {
	return (e.bank.away || e.bank.i8) && e.at != Whole && int64(n.keeps*rows)*x.RowBytes() > e.transferLimit()
}

// useHost gives the timeline its memory on the host, if the plan offloads it.
func (e *emitter) useHost(l *timeline, layer string) {
	if l.away = e.bank.host(layer); l.away != nil {
		l.from = l.memory[0].At(0)
	}
}

// fetch uploads the memory's rows.
func (e *emitter) fetch(l *timeline, layer string) {
	if l.away == nil || !l.at.later() {
		return
	}
	for i := range l.memory {
		m := &l.memory[i]
		e.close(layer+" memory", m)
		e.uploadSlot(l, i, allOf(*m))
	}
}

// uploadSlot uploads rows of a slot.
func (e *emitter) uploadSlot(l *timeline, slot int, to gpu.View) {
	s := &Upload{to, &HostRows{HostSlot{l.away, slot}, l.from, to.Size}}
	e.transfers = append(e.transfers, transfer{len(e.batch.Commands), s, &s.To, to.Size})
}

// downloadSlot downloads rows to a slot.
func (e *emitter) downloadSlot(l *timeline, slot int, from gpu.View) {
	for at, most := int64(0), e.transferLimit(); at < from.Size; at += most {
		s := &Download{From: gpu.View{Buffer: from.Buffer, Offset: from.Offset + at, Size: min(most, from.Size-at)}}
		s.To = &HostRows{HostSlot{l.away, slot}, l.from + at, s.From.Size}
		e.transfers = append(e.transfers, transfer{len(e.batch.Commands), s, &s.From, s.From.Size})
	}
}

// keepOnHost downloads the rows to keep. Rows of earlier frames are on the host already: the
// slots rotate once all bands are done.
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
		e.transfers = append(e.transfers, transfer{at: len(e.batch.Commands), step: &Clear{HostRows{HostSlot{l.away, i - before}, l.from, l.bytes()}}})
	}
	if before > 0 {
		e.rotation = &Rotate{l.away, len(l.memory) - before}
	}
}

// rotate rotates the slots of the current layer, if it has any.
func (e *emitter) rotate() {
	if e.rotation != nil {
		e.transfers = append(e.transfers, transfer{at: len(e.batch.Commands), step: e.rotation})
		e.rotation = nil
	}
}

// between returns the recording's commands as batches, with the transfers between them.
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
			resolve(in, t.view)
		}
		steps = append(steps, t.step)
	}
	batch(len(r.batch.Commands))
	return steps
}
