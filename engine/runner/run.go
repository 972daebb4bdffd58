package runner

import (
	"context"
	"iter"
	"slices"

	"tessera/engine"
	"tessera/gpu"
	"tessera/wgsl"
)

// run is one execution of a plan.
type run struct {
	plan    *engine.Plan
	work    *engine.Work
	on      *Store
	dev     *gpu.Device // the store's device
	input   Input
	watch   Watch
	at      place
	scratch []byte
	give    func(Band) error
	workers []*Worker

	spools   spools
	host     hostMemory
	weighted int  // tile whose blending weights are on the device, -1: none
	counted  bool // the sums of the weights are on the device

	// What the caller received last, see Band and Preview.
	floats          []float32
	pixels, picture []byte

	staging   []*gpu.Buffer
	readbacks []readback
	begun     uint64 // number of readbacks so far

	// FLOPs of the whole job: known to be done; done at the end of the current slice; and
	// reported as done before the device finished them.
	done, end, promised float64
	slice               float64 // of the current slice

	from, to int     // slices to run, of all tiles
	keeping  keeping // see Watch.Keep
}

// place is the current slice of the current tile.
type place struct {
	pass  *engine.Pass
	n     int // of the pass
	tile  int
	nth   int // of the tile, in running order
	slice engine.Slice
	k     int // of the slice
}

// Run executes a plan on a device that has the weights. workers are the devices of the
// plan's Helpers. Run yields the result in bands of rows, in order, each as soon as no
// later tile can change it, and ends at the first error. Leaving the loop early stops the
// work.
func Run(ctx context.Context, p *engine.Plan, on *Store, workers []*Worker, in Input, w Watch) iter.Seq2[Band, error] {
	return func(yield func(Band, error) bool) {
		r := newRun(p, on, in)
		r.watch, r.staging, r.workers = w, p.Work.Staging, workers
		r.give = func(b Band) error {
			if !yield(b, nil) {
				return errStopped
			}
			return nil
		}
		if err := r.execute(ctx); err != nil && err != errStopped {
			yield(Band{}, err)
		}
	}
}

func newRun(p *engine.Plan, on *Store, in Input) *run {
	return &run{plan: p, work: &p.Work, on: on, dev: on.Dev, input: in, spools: spools{}, host: hostMemory{}, weighted: -1}
}

// execute runs the plan.
func (r *run) execute(ctx context.Context) (err error) {
	p, dev := r.plan, r.dev
	defer dev.Free(p.Shared()...)
	if r.watch.Progress != nil {
		dev.OnDone(r.submissionDone)
		defer dev.OnDone(nil)
	}
	if err := r.compile(ctx); err != nil {
		return err
	}
	if err := dev.Alloc(p.Shared()...); err != nil {
		return err
	}
	dev.WhileWaiting(func() error { return r.finishReady(ctx) })
	defer dev.WhileWaiting(nil)
	defer r.spools.close()
	if r.work.Joiner != nil {
		for _, s := range r.work.Joiner.Spools() {
			if err := r.spools.open(s, r.work.NewSpool); err != nil {
				return err
			}
		}
	}
	return r.inParts(ctx)
}

// runPart runs some slices of all tiles.
func (r *run) runPart(ctx context.Context) error {
	if len(r.work.Passes) > 1 {
		if err := r.firstPass(ctx); err != nil {
			return err
		}
	}
	if err := r.lastPass(ctx); err != nil {
		return err
	}
	return r.settle(ctx, 0)
}

// compile compiles the programs of all passes at once.
func (r *run) compile(ctx context.Context) error {
	var batches []*gpu.Batch
	seen := map[*engine.Recording]bool{nil: true}
	for _, w := range r.work.Passes {
		for _, rec := range slices.Concat(w.Recorded...) {
			if !seen[rec] {
				batches = append(batches, rec.Batches()...)
			}
			seen[rec] = true
		}
	}
	return r.dev.Compile(ctx, batches, r.watch.Compiling)
}

// firstPass runs the first of two passes.
func (r *run) firstPass(ctx context.Context) (err error) {
	b := r.work.Intermediate
	if r.spools[b.Spool] == nil {
		if err := r.spools.open(b.Spool, r.work.NewSpool); err != nil {
			return err
		}
	} else if r.work.Passes[0].Once { // its frames belong to a part of earlier slices
		return nil
	}
	err = r.outputs(ctx, 0, func(out engine.TileFrame) error { return r.do(ctx, b.Store(r.work.Passes[0], out)) })
	if err != nil {
		return err
	}
	return r.settle(ctx, 0)
}

