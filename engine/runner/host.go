package runner

import (
	"context"

	"tessera/engine"
	"tessera/gpu"
)

// hostMemory is causal memory on the host, of the tile that is worked on.
type hostMemory map[*engine.HostMemory][]*hostFrame

// hostFrame is what a slot has: zeros, until something is put there.
type hostFrame struct {
	size int64
	data []byte
}

func (h *hostFrame) bytes() []byte {
	if h.data == nil {
		h.data = make([]byte, h.size)
	}
	return h.data
}

// slots are the frames of a layer, the oldest first.
func (h hostMemory) slots(of *engine.HostMemory) []*hostFrame {
	if h[of] == nil {
		for _, size := range of.Sizes {
			h[of] = append(h[of], &hostFrame{size: size})
		}
	}
	return h[of]
}

func (h hostMemory) frame(at engine.HostSlot) *hostFrame { return h.slots(at.Of)[at.Slot] }

// turn makes the slot after the n oldest the oldest.
func (h hostMemory) turn(of *engine.HostMemory, n int) {
	all := h.slots(of)
	h[of] = append(append(make([]*hostFrame, 0, len(all)), all[n:]...), all[:n]...)
}

// landing is a sink: bytes of a frame on the host.
type landing struct {
	to    *hostFrame
	at, n int64
}

func (l *landing) put(data []byte) error {
	copy(l.to.bytes()[l.at:], data)
	return nil
}

// rows are bytes of a frame on the host, when what is on its way to them is there.
func (r *run) rows(ctx context.Context, of *engine.HostRows) ([]byte, error) {
	h := r.host.frame(of.HostSlot)
	err := r.through(ctx, func(to sink) bool {
		l, ok := to.(*landing)
		return ok && l.to == h && l.at < of.At+of.N && of.At < l.at+l.n
	})
	return h.bytes()[of.At:][:of.N], err
}

// forget makes bytes of a frame on the host zeros.
func (r *run) forget(ctx context.Context, of *engine.HostRows) error {
	data, err := r.rows(ctx, of)
	if err != nil {
		return err
	}
	clear(data)
	return nil
}

// out reads what a view of a pass's causal memory is, wherever that lives; in writes it.
func (r *run) out(ctx context.Context, w *engine.Pass, b []byte, v gpu.View) error {
	if at, ok := w.OnHost(v.Buffer); ok {
		copy(b, r.host.frame(at).bytes()[v.Offset:])
		return nil
	}
	return r.dev.Read(ctx, b, v)
}

func (r *run) in(w *engine.Pass, v gpu.View, b []byte) error {
	if at, ok := w.OnHost(v.Buffer); ok {
		copy(r.host.frame(at).bytes()[v.Offset:], b)
		return nil
	}
	return r.dev.Write(v, b)
}
