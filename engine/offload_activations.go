package engine

import (
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// Offloaded activations: if the activations of a picture do not fit on the device, the
// largest live on the host. A layer that reads or writes one runs in bands of rows. The rows
// of a band are uploaded right before it, and its output is downloaded right after it. So
// every layer still sees the whole frame, and the result is that of one tile.
//
// The planner tries this last (saving.hosts), for slices that are clips of one frame.
//
// A recording gives such a value a placeholder buffer and a slot of host memory, which
// values use one after another. Group norms already add up the moments of parts of a
// frame, for frames that can't be bound.
//
// The runner stores the slots like those of causal memory.

// maxHostedBand limits the bytes that a band reads or makes on the device, unless they are
// those of one row.
const maxHostedBand = 128 << 20

// hostActivations are the values of a recording that live on the host, and the slots, which
// all recordings share.
type hostActivations struct {
	above int64               // values of more bytes live there; 0: none do
	slots []*HostMemory       // of one slot each
	of    map[*gpu.Buffer]int // slot of a buffer that stands for a value
	can   map[int]bool        // values of the graph that may
}

// begin looks for what may live on the host of a graph: values of one frame that only
// layers in bands read and make.
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

// alloc gives a value a slot, if it is to live on the host.
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

// better says whether a slot of size a suits n bytes better than one of size b: the
// smallest that has room, else the largest.
func better(a, b, n int64) bool {
	if a >= n && b >= n {
		return a < b
	}
	return a > b
}

// taken are the slots that values have now.
func (h *hostActivations) taken() (all []int) {
	for _, i := range h.of {
		all = append(all, i)
	}
	return all
}

// free frees the slot of a buffer, if it has one.
func (h *hostActivations) free(b *gpu.Buffer) bool {
	_, ok := h.of[b]
	delete(h.of, b)
	return ok
}

// bytes are those of all slots.
func (h *hostActivations) bytes() (all int64) {
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

// tooManyRows reports whether so many rows of x, which lives on the host, are too many to be
// on the device at once.
func (e *emitter) tooManyRows(x *wgsl.Tensor, rows int) bool {
	return e.hosted(x) && int64(rows)*x.RowBytes() > e.hostedBandLimit()
}

func (e *emitter) hostedBandLimit() int64 {
	if e.bank.across > 0 {
		return e.bank.across
	}
	return maxHostedBand
}

// uploadRows uploads rows of x for a band, to memory of their own.
func (e *emitter) uploadRows(label string, x *wgsl.Tensor) {
	from, at := x.Buffer, x.At(0)
	e.close(label+" rows", x)
	e.transferRows(from, at, allOf(*x), true)
}

// downloadRows downloads the rows of x that a band has made.
func (e *emitter) downloadRows(x, made *wgsl.Tensor) {
	e.transferRows(x.Buffer, x.At(0), allOf(*made), false)
}

// transferRows moves bytes between the device and the host slot of a placeholder buffer, from
// byte `at` of the slot on.
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

// hostReader uploads parts of a frame that lives on the host for a group norm, each in place
// of the one before. The first part is a pixel, the norm's pivot, which stays until close.
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

// release frees the part that was read last.
func (b *hostReader) release() {
	if b.part != nil {
		b.e.arena.free(b.part)
		b.part = nil
	}
}

// close frees the pixel, too.
func (b *hostReader) close() {
	if b.release(); b.head != nil {
		b.e.arena.free(b.head)
	}
}
