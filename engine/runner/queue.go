package runner

import (
	"context"
	"slices"
	"sync"

	"tessera/engine"
	"tessera/gpu"
	"tessera/tiling"
)

// Worker is another device with a helper's plan of the job.
type Worker struct {
	Helper *engine.Helper
	On     *Store
	Load   func(ctx context.Context) error // loads the helper's weights on the device
}

// queue is the work queue: the tiles of a pass that are still to be computed. This device
// takes tiles from it like the workers, and receives their frames.
type queue struct {
	*run
	n    int           // number of the pass
	free chan int      // tiles that no device computes
	made chan delivery // unbuffered, so that frames do not pile up
	seen []int         // frames received of each tile
	left int           // unfinished tiles
	each func(engine.TileFrame) error
}

// delivery is a frame of a worker's tile, or the error that ended its work.
type delivery struct {
	by    *Worker
	err   error
	out   engine.TileFrame
	data  []byte
	at    place
	flops int64 // of the slice that it ends, else 0
	last  bool  // of the tile
}

// queue is outputs for a pass of several tiles, with workers.
func (r *run) queue(ctx context.Context, n int, take func(engine.TileFrame) error) error {
	tiles := len(r.work.Passes[n].Tiles)
	alone := r.input
	r.input = &locked{Input: alone}
	q := &queue{run: r, n: n, free: make(chan int, tiles), made: make(chan delivery), seen: make([]int, tiles), left: tiles, each: take}
	for i := range tiles {
		q.free <- i
	}
	ctx, stop := context.WithCancel(ctx)
	var working sync.WaitGroup
	defer func() {
		stop()
		working.Wait()
		r.input = alone
	}()
	for _, w := range r.workers {
		working.Go(func() { q.serve(ctx, w) })
	}
	for q.left > 0 {
		if len(q.free) == 0 { // workers compute the rest
			if err := r.settle(ctx, 0); err != nil {
				return err
			}
		}
		select {
		case made := <-q.made:
			if err := q.accept(made); err != nil {
				return err
			}
		case i := <-q.free:
			if err := r.tile(ctx, n, i, tiles-q.left, q.takeOwn); err != nil {
				return err
			}
			q.left--
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// takeOwn handles a frame of this device's tile, and then the workers' waiting frames.
func (q *queue) takeOwn(out engine.TileFrame) (err error) {
	if q.firstTime(out) {
		err = q.each(out)
	}
	for err == nil {
		select {
		case made := <-q.made:
			err = q.accept(made)
		default:
			return nil
		}
	}
	return err
}

// firstTime records a frame. It returns false if the frame came before, from a worker
// that failed and returned its tile.
func (q *queue) firstTime(out engine.TileFrame) bool {
	if out.Frame < q.seen[out.Tile] {
		return false
	}
	q.seen[out.Tile]++
	return true
}

// accept handles a worker's delivery.
func (q *queue) accept(v delivery) error {
	if v.err != nil {
		if q.watch.Lost != nil {
			q.watch.Lost(v.by.On.Dev.Info(), v.err)
		}
		return nil
	}
	if q.firstTime(v.out) {
		x := &v.out.X
		x.T, x.Buffer, v.out.T = 1, q.work.FromHelper, 0
		if err := q.dev.Write(gpu.View{Buffer: x.Buffer, Size: x.Bytes()}, v.data); err != nil {
			return err
		}
		if err := q.each(v.out); err != nil {
			return err
		}
	}
	if v.last {
		q.left--
		v.by.Helper.Tiles++
	}
	q.workerProgress(v)
	return nil
}

// workerProgress reports the end of a worker's slice.
func (q *queue) workerProgress(v delivery) {
	if v.flops == 0 || q.watch.Progress == nil {
		return
	}
	q.done += float64(v.flops)
	q.end += float64(v.flops)
	q.watch.Progress(progress(q.plan, v.at, 1, q.done))
}

// serve runs tiles on a worker until the queue is empty. A worker that fails returns its
// tile.
func (q *queue) serve(ctx context.Context, worker *Worker) {
	p, dev := worker.Helper.Plan, worker.On.Dev
	w, r := p.Work.Passes[q.n], newRun(p, worker.On, q.input)
	r.staging, r.to = engine.Stagings(max(q.work.FromHelper.Size, p.Work.Piece), 2), len(w.Slices)
	if b := q.work.Intermediate; b != nil {
		r.spools[p.Work.Intermediate.Spool] = q.spools[b.Spool]
	}
	buffers := append(w.Buffers(), r.staging...)
	defer dev.Free(buffers...)
	err := worker.Load(ctx)
	if err == nil {
		err = dev.Alloc(buffers...)
	}
	dev.WhileWaiting(func() error { return r.finishReady(ctx) })
	defer dev.WhileWaiting(nil)
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case i := <-q.free:
			err = r.tile(ctx, q.n, i, i, func(out engine.TileFrame) error { return q.send(ctx, worker, r, out) })
			if err == nil {
				err = r.settle(ctx, 0)
			}
			if err != nil {
				q.free <- i
			}
		}
	}
	q.deliver(ctx, delivery{by: worker, err: err})
}

// send downloads a frame of a worker's tile and delivers it.
func (q *queue) send(ctx context.Context, worker *Worker, r *run, out engine.TileFrame) error {
	v := delivery{by: worker, out: out, at: r.at}
	if rec := r.at.pass.At(out.Tile, r.at.slice); out.T == rec.Out.T-1 {
		v.flops, v.last = rec.Cost.FLOPs, r.at.k == len(r.at.pass.Slices)-1
	}
	return r.download(ctx, out.View(), sinkFunc(func(data []byte) error {
		v.data = slices.Clone(data)
		return q.deliver(ctx, v)
	}), false)
}

// deliver passes a delivery to the device that combines tiles.
func (q *queue) deliver(ctx context.Context, v delivery) error {
	select {
	case q.made <- v:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// locked is an input that several devices read.
type locked struct {
	Input
	mu sync.Mutex
}

// Fill calls the input's Fill for one device at a time.
func (l *locked) Fill(dst []float32, t, n int, in tiling.Rect) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Input.Fill(dst, t, n, in)
}
