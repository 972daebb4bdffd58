package engine

import (
	"context"
	"errors"

	"tessera/gpu"
)

// What takeOuts copy to, at most: so many bytes in all, or one copy, in so many buffers.
const (
	stagingBytes = 64 << 20
	mostStaging  = 64
)

// errStopped: the caller left the loop.
var errStopped = errors.New("engine: stopped")

// leaving are bytes that the device was told to copy to a buffer, for a sink.
type leaving struct {
	from gpu.View
	to   sink
}

// stagings declares what the bytes of a run leave by: as many buffers as there
// are frames in a slice, if they are not many, so that all of them may be on their
// way while the device makes the next.
func stagings(most int64, frames int) (all []*gpu.Buffer) {
	for range max(1, min(frames, mostStaging, int(stagingBytes/most))) {
		all = append(all, &gpu.Buffer{Label: "staging", Size: most, Readback: true})
	}
	return all
}

// leave has the device copy bytes for a sink that gets them when they are there:
// in settle, or before that where somebody has time. It waits where there is no
// room.
func (r *run) leave(ctx context.Context, s *takeOut) error {
	if err := r.settle(ctx, len(r.staging)-1); err != nil {
		return err
	}
	n := int(r.left) % len(r.staging)
	r.left++
	batch := &gpu.Batch{Label: "result"}
	at := gpu.View{Buffer: r.staging[n], Size: s.from.Bytes()}
	batch.Copy("staging", at, s.from)
	if err := r.dev.Submit(ctx, batch); err != nil {
		return err
	}
	r.leaving = append(r.leaving, leaving{at, s.to})
	return nil
}

// settle hands on what leaves until there are no more than `most`.
func (r *run) settle(ctx context.Context, most int) error {
	for len(r.leaving) > most {
		if err := r.hand(ctx); err != nil {
			return err
		}
	}
	return nil
}

// hand waits for what left first and hands it to its sink.
func (r *run) hand(ctx context.Context) error {
	first := r.leaving[0]
	r.leaving = append(r.leaving[:0], r.leaving[1:]...)
	data := r.bytes(first.from.Bytes())
	if err := r.dev.Read(ctx, data, first.from); err != nil {
		return err
	}
	return first.to.put(r, data)
}

// spare hands on what is there while the device has other things to do.
func (r *run) spare(ctx context.Context) error {
	if len(r.leaving) == 0 || !r.dev.Ready(r.leaving[0].from.Buffer) {
		return nil
	}
	return r.hand(ctx)
}

// written settles what is on its way to the frame of a spool that a rectangle
// is of.
func (r *run) written(ctx context.Context, of *rectangle) error {
	for i := len(r.leaving) - 1; i >= 0; i-- {
		if to, ok := r.leaving[i].to.(*rectangle); ok && to.spool == of.spool && to.t == of.t {
			return r.settle(ctx, len(r.leaving)-1-i)
		}
	}
	return nil
}
