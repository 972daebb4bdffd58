package machine

import "tessera/vae"

// queued is how many frames the taker may have: one in progress and one that waits.
const queued = 2

// mostQueued is the largest frame that may wait, in bytes.
const mostQueued = 64 << 20

// frameQueue passes frames to a taker while the device computes the next ones, because a
// file, a compressor or a pipe may take longer over one frame than the device has work
// for.
type frameQueue struct {
	to     Taker
	frames chan vae.Frame // in the queue's memory
	free   chan vae.Frame // unused memory
	done   chan struct{}  // closed when err is set
	err    error
}

// queueFrames starts a queue; end ends it.
func queueFrames(to Taker) *frameQueue {
	h := &frameQueue{to: to, frames: make(chan vae.Frame, queued), free: make(chan vae.Frame, queued), done: make(chan struct{})}
	for range queued {
		h.free <- vae.Frame{}
	}
	go func() {
		defer close(h.done)
		for f := range h.frames {
			if h.err = to.Take(f); h.err != nil {
				return
			}
			h.free <- f
		}
	}()
	return h
}

// take queues a copy of a frame. Its error may come from an earlier frame.
func (h *frameQueue) take(f vae.Frame) error {
	if len(f.RGBA)+4*len(f.Pixels) > mostQueued {
		return h.to.Take(f)
	}
	select {
	case own := <-h.free:
		own.Index, own.Height, own.Width = f.Index, f.Height, f.Width
		own.RGBA, own.Pixels = copied(own.RGBA, f.RGBA), copied(own.Pixels, f.Pixels)
		h.frames <- own
		return nil
	case <-h.done:
		return h.err
	}
}

// copied copies v into the memory of to; nil stays nil.
func copied[T any](to, v []T) []T {
	if v == nil {
		return nil
	}
	return append(to[:0], v...)
}

// end waits until the taker has all frames.
func (h *frameQueue) end() error {
	close(h.frames)
	<-h.done
	return h.err
}
