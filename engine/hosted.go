package engine

import (
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// Hosted activations: where a picture's frames are more than the device has room for, the
// largest live on the host. A layer that reads or makes one is made in bands of rows: rows
// come in right before a band, and what it makes goes out right after it. So every layer
// still sees the whole frame, and the result is that of one tile.
//
// The planner tries this last (saving.hosts), in slices that are whole clips of a frame.
//
// A recording gives such a value a buffer that only stands for it, and a slot of memory on
// the host, which values take one after another. Group norms add up the moments of parts
// of a frame anyway, for frames that can't be bound.
//
// The runner has the slots as it has causal memory's.

// mostHosted is how many bytes of what a band reads or makes are on the device, at most,
// unless they are those of one row.
const mostHosted = 128 << 20

// hosting are the values of a recording that live on the host, and the slots that
// recordings share.
type hosting struct {
	above int64               // values of more bytes live there; 0: none do
	slots []*HostMemory       // of one slot each
	of    map[*gpu.Buffer]int // slot of a buffer that stands for a value
	can   map[int]bool        // values of the graph that may
}

// begin looks for what may live on the host of a graph: values of one frame that only
// layers in bands read and make.
func (h *hosting) begin(g *Graph, in, out Value) {
	h.of, h.can = map[*gpu.Buffer]int{}, map[int]bool{}
	if h.above == 0 || g.at != Whole {
		return
	}
	for _, n := range g.nodes {
		if n.out.id != 0 {
			h.can[n.out.id] = n.out.T == 1
		}
	}
	for _, n := range g.nodes {
		if n.reach.per == 0 {
			for _, v := range append(slices.Clone(n.reads), n.onto, n.out) {
				delete(h.can, v.id)
			}
		}
	}
	for _, n := range g.nodes { // which rows a layer reads is said of the first
		for i := 1; i < len(n.reads); i++ {
			delete(h.can, n.reads[i].id)
		}
	}
	delete(h.can, in.id)
	delete(h.can, out.id)
	for _, n := range slices.Backward(g.nodes) { // what lies where another value does
		if h.can[n.out.id] {
			continue
		}
		if delete(h.can, n.onto.id); n.over {
			delete(h.can, n.reads[0].id)
		}
	}
}

// take gives a value a slot, if it is to live on the host.
func (h *hosting) take(label string, v Value, x *wgsl.Tensor) bool {
	if !h.can[v.id] || x.Bytes() <= h.above {
		return false
	}
	free := -1
	for i, s := range h.slots {
		if slices.Contains(h.taken(), i) {
			continue
		}
		if free < 0 || better(s.Sizes[0], h.slots[free].Sizes[0], x.Bytes()) {
			free = i
		}
	}
	if free < 0 {
		free = len(h.slots)
		h.slots = append(h.slots, &HostMemory{make([]int64, 1)})
	}
	h.slots[free].Sizes[0] = max(h.slots[free].Sizes[0], x.Bytes())
	x.Buffer = &gpu.Buffer{Label: label, Size: x.Bytes()}
	h.of[x.Buffer] = free
	return true
}

// better says whether a slot of size a suits n bytes better than one of size b: the
// smallest that has room, else the largest.
func better(a, b, n int64) bool {
	if a >= n && b >= n {
		return a < b
	}
	return a > b
}

// taken are the slots that values have now.
func (h *hosting) taken() (all []int) {
	for _, i := range h.of {
		all = append(all, i)
	}
	return all
}

// give frees the slot of a buffer, if it has one.
func (h *hosting) give(b *gpu.Buffer) bool {
	_, ok := h.of[b]
	delete(h.of, b)
	return ok
}

// bytes are those of all slots.
func (h *hosting) bytes() (all int64) {
	for _, s := range h.slots {
		all += s.Sizes[0]
	}
	return all
}

// hosted says that a tensor, or what it is a part of, lives on the host.
func (e *emitter) hosted(x *wgsl.Tensor) bool {
	_, ok := e.hosts.of[x.Buffer]
	return ok
}

// crowded says that so many rows of x are too much to be on the device at once, for one
// that lives on the host.
func (e *emitter) crowded(x *wgsl.Tensor, rows int) bool {
	return e.hosted(x) && int64(rows)*x.RowBytes() > e.hostedAtMost()
}

func (e *emitter) hostedAtMost() int64 {
	if e.bank.across > 0 {
		return e.bank.across
	}
	return mostHosted
}

// arrive brings rows of x in, to memory of their own for a band.
func (e *emitter) arrive(label string, x *wgsl.Tensor) {
	from, at := x.Buffer, x.At(0)
	e.close(label+" rows", x)
	e.cross(from, at, allOf(*x), true)
}

// depart takes rows out that a band has made of x.
func (e *emitter) depart(x, made *wgsl.Tensor) { e.cross(x.Buffer, x.At(0), allOf(*made), false) }

// cross moves bytes between the device and the slot that a buffer stands for, from byte
// `at` of that on.
func (e *emitter) cross(of *gpu.Buffer, at int64, on gpu.View, in bool) {
	slot := HostSlot{Of: e.hosts.slots[e.hosts.of[of]]}
	for n := int64(0); n < on.Size; n += e.piece() {
		part := gpu.View{Buffer: on.Buffer, Offset: on.Offset + n, Size: min(e.piece(), on.Size-n)}
		rows := &HostRows{slot, at + n, part.Size}
		t := transfer{at: len(e.batch.Commands), bytes: part.Size}
		if in {
			s := &BringIn{part, rows}
			t.step, t.view = s, &s.To
		} else {
			s := &TakeOut{From: part, To: rows}
			t.step, t.view = s, &s.From
		}
		e.transfers = append(e.transfers, t)
	}
}

// brought has a group norm read parts of a frame that lives on the host, each in the place
// of the one before. The first is a pixel, beside which all others are looked at.
type brought struct {
	e          *emitter
	label      string
	x          wgsl.Tensor
	head, part *gpu.Buffer
}

func (b *brought) bring(from, bytes int64) gpu.View {
	b.gone()
	in := b.e.take(b.label+" rows", bytes)
	if b.head == nil {
		b.head = in
	} else {
		b.part = in
	}
	v := gpu.View{Buffer: in, Size: bytes}
	b.e.cross(b.x.Buffer, from, v, true)
	return v
}

// gone gives the part back that was brought last.
func (b *brought) gone() {
	if b.part != nil {
		b.e.arena.give(b.part)
		b.part = nil
	}
}

// end gives back the pixel, too.
func (b *brought) end() {
	if b.gone(); b.head != nil {
		b.e.arena.give(b.head)
	}
}
