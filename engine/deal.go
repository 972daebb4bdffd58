package engine

import (
	"context"
	"slices"
	"sync"

	"tessera/gpu"
	"tessera/tiling"
)

// Share has helpers take tiles, of a job in several that may be put together in
// any order; others they leave alone.
func (p *Plan) Share(helpers []*Helper) {
	if _, ordered := p.joiner.(*linearCanvas); ordered || p.Tiles.Whole() || len(helpers) == 0 {
		return
	}
	p.Helpers, p.guest = helpers, &gpu.Buffer{Label: "tile of another device"}
	for _, w := range p.passes {
		for _, all := range w.Recorded {
			for _, r := range all {
				if r != nil && len(w.Tiles) > 1 {
					p.guest.Size = max(p.guest.Size, r.Out.FrameBytes())
				}
			}
		}
	}
	p.Transfer += p.guest.Size
}

// deal hands out the tiles of a pass, of which this device takes some too, and
// takes in what others make of theirs.
type deal struct {
	*run
	n    int        // of the pass
	free chan int   // tiles that nobody works on
	made chan guest // unbuffered, so that no frames pile up
	seen []int      // frames of each tile that came
	left int        // tiles that are not done
	each func(TileFrame) error
}

// guest is a frame of a tile that a helper made, or what ended its work.
type guest struct {
	helper *Helper
	err    error
	out    TileFrame
	data   []byte
	at     place
	flops  int64 // of the slice that it is the last frame of, else 0
	last   bool  // of the tile
}

// deal is outputs of a pass in several tiles, with helpers.
func (r *run) deal(ctx context.Context, n int, take func(TileFrame) error) error {
	tiles := len(r.plan.passes[n].Tiles)
	alone := r.input
	r.input = &locked{Input: alone}
	d := &deal{run: r, n: n, free: make(chan int, tiles), made: make(chan guest), seen: make([]int, tiles), left: tiles, each: take}
	for i := range tiles {
		d.free <- i
	}
	ctx, stop := context.WithCancel(ctx)
	var helping sync.WaitGroup
	defer func() {
		stop()
		helping.Wait()
		r.input = alone
	}()
	for _, h := range r.plan.Helpers {
		if between := r.plan.between; between != nil {
			h.Plan.between.spool = between.spool
		}
		helping.Go(func() { d.help(ctx, h) })
	}
	for d.left > 0 {
		if len(d.free) == 0 { // others work
			if err := r.settle(ctx, 0); err != nil {
				return err
			}
		}
		select {
		case g := <-d.made:
			if err := d.take(g); err != nil {
				return err
			}
		case i := <-d.free:
			if err := r.tile(ctx, n, i, tiles-d.left, d.own); err != nil {
				return err
			}
			d.left--
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// own takes a frame of this device's tile, and then those of others that wait.
func (d *deal) own(out TileFrame) (err error) {
	if d.came(out) {
		err = d.each(out)
	}
	for err == nil {
		select {
		case g := <-d.made:
			err = d.take(g)
		default:
			return nil
		}
	}
	return err
}

// came notes a frame, and is false where it came before: from somebody who
// handed the tile back.
func (d *deal) came(out TileFrame) bool {
	if out.Frame < d.seen[out.Tile] {
		return false
	}
	d.seen[out.Tile]++
	return true
}

// take takes what a helper made.
func (d *deal) take(g guest) error {
	if g.err != nil {
		if d.watch.Lost != nil {
			d.watch.Lost(g.helper.Dev.Info(), g.err)
		}
		return nil
	}
	if d.came(g.out) {
		g.out.X.T, g.out.X.Buffer, g.out.T = 1, d.plan.guest, 0
		if err := d.dev.Write(allOf(g.out.X), g.data); err != nil {
			return err
		}
		if err := d.each(g.out); err != nil {
			return err
		}
	}
	if g.last {
		d.left--
		g.helper.Tiles++
	}
	d.helped(g)
	return nil
}

// helped tells of the end of a helper's slice.
func (d *deal) helped(g guest) {
	if g.flops == 0 || d.watch.Progress == nil {
		return
	}
	d.done += float64(g.flops)
	d.end += float64(g.flops)
	d.watch.Progress(d.plan.progress(g.at, 1, d.done))
}

// help has a helper work on tiles until there are no more. Where it fails, it
// hands its tile back.
func (d *deal) help(ctx context.Context, h *Helper) {
	w := h.Plan.passes[d.n]
	r := &run{plan: h.Plan, dev: h.Dev, input: d.input, staging: stagings(max(d.plan.guest.Size, h.Plan.piece), 2), to: len(w.Slices)}
	buffers := append(w.recordings.buffers(), r.staging...)
	defer h.Dev.Free(buffers...)
	defer w.recordings.memory.free()
	err := h.Load(ctx)
	if err == nil {
		err = h.Dev.Alloc(buffers...)
	}
	h.Dev.Meanwhile(func() error { return r.spare(ctx) })
	defer h.Dev.Meanwhile(nil)
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case i := <-d.free:
			err = r.tile(ctx, d.n, i, i, func(out TileFrame) error { return r.do(ctx, d.send(ctx, h, r, out)) })
			if err == nil {
				err = r.settle(ctx, 0)
			}
			if err != nil {
				d.free <- i
			}
		}
	}
	d.hand(ctx, guest{helper: h, err: err})
}

// send hands a frame of a helper's tile over.
func (d *deal) send(ctx context.Context, h *Helper, r *run, out TileFrame) Step {
	g := guest{helper: h, out: out, at: r.at}
	if rec := r.at.pass.Recorded[out.Tile][r.at.slice.Kind]; out.T == rec.Out.T-1 {
		g.flops, g.last = rec.Cost.FLOPs, r.at.k == len(r.at.pass.Slices)-1
	}
	return &takeOut{from: frameOf(&out.X, out.T), to: into(func(data []byte) error {
		g.data = slices.Clone(data)
		return d.hand(ctx, g)
	})}
}

// hand gives it to who puts tiles together.
func (d *deal) hand(ctx context.Context, g guest) error {
	select {
	case d.made <- g:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// locked is an input that several devices are fed with.
type locked struct {
	Input
	mu sync.Mutex
}

// Fill is the input's, for one at a time.
func (l *locked) Fill(dst []float32, t, n int, in tiling.Rect) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Input.Fill(dst, t, n, in)
}
