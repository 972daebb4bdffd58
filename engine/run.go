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
	give    func(Band) error

	staging []*gpu.Buffer
	leaving []leaving
	left    uint64 // how many there were

	// FLOPs of the whole job: that are known to be done, or will be with the
	// slice that is worked on; and those taken for done before the device was.
	done, end, ahead float64

	from, to int     // slices that are worked on, of all tiles
	keeping  keeping // see Watch.Keep
}

// place is what is being worked on.
type place struct {
	pass  *Pass
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
		r := &run{plan: p, dev: dev, input: in, watch: w, staging: p.staging, give: func(b Band) error {
			if !yield(b, nil) {
				return errStopped
			}
			return nil
		}}
		if err := r.all(ctx); err != nil && err != errStopped {
			yield(Band{}, err)
		}
	}
}

// all does what was planned.
func (r *run) all(ctx context.Context) (err error) {
	p, dev := r.plan, r.dev
	defer dev.Free(p.shared()...)
	if r.watch.Progress != nil {
		dev.Watch(r.did)
		defer dev.Watch(nil)
	}
	if err := r.compile(ctx); err != nil {
		return err
	}
	if err := dev.Alloc(p.shared()...); err != nil {
		return err
	}
	dev.Meanwhile(func() error { return r.spare(ctx) })
	defer dev.Meanwhile(nil)
	if len(p.passes) > 1 {
		defer r.close()
	}
	if p.joiner != nil {
		defer p.joiner.close()
		if err := p.joiner.open(p.options); err != nil {
			return err
		}
	}
	return r.kept(ctx)
}

// part does some slices, of all tiles.
func (r *run) part(ctx context.Context) error {
	if len(r.plan.passes) > 1 {
		if err := r.first(ctx); err != nil {
			return err
		}
	}
	if err := r.last(ctx); err != nil {
		return err
	}
	return r.settle(ctx, 0)
}

// compile compiles what the passes run, all at once.
func (r *run) compile(ctx context.Context) error {
	var batches []*gpu.Batch
	seen := map[*Recording]bool{nil: true}
	for _, w := range r.plan.passes {
		for _, rec := range slices.Concat(w.Recorded...) {
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
	if p.between.spool == nil {
		if p.between.spool, err = p.options.spool(p.between.bytes()); err != nil {
			return err
		}
	}
	err = r.outputs(ctx, 0, func(out TileFrame) error { return r.do(ctx, p.between.keep(p.passes[0], out)) })
	if err != nil {
		return err
	}
	return r.settle(ctx, 0)
}

func (r *run) close() {
	if s := r.plan.between.spool; s != nil {
		s.Close()
		r.plan.between.spool = nil
	}
}

// last runs the last pass, puts its tiles together and takes the result off the
// device.
func (r *run) last(ctx context.Context) error {
	p := r.plan
	tiles := make([]int, p.Frames) // of each frame, that came
	return r.outputs(ctx, len(p.passes)-1, func(out TileFrame) error {
		if p.joiner == nil {
			return p.bound(out.X, func(x wgsl.Tensor, y0 int) error { return r.take(ctx, x, out.T, out.Frame, y0) })
		}
		if p.preview != nil && r.watch.Preview != nil {
			if err := r.do(ctx, p.preview.take(p.job.Kernels, out, r.watch.Preview)...); err != nil {
				return err
			}
		}
		if err := r.do(ctx, p.joiner.add(out)...); err != nil {
			return err
		}
		if tiles[out.Frame]++; tiles[out.Frame] < len(p.last().Tiles) {
			return nil
		}
		for y0, x := 0, (wgsl.Tensor{}); y0 < p.Tiles.Out.H; y0 += x.H {
			var steps []Step
			steps, x = p.joiner.band(out.Frame, y0)
			if err := r.do(ctx, steps...); err != nil {
				return err
			}
			if err := r.take(ctx, x, 0, out.Frame, y0); err != nil {
				return err
			}
		}
		return nil
	})
}

// take takes rows y0 on of a frame of the result, in frame t of x, off the
// device, unless they are trimmed.
func (r *run) take(ctx context.Context, x wgsl.Tensor, t, frame, y0 int) error {
	o := r.plan.outlet
	if frame >= o.Frames || y0 >= o.Height {
		return nil
	}
	return r.do(ctx, o.take(x, t, frame, y0, r.give)...)
}

// outputs feeds every tile's slices through pass n, and has each frame that
// comes out of one taken.
func (r *run) outputs(ctx context.Context, n int, take func(TileFrame) error) error {
	w := r.plan.passes[n]
	buffers := w.recordings.buffers()
	defer r.dev.Free(buffers...)
	defer w.recordings.memory.free()
	if err := r.dev.Alloc(buffers...); err != nil {
		return err
	}
	if len(r.plan.Helpers) > 0 && len(w.Tiles) > 1 {
		return r.deal(ctx, n, take)
	}
	for i := range w.Tiles {
		if err := r.tile(ctx, n, i, i, take); err != nil {
			return err
		}
	}
	return nil
}

// tile feeds the slices of tile i through pass n, as the nth of them, and has
// each frame that comes out of one taken. What leaves of a slice is waited for
// when the next is on its way.
func (r *run) tile(ctx context.Context, n, i, nth int, take func(TileFrame) error) error {
	w, frame := r.plan.passes[n], 0
	if err := r.restore(ctx, n, i); err != nil {
		return err
	}
	for k, s := range w.Slices[:r.to] {
		rec := w.Recorded[i][s.Kind]
		if k < r.from {
			frame += rec.Out.T
			continue
		}
		r.at = place{w, n, i, nth, s, k}
		r.end += float64(rec.Cost.FLOPs)
		if err := r.do(ctx, rec.Steps...); err != nil {
			return err
		}
		if err := r.settle(ctx, 0); err != nil {
			return err
		}
		for t := range rec.Out.T {
			if err := take(TileFrame{rec.Out, t, i, frame}); err != nil {
				return err
			}
			frame++
		}
		r.finished()
	}
	return r.save(ctx, n, i)
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
	r.done += flops - early
	rounding := 1 + 1e-9*float64(r.plan.Cost.FLOPs)
	if flops-early >= rounding && r.end-r.done >= rounding {
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
	n, w, s, end := at.n, at.pass, at.slice, at.pass.Slices[len(at.pass.Slices)-1]
	v := Progress{
		Tile: at.nth, Tiles: len(p.Tiles.Tiles), Slice: at.k + over, Slices: len(w.Slices), Frame: s.T + over*s.N, Frames: end.T + end.N,
		Done: min(1, flops/float64(p.Cost.FLOPs)),
	}
	if v.Slice == v.Slices {
		v.Tile++
	}
	if len(p.passes) == 1 {
		return v
	}
	if len(w.Tiles) == 1 {
		v.Tile, v.Middle = 0, true
		if n == 1 {
			v.Tile = v.Tiles
		}
	}
	return v
}
