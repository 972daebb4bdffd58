package runner

import (
	"context"
	"iter"

	"tessera/engine"
	"tessera/gpu"
)

// Traced is the output of a module named by Graph.Mark, for one slice.
type Traced struct {
	Slice      int // number in the clip, from 0
	Name       string
	T, H, W, C int
	Values     []float32 // [T, H, W, C padded to 4]
}

// Trace runs a plan of one tile and yields each named module's output, in order, to find
// the first layer that is wrong.
func Trace(ctx context.Context, p *engine.Plan, on *Store, in Input) iter.Seq2[Traced, error] {
	return func(yield func(Traced, error) bool) {
		w, r := p.Work.Passes[0], newRun(p, on, in)
		defer r.dev.Free(w.Buffers()...)
		if err := r.dev.Alloc(w.Buffers()...); err != nil {
			yield(Traced{}, err)
			return
		}
		for i, s := range w.Slices {
			r.at = place{pass: w, slice: s, k: i}
			rec := w.At(0, s)
			at := tracing{slice: i, left: rec.Marked}
			for _, step := range rec.Steps {
				if !r.trace(ctx, &at, step, yield) {
					return
				}
			}
		}
	}
}

// tracing is the position within a slice.
type tracing struct {
	slice, done int             // number of the slice, commands done
	left        []engine.Marked // still to come
}

// trace executes one step; it splits a batch at the end of each module.
func (r *run) trace(ctx context.Context, at *tracing, step engine.Step, yield func(Traced, error) bool) bool {
	batch, ok := step.(*engine.RunBatch)
	if !ok {
		err := r.step(ctx, step)
		return err == nil || yield(Traced{}, err)
	}
	commands := batch.Batch.Commands
	for ; len(at.left) > 0 && at.left[0].End <= at.done+len(commands); at.left = at.left[1:] {
		m := at.left[0]
		n := m.End - at.done
		err := r.dev.Submit(ctx, &gpu.Batch{Label: m.Name, Commands: commands[:n]})
		commands, at.done = commands[n:], m.End
		v := Traced{Slice: at.slice, Name: m.Name, T: m.Out.T, H: m.Out.H, W: m.Out.W, C: m.Out.C}
		if err == nil {
			err = r.download(ctx, gpu.View{Buffer: m.Out.Buffer, Size: m.Out.Bytes()}, sinkFunc(func(data []byte) error {
				v.Values = make([]float32, len(data)/m.Out.Elem.Bytes())
				engine.Decode(v.Values, data, m.Out.Elem)
				return nil
			}), false)
		}
		if !yield(v, err) || err != nil {
			return false
		}
	}
	at.done += len(commands)
	err := r.dev.Submit(ctx, &gpu.Batch{Label: batch.Batch.Label, Commands: commands})
	return err == nil || yield(Traced{}, err)
}
