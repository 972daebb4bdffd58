package vae

import (
	"context"
	"errors"
	"fmt"
	"math"

	"tessera/gpu"
	"tessera/tiling"
)

// ErrMemory: what was asked for needs more memory than the budget.
var ErrMemory = errors.New("does not fit the memory budget")

// ErrOverflow: a result has a NaN or an infinity in it.
var ErrOverflow = errors.New("the result is not finite")

// Options choose how a clip is run. The zero value runs it in one tile within
// the default budget.
type Options struct {
	Tile    tiling.Choice // default: one tile
	Overlap tiling.Size   // pixels
	// Shrink lets a smaller tile be chosen where Tile is too large for the
	// device or the budget, rather than fail.
	Shrink bool
	// Memory is the budget in bytes for everything on the device; 0 is Budget.
	Memory int64
	// Chunk is the number of latent frames in a slice of the clip after its
	// first, which has one more; 0 is 1, as the reference. It changes speed and
	// memory, not the result.
	Chunk int
	// Unscaled takes and gives the model's own numbers; else a latent is as the
	// pipeline's diffusion model has it, (latent - shift) * scaling.
	Unscaled bool
	// Progress is called after each slice, if not nil.
	Progress func(Progress)
	// Loading is called while weights go to the device, which they do before
	// the first job in a direction, if not nil: bytes done, of all.
	Loading func(done, total int64)
	// Preview is called with every frame of every tile of a decode in several
	// tiles, before it is blended, if not nil. An error ends the job.
	Preview func(Preview) error
	// Spool makes what holds a blend that the budget has no room for on the
	// device; nil is a temporary file, in a browser memory.
	Spool func(size int64) (Spool, error)
}

// Progress says how far a job is.
type Progress struct {
	Tile, Tiles int // tiles done, of all
	Slice       int // slices of the current tile done
	Slices      int
	Frame       int // frames of the current tile's input done: pixel frames to encode, latent frames to decode
	Frames      int
	Done        float64 // share of the work, 0 to 1
}

// Budget is the default memory budget: three quarters of a discrete adapter's
// memory, half of one it shares with the rest of the machine, 2 GiB where the
// adapter does not tell.
func Budget(a gpu.Info) int64 {
	switch {
	case a.Memory == 0:
		return 2 << 30
	case a.Type == "discrete":
		return a.Memory / 4 * 3
	}
	return a.Memory / 2
}

// Layout is how a job will be cut and what it will need, known before it runs.
type Layout struct {
	Tiles   tiling.Plan
	Tile    tiling.Size // pixels; zero for one tile
	Overlap tiling.Size
	Shrunk  bool       // Tile is smaller than asked for, see Options.Shrink
	Slices  int        // of each tile
	Weights int64      // bytes of weights on the device
	Arena   int64      // bytes of activations
	Memory  int64      // bytes of causal memory
	Canvas  int64      // bytes that blend tiles, on the device
	Spool   int64      // bytes that blend tiles, on disk
	Budget  int64      // bytes allowed
	Cost    gpu.Cost   // of the whole job
	sess    *session   // the plans
	slices  []slice    // of the network's input
	shape   inputShape // of the network's input
}

// Bytes is the planned peak on the device.
func (l *Layout) Bytes() int64 { return l.Weights + l.Arena + l.Memory + l.Canvas }

// inputShape is what a network is fed with: pixels to encode, a latent to
// decode.
type inputShape struct {
	frames, h, w, c int
}

// layout plans a job of one direction, without touching the device.
func (m *Model) layout(half string, in inputShape, o Options) (*Layout, error) {
	if o.Chunk < 0 {
		return nil, fmt.Errorf("vae: chunk of %d latent frames, expected at least 1", o.Chunk)
	}
	budget := o.Memory
	if budget == 0 {
		budget = Budget(m.info)
	}
	try := func(tile tiling.Size) (*Layout, error) {
		l, err := m.tiled(half, in, tiling.Options{Tile: tile, Overlap: o.Overlap}, max(o.Chunk, 1), budget)
		if err == nil && l.Bytes() > budget {
			cut := "one tile"
			if !l.Tiles.Whole() {
				cut = fmt.Sprintf("tiles of %v", l.Tile)
			}
			err = fmt.Errorf("vae: %s in %s needs %s on the device, the budget is %s: %w",
				half, cut, Bytes(l.Bytes()), Bytes(budget), ErrMemory)
		}
		return l, err
	}
	if !o.Tile.Auto {
		l, err := try(o.Tile.Tile)
		if err == nil || !o.Shrink || !errors.Is(err, gpu.ErrTooLarge) && !errors.Is(err, ErrMemory) {
			return l, err
		}
	}
	side, err := m.fit(half, in, o, budget)
	if err != nil {
		return nil, err
	}
	l, err := try(side)
	if err == nil {
		l.Shrunk = !o.Tile.Auto
	}
	return l, err
}