// lastPass runs the last pass, combines its tiles and downloads the result.
func (r *run) lastPass(ctx context.Context) error {
	p, w := r.plan, r.work
	tiles := make([]int, p.Frames) // number of tiles received, per frame
	return r.outputs(ctx, len(w.Passes)-1, func(out engine.TileFrame) error {
		if w.Joiner == nil {
			return p.Bound(out.X, func(x wgsl.Tensor, y0 int) error { return r.do(ctx, w.Results.Take(x, out.T, out.Frame, y0)...) })
		}
		if w.Preview != nil && r.watch.Preview != nil {
			if err := r.do(ctx, w.Preview.Take(out)...); err != nil {
				return err
			}
		}
		steps := w.Joiner.Add(out, out.Tile != r.weighted)
		r.weighted = out.Tile
		if err := r.do(ctx, steps...); err != nil {
			return err
		}
		if tiles[out.Frame]++; tiles[out.Frame] < len(w.Last().Tiles) {
			return nil
		}
		for y0, x := 0, (wgsl.Tensor{}); y0 < p.Tiles.Out.H; y0 += x.H {
			steps, x = w.Joiner.Band(out.Frame, y0, !r.counted)
			r.counted = true
			if err := r.do(ctx, append(steps, w.Results.Take(x, 0, out.Frame, y0)...)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// outputs runs pass n on the slices of every tile, and calls take with each output frame.
func (r *run) outputs(ctx context.Context, n int, take func(engine.TileFrame) error) error {
	w := r.work.Passes[n]
	buffers := w.Buffers()
	defer r.dev.Free(buffers...)
	defer clear(r.host)
	if err := r.dev.Alloc(buffers...); err != nil {
		return err
	}
	if len(r.workers) > 0 && len(w.Tiles) > 1 {
		return r.queue(ctx, n, take)
	}
	for i := range w.Tiles {
		if err := r.tile(ctx, n, i, i, take); err != nil {
			return err
		}
	}
	return nil
}

// tile runs pass n on the slices of tile i, the nth tile, and calls take with each output
// frame. It waits for the readbacks of a slice when the next one is submitted.
func (r *run) tile(ctx context.Context, n, i, nth int, take func(engine.TileFrame) error) error {
	w, frame := r.work.Passes[n], 0
	if err := r.restore(ctx, n, i); err != nil {
		return err
	}
	from, to := r.slices(w)
	for k, s := range w.Slices[:to] {
		rec := w.At(i, s)
		if k < from {
			frame += rec.Out.T
			continue
		}
		r.at = place{w, n, i, nth, s, k}
		r.slice = float64(rec.Cost.FLOPs)
		r.end += r.slice
		if err := r.do(ctx, rec.Steps...); err != nil {
			return err
		}
		if err := r.settle(ctx, 0); err != nil {
			return err
		}
		for t := range rec.Out.T {
			if err := take(engine.TileFrame{X: rec.Out, T: t, Tile: i, Frame: frame}); err != nil {
				return err
			}
			frame++
		}
		r.sliceDone()
	}
	return r.save(ctx, n, i)
}

// slices returns the range of slices of a pass to run.
func (r *run) slices(w *engine.Pass) (from, to int) {
	if w.Once || r.work.Last().Once {
		return 0, len(w.Slices)
	}
	return r.from, r.to
}

// submissionDone reports progress when a submission ends within a slice. Those of the
// previous slice were reported with its end.
func (r *run) submissionDone(flops float64) {
	early := min(flops, r.promised)
	r.promised -= early
	r.done += flops - early
	rounding := 1 + 1e-9*float64(r.plan.Cost.FLOPs)
	if flops-early >= rounding && r.end-r.done >= rounding {
		v := progress(r.plan, r.at, 0, r.done)
		v.Frame += int(float64(r.at.slice.N) * max(0, 1-(r.end-r.done)/r.slice))
		r.watch.Progress(v)
	}
}

// sliceDone reports the end of a slice, whose last submissions may still run.
func (r *run) sliceDone() {
	if r.watch.Progress == nil {
		return
	}
	r.promised += max(0, r.end-r.done)
	r.done = r.end
	r.watch.Progress(progress(r.plan, r.at, 1, r.done))
}

// progress returns the progress with the given FLOPs done, at a slice or, with over 1,
// after it. If one pass has the whole frame and the other has tiles, the first counts as
// part of the neighbouring tile.
func progress(p *engine.Plan, at place, over int, flops float64) Progress {
	n, w, s, end := at.n, at.pass, at.slice, at.pass.Slices[len(at.pass.Slices)-1]
	v := Progress{
		Tile: at.nth, Tiles: len(p.Tiles.Tiles), Slice: at.k + over, Slices: len(w.Slices), Frame: s.T + over*s.N, Frames: end.T + end.N,
		Done: min(1, flops/float64(p.Cost.FLOPs)),
	}
	if v.Slice == v.Slices {
		v.Tile++
	}
	if len(p.Work.Passes) == 1 {
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
