package runner

import (
	"context"

	"tessera/engine"
	"tessera/gpu"
)

// hostMemory is the causal memory on the host, of the current tile.
type hostMemory map[*engine.HostMemory][]*hostFrame

// hostFrame is the content of a slot: zeros until something is written.
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

// slots returns a layer's frames, the oldest first.
func (h hostMemory) slots(of *engine.HostMemory) []*hostFrame {
	if h[of] == nil {
		for _, size := range of.Sizes {
			h[of] = append(h[of], &hostFrame{size: size})
		}
	}
	return h[of]
}

func (h hostMemory) frame(at engine.HostSlot) *hostFrame { return h.slots(at.Of)[at.Slot] }

// rotate moves the n oldest slots behind the others.
func (h hostMemory) rotate(of *engine.HostMemory, n int) {
	all := h.slots(of)
	h[of] = append(append(make([]*hostFrame, 0, len(all)), all[n:]...), all[:n]...)
}

// hostSink is a sink that stores bytes of a frame on the host.
type hostSink struct {
	to    *hostFrame
	at, n int64
}

func (l *hostSink) put(data []byte) error {
	copy(l.to.bytes()[l.at:], data)
	return nil
}

// hostBytes returns bytes of a frame on the host, after the readbacks to them have
// arrived.
func (r *run) hostBytes(ctx context.Context, of *engine.HostRows) ([]byte, error) {
	h := r.host.frame(of.HostSlot)
	err := r.settleMatching(ctx, func(to sink) bool {
		l, ok := to.(*hostSink)
		return ok && l.to == h && l.at < of.At+of.N && of.At < l.at+l.n
	})
	return h.bytes()[of.At:][:of.N], err
}

// clearHost zeroes bytes of a frame on the host.
func (r *run) clearHost(ctx context.Context, of *engine.HostRows) error {
	data, err := r.hostBytes(ctx, of)
	if err != nil {
		return err
	}
	clear(data)
	return nil
}

// readMemory reads a view of a pass's causal memory, on the device or on the host;
// writeMemory writes it.
func (r *run) readMemory(ctx context.Context, w *engine.Pass, b []byte, v gpu.View) error {
	if at, ok := w.OnHost(v.Buffer); ok {
		copy(b, r.host.frame(at).bytes()[v.Offset:])
		return nil
	}
	return r.dev.Read(ctx, b, v)
}

func (r *run) writeMemory(w *engine.Pass, v gpu.View, b []byte) error {
	if at, ok := w.OnHost(v.Buffer); ok {
		copy(r.host.frame(at).bytes()[v.Offset:], b)
		return nil
	}
	return r.dev.Write(v, b)
}
