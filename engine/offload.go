package engine

import (
	"context"
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

// away is a layer's memory on the host. A slot is a frame, the oldest first.
type away struct{ slots []*hosted }

// hosted is a frame on the host: zeros, until something is put there.
type hosted struct {
	size int64
	data []byte
}

func (h *hosted) bytes() []byte {
	if h.data == nil {
		h.data = make([]byte, h.size)
	}
	return h.data
}

// hostedAs is where on the host the frame is that a buffer stands for.
type hostedAs struct {
	away *away
	slot int
}

// host is the memory of a layer on the host, whose frames are as large as the
// buffers that would be on the device; nil where those are.
func (m *memoryBank) host(layer string) *away {
	if !m.away {
		return nil
	}
	if m.hosts == nil {
		m.hosts = map[*gpu.Buffer]hostedAs{}
	}
	buffers := m.frames[layer]
	first, ok := m.hosts[buffers[0]]
	if !ok {
		first.away = &away{}
		for i, b := range buffers {
			first.away.slots = append(first.away.slots, &hosted{})
			m.hosts[b] = hostedAs{first.away, i}
		}
	}
	for i, b := range buffers {
		first.away.slots[i].size = b.Size
	}
	return first.away
}

// free lets go of what is on the host.
func (m *memoryBank) free() {
	for _, h := range m.hosts {
		h.away.slots[h.slot].data = nil
	}
	for _, a := range m.parked {
		a.slots[0].data = nil
	}
}

// parking is where frames wait for portions of a depth, and takes so many bytes or
// more.
func (m *memoryBank) parking(depth int, bytes int64) *away {
	a := m.parked[depth]
	if a == nil {
		a = &away{slots: []*hosted{{}}}
		if m.parked == nil {
			m.parked = map[int]*away{}
		}
		m.parked[depth] = a
	}
	a.slots[0].size = max(a.slots[0].size, bytes)
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

// comeIn brings rows of a slot in, which begin at a byte of it.
type comeIn struct {
	to   gpu.View
	from *away
	slot int
	at   int64
}

func (s *comeIn) do(ctx context.Context, r *run) error {
	h, n := s.from.slots[s.slot], s.to.Bytes()
	if err := r.landed(ctx, h, s.at, n); err != nil {
		return err
	}
	return r.dev.Write(s.to, h.bytes()[s.at:][:n])
}

// goOut takes rows out, to a slot.
type goOut struct {
	from gpu.View
	to   *away
	slot int
	at   int64
}

func (s *goOut) do(ctx context.Context, r *run) error {
	return (&takeOut{from: s.from, to: &landing{s.to.slots[s.slot], s.at, s.from.Bytes()}}).do(ctx, r)
}

// landing is a sink: bytes of a frame on the host.
type landing struct {
	to    *hosted
	at, n int64
}

func (l *landing) put(_ *run, data []byte) error {
	copy(l.to.bytes()[l.at:], data)
	return nil
}

// landed settles what is on its way to n bytes of a frame from `at` on.
func (r *run) landed(ctx context.Context, h *hosted, at, n int64) error {
	for i := len(r.leaving) - 1; i >= 0; i-- {
		if l, ok := r.leaving[i].to.(*landing); ok && l.to == h && l.at < at+n && at < l.at+l.n {
			return r.settle(ctx, len(r.leaving)-1-i)
		}
	}
	return nil
}

// forget makes n bytes of a slot zeros.
type forget struct {
	of    *away
	slot  int
	at, n int64
}

func (s *forget) do(ctx context.Context, r *run) error {
	h := s.of.slots[s.slot]
	if err := r.landed(ctx, h, s.at, s.n); err != nil {
		return err
	}
	clear(h.bytes()[s.at:][:s.n])
	return nil
}

// turn makes the slot after the n oldest the oldest: those came to hold the latest.
type turn struct {
	of *away
	n  int
}

func (s *turn) do(context.Context, *run) error {
	all := s.of.slots
	s.of.slots = append(append(make([]*hosted, 0, len(all)), all[s.n:]...), all[:s.n]...)
	return nil
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
	s := &comeIn{to, l.away, slot, l.from}
	e.transfers = append(e.transfers, transfer{len(e.batch.Commands), s, &s.to, to.Size})
}

// goes takes rows out, to a slot.
func (e *emitter) goes(l *timeline, slot int, from gpu.View) {
	for at, most := int64(0), e.piece(); at < from.Size; at += most {
		s := &goOut{gpu.View{Buffer: from.Buffer, Offset: from.Offset + at, Size: min(most, from.Size-at)}, l.away, slot, l.from + at}
		e.transfers = append(e.transfers, transfer{len(e.batch.Commands), s, &s.from, s.from.Size})
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
		e.transfers = append(e.transfers, transfer{at: len(e.batch.Commands), step: &forget{l.away, i - before, l.from, l.bytes()}})
	}
	if before > 0 {
		e.turning = &turn{l.away, len(l.memory) - before}
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
			steps = append(steps, &runBatch{&gpu.Batch{Label: r.batch.Label, Commands: r.batch.Commands[done:end]}})
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
	for _, w := range p.passes {
		if bank := w.recordings.memory; bank.away {
			host := sum(bank.order)
			for _, a := range bank.parked {
				host += a.slots[0].size
			}
			p.Host = max(p.Host, host)
		}
		p.streamed = append(p.streamed, w.recordings.streamed...)
		recordings, times := w.times()
		for _, r := range recordings {
			for _, t := range r.transfers {
				p.Moved += times[r] * t.bytes
				if _, in := t.step.(*bringWeight); !in {
					p.piece = max(p.piece, t.bytes)
				}
			}
		}
	}
	p.Streamed = sum(p.streamed)
	p.Host += p.Streamed
}

// out reads what a view of causal memory is, wherever that lives; in writes it.
func (r *run) out(ctx context.Context, bank *memoryBank, b []byte, v gpu.View) error {
	if h, ok := bank.hosts[v.Buffer]; ok {
		copy(b, h.away.slots[h.slot].bytes()[v.Offset:])
		return nil
	}
	return r.dev.Read(ctx, b, v)
}

func (r *run) in(bank *memoryBank, v gpu.View, b []byte) error {
	if h, ok := bank.hosts[v.Buffer]; ok {
		copy(h.away.slots[h.slot].bytes()[v.Offset:], b)
		return nil
	}
	return r.dev.Write(v, b)
}
