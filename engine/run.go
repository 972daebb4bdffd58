package engine

import (
	"context"
	"iter"
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// run is a plan under way.
type run struct {
	plan    *Plan
	dev     *gpu.Device
	input   Input
	watch   Watch
	at      place
	scratch []byte

	// FLOPs of the whole job: that are known to be done, or will be with the
	// slice that is worked on; and those taken for done before the device was.
	done, end, ahead float64
}

// place is what is being worked on.
type place struct {
	pass  *pass
	n     int // of the pass
	tile  int
	nth   int // that is worked on
	slice Slice
	k     int // of the slice
}

// Run does what was planned, on a device that has the weights. It yields the
// result in bands of rows, from the first frame's first to the last frame's
// last, each as soon as no later tile can touch it, and ends at the first error.
// Leaving the loop early stops the work.
func (p *Plan) Run(ctx context.Context, dev *gpu.Device, in Input, w Watch) iter.Seq2[Band, error] {
	return func(yield func(Band, error) bool) {
		r := &run{plan: p, dev: dev, input: in, watch: w}
		defer dev.Free(p.shared()...)
		if w.Progress != nil {
			dev.Watch(r.did)
			defer dev.Watch(nil)
		}
		err := r.compile(ctx)
		if err == nil {
			err = dev.Alloc(p.shared()...)
		}
		if err == nil && len(p.passes) > 1 {
			defer r.close()
			err = r.first(ctx)
		}
		if err == nil && p.joiner != nil {
			defer p.joiner.close()
			err = p.joiner.open(p.options)
		}
		if err != nil {
			yield(Band{}, err)
			return
		}
		for part, err := range r.parts(ctx) {
			if err == nil && (part.frame >= p.outlet.Frames || part.y0 >= p.outlet.Height) {
				continue // trimmed
			}
			var band Band
			if err == nil {
				band, err = r.take(ctx, part)
			}
			if !yield(band, err) || err != nil {
				return
			}
		}
	}
}

// compile compiles what the passes run, all at once.
func (r *run) compile(ctx context.Context) error {
	var batches []*gpu.Batch
	seen := map[*recording]bool{nil: true}
	for _, w := range r.plan.passes {
		for _, rec := range slices.Concat(w.recorded...) {
			if !seen[rec] {
				batches = append(batches, rec.batches()...)
			}
			seen[rec] = true
		}
	}
	return r.dev.Compile(ctx, batches, r.watch.Compiling)
}

// first runs the first of two passes.
func (r *run) first(ctx context.Context) (err error) {
	p := r.plan
	if p.between.spool, err = p.options.spool(p.between.bytes()); err != nil {
		return err
	}
	for out, err := range r.outputs(ctx, 0) {
		if err == nil {
			err = r.do(ctx, p.between.keep(p.passes[0], out))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) close() {
	if s := r.plan.between.spool; s != nil {
		s.Close()
		r.plan.between.spool = nil
	}
}

// part is rows y0 on of a frame of the result, in frame t of x.
type part struct {
	x         wgsl.Tensor
	t         int
	frame, y0 int
}

// parts runs the last pass and puts its tiles together.
func (r *run) parts(ctx context.Context) iter.Seq2[part, error] {
	p := r.plan
	tiles := make([]int, p.Frames) // of each frame, that came
	return func(yield func(part, error) bool) {
		for out, err := range r.outputs(ctx, len(p.passes)-1) {
			if err != nil || p.joiner == nil {
				if !yield(part{out.x, out.t, out.frame, 0}, err) {
					return
				}
				continue
			}
			if p.preview != nil && r.watch.Preview != nil {
				err = r.do(ctx, p.preview.take(p.job.Kernels, out, r.watch.Preview)...)
			}
			if err == nil {
				err = r.do(ctx, p.joiner.add(out)...)
			}
			if err != nil {
				yield(part{}, err)
				return
			}
			if tiles[out.frame]++; tiles[out.frame] < len(p.last().tiles) {
				continue
			}
			for y0, x := 0, (wgsl.Tensor{}); y0 < p.Tiles.Out.H; y0 += x.H {
				var steps []Step
				steps, x = p.joiner.band(out.frame, y0)
				if err := r.do(ctx, steps...); !yield(part{x, 0, out.frame, y0}, err) || err != nil {
					return
				}
			}
		}
	}
}

// outputs feeds every tile's slices through pass n, and yields each frame that
// comes out of one.
func (r *run) outputs(ctx context.Context, n int) iter.Seq2[output, error] {
	w := r.plan.passes[n]
	return func(yield func(output, error) bool) {
		buffers := w.recordings.buffers()
		defer r.dev.Free(buffers...)
		if err := r.dev.Alloc(buffers...); err != nil {
			yield(output{}, err)
			return
		}
		if len(r.plan.Helpers) > 0 && len(w.tiles) > 1 {
			r.deal(ctx, n, yield)
			return
		}
		for i := range w.tiles {
			if !r.tile(ctx, n, i, i, yield) {
				return
			}
		}
	}
}

// tile feeds the slices of tile i through pass n, as the nth of them, and yields
// each frame that comes out of one. It is false where yield was, or there was an
// error.
func (r *run) tile(ctx context.Context, n, i, nth int, yield func(output, error) bool) bool {
	w, frame := r.plan.passes[n], 0
	for k, s := range w.slices {
		r.at = place{w, n, i, nth, s, k}
		rec := w.recorded[i][s.kind]
		r.end += float64(rec.cost.FLOPs)
		if err := r.do(ctx, rec.steps...); err != nil {
			yield(output{}, err)
			return false
		}
		for t := range rec.out.T {
			if !yield(output{rec.out, t, i, frame}, nil) {
				return false
			}
			frame++
		}
		r.finished()
	}
	return true
}

// take takes a part of the result off the device.
func (r *run) take(ctx context.Context, p part) (Band, error) {
	steps, band := r.plan.outlet.take(p.x, p.t, p.frame, p.y0)
	err := r.do(ctx, steps...)
	return *band, err
}

// do does steps in order.
func (r *run) do(ctx context.Context, steps ...Step) error {
	for _, s := range steps {
		if err := s.do(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// bytes is scratch of n zeros.
func (r *run) bytes(n int64) []byte {
	r.scratch = zeroed(r.scratch, int(n))
	return r.scratch
}

// did tells of a submission that has ended within a slice. Those of the slice
// before were told with its end.
func (r *run) did(flops float64) {
	early := min(flops, r.ahead)
	r.ahead -= early
	if r.done += flops - early; early < flops && r.done < r.end {
		r.watch.Progress(r.plan.progress(r.at, 0, r.done))
	}
}

// finished tells of the end of a slice, whose last submissions are on their way.
func (r *run) finished() {
	if r.watch.Progress == nil {
		return
	}
	r.ahead += max(0, r.end-r.done)
	r.done = r.end
	r.watch.Progress(r.plan.progress(r.at, 1, r.done))
}

// progress with so many FLOPs done, at a slice or, with over 1, after it. A pass
// that has the frame whole while the other has tiles counts as part of the tile
// next to it.
func (p *Plan) progress(at place, over int, flops float64) Progress {
	n, w, s, end := at.n, at.pass, at.slice, at.pass.slices[len(at.pass.slices)-1]
	v := Progress{
		Tile: at.nth, Tiles: len(p.Tiles.Tiles), Slice: at.k + over, Slices: len(w.slices), Frame: s.t + over*s.n, Frames: end.t + end.n,
		Done: min(1, flops/float64(p.Cost.FLOPs)),
	}
	if v.Slice == v.Slices {
		v.Tile++
	}
	if len(p.passes) == 1 {
		return v
	}
	if len(w.tiles) == 1 {
		v.Tile, v.Middle = 0, true
		if n == 1 {
			v.Tile = v.Tiles
		}
	}
	return v
}
