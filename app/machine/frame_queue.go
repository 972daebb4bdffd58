package machine

import "tessera/vae"

// queued is how many frames are with who takes them: one that is being taken,
// and one that waits.
const queued = 2

// mostQueued is how large a frame may be to wait, in bytes.
const mostQueued = 64 << 20

// frameQueue has frames taken while the device makes the next ones: a file, a
// compressor or a pipe may take longer over one than the device has work for.
type frameQueue struct {
	to     Taker
	frames chan vae.Frame // in their own memory
	free   chan vae.Frame // that memory
	done   chan struct{}  // then err holds
	err    error
}

// queueFrames begins one; end ends it.
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

// take hands a frame over, which is the caller's again. Its error may be of one
// before.
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

// copied is v in the memory of to, nil where it is nil.
func copied[T any](to, v []T) []T {
	if v == nil {
		return nil
	}
	return append(to[:0], v...)
}

// end waits until all frames are taken.
func (h *frameQueue) end() error {
	close(h.frames)
	<-h.done
	return h.err
}