// fit finds the largest tile within the budget.
func (m *Model) fit(half string, in inputShape, o Options, budget int64) (tiling.Size, error) {
	frame := tiling.Size{H: in.h, W: in.w}
	if half == "decoder" {
		frame = tiling.Size{H: in.h * m.Config.Spatial, W: in.w * m.Config.Spatial}
	}
	return tiling.Fit(frame, tiling.SmallestAuto(o.Overlap), budget, func(tile tiling.Size) (int64, error) {
		// A side that holds the whole frame is one tile whatever its length; the
		// overlap must stay below it.
		tile.H, tile.W = max(tile.H, o.Overlap.H+tiling.Factor), max(tile.W, o.Overlap.W+tiling.Factor)
		l, err := m.tiled(half, in, tiling.Options{Tile: tile, Overlap: o.Overlap}, max(o.Chunk, 1), budget)
		if errors.Is(err, gpu.ErrTooLarge) {
			return math.MaxInt64, nil
		}
		if err != nil {
			return 0, err
		}
		return l.Bytes(), nil
	})
}

// tiled plans a job at one tile size.
func (m *Model) tiled(half string, in inputShape, o tiling.Options, chunk int, budget int64) (*Layout, error) {
	l := &Layout{Tile: o.Tile, Overlap: o.Overlap, Budget: budget, shape: in, Weights: sum(m.loader.buffers(half))}
	var err error
	channels := m.Config.InChannel
	frames := 0 // of the output
	if half == "encoder" {
		l.Tiles, err = tiling.Encode(in.h, in.w, o)
		l.slices = cut(in.frames, 1+chunk*m.Config.Temporal, chunk*m.Config.Temporal)
		channels = 2 * m.Config.Latent
		frames = (in.frames-1)/m.Config.Temporal + 1
	} else {
		l.Tiles, err = tiling.Decode(in.h, in.w, o)
		l.slices = cut(in.frames, 1+chunk, chunk)
		frames = (in.frames-1)*m.Config.Temporal + 1
	}
	if err != nil {
		return nil, fmt.Errorf("vae: %w", err)
	}
	l.Slices = len(l.slices)
	l.sess = newSession(m.networks[half], m.set, m.limits)
	for _, t := range l.Tiles.Tiles {
		for _, s := range l.slices {
			p, err := l.sess.plan(t.In.Y1-t.In.Y0, t.In.X1-t.In.X0, in.c, s)
			if err != nil {
				return nil, err
			}
			l.Cost.FLOPs += p.cost.FLOPs
			l.Cost.Bytes += p.cost.Bytes
		}
	}
	l.Arena, l.Memory = l.sess.arena.bytes(), sum(l.sess.memory.order)
	planCanvas(l, channels, frames, m.limits)
	return l, nil
}

// run feeds every tile's slices through the network. feed fills the input of a
// slice of a tile; take gets its output, valid until it returns.
func (m *Model) run(ctx context.Context, l *Layout, o Options,
	feed func(tile tiling.Tile, s slice, in *plan) error,
	take func(tile int, s slice, out *plan) error,
) error {
	buffers := l.sess.buffers()
	defer m.dev.Free(buffers...)
	if err := m.dev.Alloc(buffers...); err != nil {
		return fmt.Errorf("vae: %w", err)
	}
	for i, tile := range l.Tiles.Tiles {
		for k, s := range l.slices {
			p, err := l.sess.plan(tile.In.Y1-tile.In.Y0, tile.In.X1-tile.In.X0, l.shape.c, s)
			if err != nil {
				return err
			}
			if err := feed(tile, s, p); err != nil {
				return err
			}
			if err := m.dev.Submit(ctx, p.batch); err != nil {
				return err
			}
			if err := take(i, s, p); err != nil {
				return err
			}
			if o.Progress != nil {
				o.Progress(l.progress(i, k))
			}
		}
	}
	return nil
}

// progress after slice k of tile i.
func (l *Layout) progress(i, k int) Progress {
	s := l.slices[k]
	p := Progress{
		Tile: i, Tiles: len(l.Tiles.Tiles), Slice: k + 1, Slices: len(l.slices), Frame: s.t + s.n, Frames: l.shape.frames,
		Done: (float64(i) + float64(s.t+s.n)/float64(l.shape.frames)) / float64(len(l.Tiles.Tiles)),
	}
	if k == len(l.slices)-1 {
		p.Tile++
	}
	return p
}

// Bytes prints a size: "1.50 GiB".
func Bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
