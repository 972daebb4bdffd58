package runner

import (
	"context"
	"errors"
	"fmt"

	"tessera/engine"
	"tessera/gpu"
	"tessera/wgsl"
)

// errStopped means that the caller left the loop.
var errStopped = errors.New("runner: stopped")

// sink receives bytes. It may use data until put returns.
type sink interface {
	put(data []byte) error
}

// sinkFunc is a function as a sink.
type sinkFunc func(data []byte) error

func (f sinkFunc) put(data []byte) error { return f(data) }

// sink returns the sink of a download. For a frame on the host it is the frame that is in
// the slot now, because slots rotate.
func (r *run) sink(to engine.Sink) sink {
	switch to := to.(type) {
	case *engine.Rectangle:
		return &spooling{r.spools[to.Spool], to}
	case *engine.Crop:
		return sinkFunc(func(data []byte) error { return write(r.spools[to.To.Spool], to.To, cropped(to, data)) })
	case *engine.HostRows:
		return &hostSink{r.host.frame(to.HostSlot), to.At, to.N}
	case *engine.ResultRows:
		return sinkFunc(func(data []byte) error { return r.result(to, data) })
	case *engine.PreviewRows:
		return sinkFunc(func(data []byte) error { return r.preview(to, data) })
	case *engine.LinearTile:
		return sinkFunc(func(data []byte) error { return r.fade(to, data) })
	}
	panic(fmt.Sprintf("runner: sink %T", to))
}

// readback is a submitted copy to a readback buffer, for a sink.
type readback struct {
	from gpu.View
	to   sink
}

// readback submits a copy for a sink, which receives the bytes once they have arrived: in
// settle, or before that in finishReady. It waits if all readback buffers are in use.
func (r *run) readback(ctx context.Context, from gpu.View, to sink) error {
	if err := r.settle(ctx, len(r.staging)-1); err != nil {
		return err
	}
	n := int(r.begun) % len(r.staging)
	r.begun++
	batch := &gpu.Batch{Label: "result"}
	at := gpu.View{Buffer: r.staging[n], Size: from.Bytes()}
	batch.Copy("staging", at, from)
	if err := r.dev.Submit(ctx, batch); err != nil {
		return err
	}
	r.readbacks = append(r.readbacks, readback{at, to})
	return nil
}

// settle finishes readbacks until at most `most` remain.
func (r *run) settle(ctx context.Context, most int) error {
	for len(r.readbacks) > most {
		if err := r.finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// finish waits for the oldest readback and passes its bytes to the sink.
func (r *run) finish(ctx context.Context) error {
	first := r.readbacks[0]
	r.readbacks = append(r.readbacks[:0], r.readbacks[1:]...)
	data := r.bytes(first.from.Bytes())
	if err := r.dev.Read(ctx, data, first.from); err != nil {
		return err
	}
	return first.to.put(data)
}

// finishReady finishes the oldest readback if it has arrived, while the device is busy.
func (r *run) finishReady(ctx context.Context) error {
	if len(r.readbacks) == 0 || !r.dev.Ready(r.readbacks[0].from.Buffer) {
		return nil
	}
	return r.finish(ctx)
}

// settleSpool finishes the readbacks to the spool's frame that contains a rectangle.
func (r *run) settleSpool(ctx context.Context, of *engine.Rectangle) error {
	return r.settleMatching(ctx, func(to sink) bool {
		s, ok := to.(*spooling)
		return ok && s.to.Spool == of.Spool && s.to.T == of.T
	})
}

// settleMatching finishes readbacks up to the last one with such a sink.
func (r *run) settleMatching(ctx context.Context, like func(to sink) bool) error {
	for i := len(r.readbacks) - 1; i >= 0; i-- {
		if like(r.readbacks[i].to) {
			return r.settle(ctx, len(r.readbacks)-1-i)
		}
	}
	return nil
}

// result passes rows of the result to the caller.
func (r *run) result(to *engine.ResultRows, data []byte) error {
	b := Band{Frame: to.Frame, Y: to.Y, Rows: to.Rows, Last: to.Last, Width: to.Width}
	if to.Form == engine.RGBA8 {
		if err := checkFinite(data); err != nil {
			return err
		}
		r.pixels = append(r.pixels[:0], data...)
		b.RGBA = r.pixels
		return r.give(b)
	}
	n := to.Rows * to.Width * wgsl.Pad4(to.C)
	if cap(r.floats) < n {
		r.floats = make([]float32, n)
	}
	b.Floats = r.floats[:n]
	engine.Decode(b.Floats, data, to.Elem)
	for _, f := range b.Floats {
		if f-f != 0 {
			return ErrOverflow
		}
	}
	return r.give(b)
}

// preview passes a tile's frame to Watch.Preview when all its rows have arrived.
func (r *run) preview(to *engine.PreviewRows, data []byte) error {
	if err := checkFinite(data); err != nil {
		return err
	}
	if to.Rows < to.Height {
		if to.From == 0 {
			r.picture = r.picture[:0]
		}
		r.picture = append(r.picture, data...)
		data = r.picture
	}
	if to.From+to.Rows < to.Height {
		return nil
	}
	return r.watch.Preview(Preview{Tile: to.Tile, Frame: to.Frame, Y: to.Y, X: to.X, Height: to.Height, Width: to.Width, RGBA: data})
}

// checkFinite checks 8-bit pixels: the kernel stores alpha 0 for a pixel that is not
// finite.
func checkFinite(pixels []byte) error {
	for i := 3; i < len(pixels); i += 4 {
		if pixels[i] == 0 {
			return ErrOverflow
		}
	}
	return nil
}
