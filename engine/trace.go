package engine

import (
	"context"
	"iter"

	"tessera/gpu"
)

// Traced is what a module named by Graph.Mark made of one slice.
type Traced struct {
	Slice      int // of the clip, from 0
	Name       string
	T, H, W, C int
	Values     []float32 // [T, H, W, C padded to 4]
}

// Trace runs a plan of one tile and yields what each named module makes, in
// order: for finding the first layer that goes wrong.
func (p *Plan) Trace(ctx context.Context, dev *gpu.Device, in Input) iter.Seq2[Traced, error] {
	return func(yield func(Traced, error) bool) {
		w := p.passes[0]
		r := &run{plan: p, dev: dev, input: in}
		defer dev.Free(w.recordings.buffers()...)
		if err := dev.Alloc(w.recordings.buffers()...); err != nil {
			yield(Traced{}, err)
			return
		}
		for i, s := range w.Slices {
			r.at = place{pass: w, slice: s, k: i}
			rec := w.Recorded[0][s.Kind]
			at := tracing{slice: i, left: rec.Marked}
			for _, step := range rec.Steps {
				if !r.trace(ctx, &at, step, yield) {
					return
				}
			}
		}
	}
}

// tracing is how far a slice is.
type tracing struct {
	slice, done int      // commands
	left        []Marked // to come
}

// trace does one step, a batch in parts: up to the end of each module.
func (r *run) trace(ctx context.Context, at *tracing, step Step, yield func(Traced, error) bool) bool {
	batch, ok := step.(*runBatch)
	if !ok {
		err := step.do(ctx, r)
		return err == nil || yield(Traced{}, err)
	}
	commands := batch.batch.Commands
	for ; len(at.left) > 0 && at.left[0].End <= at.done+len(commands); at.left = at.left[1:] {
		m := at.left[0]
		n := m.End - at.done
		err := r.dev.Submit(ctx, &gpu.Batch{Label: m.Name, Commands: commands[:n]})
		commands, at.done = commands[n:], m.End
		v := Traced{Slice: at.slice, Name: m.Name, T: m.Out.T, H: m.Out.H, W: m.Out.W, C: m.Out.C}
		if err == nil {
			err = r.do(ctx, &takeOut{from: allOf(m.Out), to: into(func(data []byte) error {
				v.Values = make([]float32, len(data)/m.Out.Elem.Bytes())
				decode(v.Values, data, m.Out.Elem)
				return nil
			})})
		}
		if !yield(v, err) || err != nil {
			return false
		}
	}
	at.done += len(commands)
	err := r.dev.Submit(ctx, &gpu.Batch{Label: batch.batch.Label, Commands: commands})
	return err == nil || yield(Traced{}, err)
}
