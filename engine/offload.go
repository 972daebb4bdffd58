package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"tessera/gpu"
	"tessera/memory"
	"tessera/tiling"
	"tessera/wgsl"
)

// Where the device has no room for causal memory, it lives on the host: a layer is
// made in bands of rows, right before each of which the memory's rows come in, and
// those that are kept leave right after it. The device does what it was told before
// while bytes are on their way.

// mostAcross is how many bytes of a layer's memory are on the device at once, at
// most, unless one row of it is more.
const mostAcross = 32 << 20

// piece is that, or what Options.Across says, or less where bindings are small.
func (e *emitter) piece() int64 {
	most := e.bank.across
	if most == 0 {
		most = mostAcross
	}
	return max(4, min(most, e.limits.MaxBinding/4)&^3)
}

// HostMemory is memory of frames on the host, in slots of so many bytes, the oldest
// first: zeros, until something is put there. A pass begins without any.
type HostMemory struct{ Sizes []int64 }

// HostSlot is where on the host the frame is that a buffer stands for.
type HostSlot struct {
	Of   *HostMemory
	Slot int
}

// HostRows are N bytes of a slot from At on.
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

// leaves takes the rows that are kept out. Those of frames that came before are on
// the host: slots turn, once all bands are made.
func (l *timeline) leaves(e *emitter, label string) {
	before := 0
	if l.at.later() {
		before = max(0, len(l.memory)-l.x.T)
	}
	for i := before; i < len(l.memory); i++ {
		if tap, ok := l.frame(l.x.T - len(l.memory) + i); ok {
			l.leaving(e, label+" memory", i-before, tap)
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

// ways are those that there are, the quickest first.
func (p *planner) ways() []way {
	deepest := p.deepest()
	var ways []way
	for _, away := range []bool{false, true} {
		if away && !p.mayOffload() || !away && p.o.Offload == OffloadOn && p.mayOffload() {
			continue
		}
		for depth := range deepest + 1 {
			ways = append(ways, p.resident(way{depth: depth, away: away})...)
		}
		ways = append(ways, p.resident(way{depth: deepest, away: away, rows: true})...)
	}
	if p.mayOffload() {
		ways = append(ways, way{depth: deepest, streams: math.MaxInt, away: true, rows: true})
	}
	return ways
}

// resident is a way, and the same without the weights that a slice uses once.
func (p *planner) resident(w way) []way {
	ways := []way{w}
	if p.mayUseHost() {
		w.streams = 1
		ways = append(ways, w)
	}
	return ways
}

// least plans a job at one tile size for the least memory: on the device alone where
// the host has no room.
func (p *planner) least(tile tiling.Size) (l *Plan, err error) {
	for _, w := range slices.Backward(p.ways()) {
		if w.depth < p.deepest() {
			continue
		}
		if l, err = p.portioned(tile, w); !errors.Is(err, ErrMemory) {
			break
		}
	}
	return l, err
}

// mayOffload says whether causal memory may live on the host: where there is some.
func (p *planner) mayOffload() bool {
	return p.mayUseHost() && !p.Independent && p.Frames > p.First(p.o.Chunk*p.InFrames)
}

// mayUseHost says whether something may live there: by itself where the device has
// memory of its own.
func (p *planner) mayUseHost() bool {
	return p.o.Offload == OffloadOn || p.o.Offload != OffloadOff && p.Adapter.Type == "discrete"
}

// offload holds that the options for it are right, and has the host's budget set.
func (o *Options) offload() error {
	if !slices.Contains([]Offload{"", OffloadAuto, OffloadOn, OffloadOff}, o.Offload) {
		return fmt.Errorf("engine: offload %.20q, expected auto, on or off", string(o.Offload))
	}
	o.Host = o.HostBudget()
	return nil
}

// HostBudget is what a job may take of the host, by default three quarters of what is
// free there. Where that is not known, 2 GiB, or all that somebody asks for.
func (o Options) HostBudget() int64 {
	free, known := memory.Free()
	switch {
	case o.Host > 0:
		return o.Host
	case known:
		return free / 4 * 3
	case o.Offload == OffloadOn:
		return math.MaxInt64
	}
	return 2 << 30
}

// HostFree is how much must be free on the host for HostBudget to be so much.
func HostFree(budget int64) int64 { return (budget + 2) / 3 * 4 }

// hosted adds up what lives on the host, and what crosses; an error says that there is
// no room.
func (p *planner) hosted(l *Plan) error {
	l.count()
	if l.Host > p.o.Host {
		return fmt.Errorf("engine: what the %s keeps beside the device needs %s of the machine's memory, of which %s may be taken: %w",
			p.Network.Name, Bytes(l.Host), Bytes(p.o.Host), ErrHost)
	}
	return nil
}

// count adds up what lives on the host, and what crosses.
func (p *Plan) count() {
	for _, w := range p.Work.Passes {
		if bank := w.recordings.memory; bank.away {
			host := sum(bank.order)
			for _, a := range bank.parked {
				host += a.Sizes[0]
			}
			p.Host = max(p.Host, host)
		}
		p.Work.Streamed = append(p.Work.Streamed, w.recordings.streamed...)
		recordings, times := w.times()
		for _, r := range recordings {
			for _, t := range r.transfers {
				p.Moved += times[r] * t.bytes
				if !t.weight() {
					p.Work.Piece = max(p.Work.Piece, t.bytes)
				}
			}
		}
	}
	p.Streamed = sum(p.Work.Streamed)
	p.Host += p.Streamed
}
