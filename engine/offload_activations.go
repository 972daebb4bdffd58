package engine

import (
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// Offloaded activations: if the activations of a picture do not fit on the device, the
// largest live on the host. A layer that reads or writes one runs in bands of rows. The
// rows of a band are uploaded right before it, and its output is downloaded right after
// it. So every layer still sees the whole frame, and the result is that of one tile.
//
// The planner tries this last (saving.hosts), for slices that are clips of one frame.
//
// A recording gives such a value a placeholder buffer and a slot of host memory, which
// values use one after another. Group norms already sum the moments of parts of a frame,
// for frames that cannot be bound at once.
//
// The runner stores the slots like those of causal memory.

// maxHostedBand limits the bytes that a band reads or makes on the device, unless one row
// has more.
const maxHostedBand = 128 << 20

// hostActivations are the values of a recording that live on the host, with the slots,
// which all recordings share.
type hostActivations struct {
	above int64               // larger values live there, in bytes; 0: none do
	slots []*HostMemory       // with one slot each
	of    map[*gpu.Buffer]int // slot of a value's placeholder buffer
	can   map[int]bool        // values of the graph that may live there
}

// begin finds the values of a graph that may live on the host: values of one frame that
// only layers in bands read and make.
func (h *hostActivations) begin(g *Graph, in, out Value) {
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
	for _, n := range g.nodes { // a layer's reach is that of its first input only
		for i := 1; i < len(n.reads); i++ {
			delete(h.can, n.reads[i].id)
		}
	}
	delete(h.can, in.id)
	delete(h.can, out.id)
	for _, n := range slices.Backward(g.nodes) { // values that share another value's memory
		if h.can[n.out.id] {
			continue
		}
		if delete(h.can, n.onto.id); n.over {
			delete(h.can, n.reads[0].id)
		}
	}
}

// alloc gives a value a slot if it should live on the host.
func (h *hostActivations) alloc(label string, v Value, x *wgsl.Tensor) bool {
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

// better reports whether a slot of size a suits n bytes better than one of size b: the
// smallest with room, else the largest.
func better(a, b, n int64) bool {
	if a >= n && b >= n {
		return a < b
	}
	return a > b
}

// taken returns the slots in use.
func (h *hostActivations) taken() (all []int) {
	for _, i := range h.of {
		all = append(all, i)
	}
	return all
}

// free frees a buffer's slot, if it has one.
func (h *hostActivations) free(b *gpu.Buffer) bool {
	_, ok := h.of[b]
	delete(h.of, b)
	return ok
}

// bytes returns the size of all slots.
func (h *hostActivations) bytes() (all int64) {
	for _, s := range h.slots {
		all += s.Sizes[0]
	}
	return all
}

// hosted reports whether a tensor, or the one it is a part of, lives on the host.
func (e *emitter) hosted(x *wgsl.Tensor) bool {
	_, ok := e.hosts.of[x.Buffer]
	return ok
}

// tooManyRows reports whether the given rows of x, which lives on the host, are too many
// to be on the device at once.
func (e *emitter) tooManyRows(x *wgsl.Tensor, rows int) bool {
	return e.hosted(x) && int64(rows)*x.RowBytes() > e.hostedBandLimit()
}

func (e *emitter) hostedBandLimit() int64 {
	if e.bank.across > 0 {
		return e.bank.across
	}
	return maxHostedBand
}

// uploadRows uploads rows of x for a band, to separate memory.
func (e *emitter) uploadRows(label string, x *wgsl.Tensor) {
	from, at := x.Buffer, x.At(0)
	e.close(label+" rows", x)
	e.transferRows(from, at, allOf(*x), true)
}

// downloadRows downloads the rows of x that a band has made.
func (e *emitter) downloadRows(x, made *wgsl.Tensor) {
	e.transferRows(x.Buffer, x.At(0), allOf(*made), false)
}

// transferRows moves bytes between the device and the host slot of a placeholder buffer,
// from byte `at` of the slot on.
func (e *emitter) transferRows(of *gpu.Buffer, at int64, on gpu.View, in bool) {
	slot := HostSlot{Of: e.hosts.slots[e.hosts.of[of]]}
	for n := int64(0); n < on.Size; n += e.transferLimit() {
		part := gpu.View{Buffer: on.Buffer, Offset: on.Offset + n, Size: min(e.transferLimit(), on.Size-n)}
		rows := &HostRows{slot, at + n, part.Size}
		t := transfer{at: len(e.batch.Commands), bytes: part.Size}
		if in {
			s := &Upload{part, rows}
			t.step, t.view = s, &s.To
		} else {
			s := &Download{From: part, To: rows}
			t.step, t.view = s, &s.From
		}
		e.transfers = append(e.transfers, t)
	}
}

// hostReader uploads parts of a frame that lives on the host for a group norm; each
// replaces the one before. The first part is a pixel, the norm's pivot, which stays until
// close.
type hostReader struct {
	e          *emitter
	label      string
	x          wgsl.Tensor
	head, part *gpu.Buffer
}

func (b *hostReader) read(from, bytes int64) gpu.View {
	b.release()
	in := b.e.alloc(b.label+" rows", bytes)
	if b.head == nil {
		b.head = in
	} else {
		b.part = in
	}
	v := gpu.View{Buffer: in, Size: bytes}
	b.e.transferRows(b.x.Buffer, from, v, true)
	return v
}

// release frees the last part.
func (b *hostReader) release() {
	if b.part != nil {
		b.e.arena.free(b.part)
		b.part = nil
	}
}

// close also frees the pixel.
func (b *hostReader) close() {
	if b.release(); b.head != nil {
		b.e.arena.free(b.head)
	}
}
