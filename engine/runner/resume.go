package runner

import (
	"context"
	"io"
	"math"
	"time"

	"tessera/engine"
	"tessera/gpu"
)

// Keeper stores the causal memory of all tiles between runs of a plan.
type Keeper interface {
	// Begin returns how many slices of a plan are done. Plans have equal memory texts
	// only if they have the same memory, of the given bytes.
	Begin(memory string, bytes int64) (slices int, err error)
	// ReadAt reads the memory after those slices. WriteAt writes the memory after more
	// slices. Done says that these and the given frames are complete.
	io.ReaderAt
	io.WriterAt
	Done(slices, frames int) error
}

// keepRatio is how many times longer a part must take than saving its memory.
const keepRatio = 20

// keepChunk is how many bytes are transferred at once.
const keepChunk = 16 << 20

// keeping is the time that a part spends on restoring and saving memory.
type keeping struct{ spent time.Duration }

// inParts runs the plan. With a Keeper it runs in parts, each some slices of all tiles,
// and saves the causal memory after each. The first part is one slice. The length of
// later parts follows from the previous one, so that saving takes a twentieth of the
// time.
func (r *run) inParts(ctx context.Context) error {
	end := len(r.work.Last().Slices)
	if r.to = end; r.watch.Keep == nil {
		return r.runPart(ctx)
	}
	r.workers = nil
	text, bytes := r.plan.CausalMemory()
	done, err := r.watch.Keep.Begin(text, bytes)
	if err != nil {
		return err
	}
	r.skip(done)
	for n := 1; done < end; {
		r.from, r.to = done, min(done+n, end)
		r.keeping.spent = 0
		began := time.Now()
		if err := r.runPart(ctx); err != nil {
			return err
		}
		done = r.to
		saved := time.Now()
		if err := r.watch.Keep.Done(done, min(before(r.work.Last(), 0, done), r.work.Results.Frames)); err != nil {
			return err
		}
		took := r.keeping.spent + time.Since(saved)
		work := max(time.Since(began)-took, 1) / time.Duration(r.to-r.from)
		n = int(math.Ceil(keepRatio * float64(took) / float64(max(work, 1))))
	}
	return nil
}

// skip counts the FLOPs of slices as done.
func (r *run) skip(slices int) {
	for _, w := range r.work.Passes {
		if w.Once { // it runs again
			continue
		}
		for i := range w.Tiles {
			for _, s := range w.Slices[:slices] {
				r.done += float64(w.At(i, s).Cost.FLOPs)
			}
		}
	}
	r.end = r.done
}

// before returns the number of output frames of the first k slices of tile i.
func before(w *engine.Pass, i, k int) (frames int) {
	for _, s := range w.Slices[:k] {
		frames += w.At(i, s).Out.T
	}
	return frames
}

// restore reads the memory of tile i in pass n from the Keeper; save writes it.
func (r *run) restore(ctx context.Context, n, i int) error {
	if r.watch.Keep == nil || r.from == 0 {
		return nil
	}
	return r.transferMemory(ctx, n, i, func(w *engine.Pass, b []byte, v gpu.View, at int64) error {
		if k, err := r.watch.Keep.ReadAt(b, at); k < len(b) {
			return err
		}
		return r.writeMemory(w, v, b)
	})
}

func (r *run) save(ctx context.Context, n, i int) error {
	if r.watch.Keep == nil || r.to == len(r.work.Passes[n].Slices) {
		return nil
	}
	if err := r.settle(ctx, 0); err != nil {
		return err
	}
	return r.transferMemory(ctx, n, i, func(w *engine.Pass, b []byte, v gpu.View, at int64) error {
		if err := r.readMemory(ctx, w, b, v); err != nil {
			return err
		}
		_, err := r.watch.Keep.WriteAt(b, at)
		return err
	})
}

// transferMemory calls move for each piece of the memory of tile i in pass n.
func (r *run) transferMemory(ctx context.Context, n, i int, move func(w *engine.Pass, b []byte, v gpu.View, at int64) error) error {
	if err := r.dev.Wait(ctx); err != nil {
		return err
	}
	began := time.Now()
	at := int64(0)
	for _, w := range r.work.Passes[:n] {
		at += int64(len(w.Tiles)) * size(w.Memory())
	}
	w := r.work.Passes[n]
	at += int64(i) * size(w.Memory())
	for _, m := range w.Memory() {
		for from := int64(0); from < m.Size; from += keepChunk {
			v := gpu.View{Buffer: m, Offset: from, Size: min(keepChunk, m.Size-from)}
			if err := move(w, r.bytes(v.Size), v, at+from); err != nil {
				return err
			}
		}
		at += m.Size
	}
	r.keeping.spent += time.Since(began)
	return nil
}

// size returns the total size of buffers.
func size(buffers []*gpu.Buffer) (n int64) {
	for _, b := range buffers {
		n += b.Size
	}
	return n
}
