package vae

import (
	"errors"
	"fmt"
	"math"

	"tessera/gpu"
	"tessera/tiling"
)

// Layout is how a job will be cut and what it will need, known before it runs.
type Layout struct {
	Tiling  Tiling
	Tiles   tiling.Plan
	Tile    tiling.Size // pixels; zero for one tile
	Overlap tiling.Size
	Halo    tiling.Size // pixels that an exact tile reads beyond each of its edges, at most
	Shrunk  bool        // Tile is smaller than asked for, see Options.Shrink
	Slices  int         // of each tile
	Weights int64       // bytes of weights on the device
	Arena   int64       // bytes of activations
	Memory  int64       // bytes of causal memory
	Canvas  int64       // bytes that put tiles together, on the device
	Spool   int64       // bytes that put tiles together, on disk
	Budget  int64       // bytes allowed
	Untiled int64       // bytes on the device in one tile; 0 where that is beyond its limits
	Cost    gpu.Cost    // of the whole job

	linear  tiling.Linear // of Diffusers
	spooled bool          // the canvas is in a spool
	between between       // of Exact
	passes  []*pass
	frames  int // of the input
	out     outputShape
}

// Bytes is the planned peak on the device.
func (l *Layout) Bytes() int64 { return l.Weights + l.Arena + l.Memory + l.Canvas }

// inputShape is what a network is fed with: pixels to encode, a latent to
// decode.
type inputShape struct {
	frames, h, w, c int
}

// outputShape is what a job puts together: moments of a latent, or pixels.
type outputShape struct {
	frames, c int
}

// pass is one way through the clip: a module on every slice of every tile.
type pass struct {
	sess   *session
	tiles  []tiling.Tile // In is what the module is fed with
	cuts   []windows     // of each tile
	parts  []tiling.Rect // of each tile's output, the part to keep; nil: all
	slices []slice
	cell   int // pixels or cells of In along a cell of the module's input
	c      int // channels of the module's input
	flops  int64
}

// last is the pass whose tiles are put together.
func (l *Layout) last() *pass { return l.passes[len(l.passes)-1] }

// shape is the input of tile i.
func (p *pass) shape(i int) tileShape {
	in := p.tiles[i].In.Size()
	s := tileShape{h: in.H / p.cell, w: in.W / p.cell, c: p.c}
	if p.cuts != nil {
		s.cut = p.cuts[i]
	}
	return s
}

// planner lays out jobs of one direction on one input.
type planner struct {
	m      *Model
	half   string
	in     inputShape
	o      Options
	budget int64
}

// layout plans a job of one direction, without touching the device.
func (m *Model) layout(half string, in inputShape, o Options) (*Layout, error) {
	if o.Chunk < 0 {
		return nil, fmt.Errorf("vae: chunk of %d latent frames, expected at least 1", o.Chunk)
	}
	if o.Tiling != "" && o.Tiling != Feather && m.networks[half].outer == nil {
		return nil, fmt.Errorf("vae: %s: tiling %s: %w", m.Config.Model, o.Tiling, ErrTiling)
	}
	o.Chunk = max(o.Chunk, 1)
	p := &planner{m, half, in, o, o.Memory}
	if p.budget == 0 {
		p.budget = Budget(m.info)
	}
	if o.Tiling != "" || m.networks[half].outer == nil {
		if p.o.Tiling == "" {
			p.o.Tiling = Feather
		}
		return p.layout()
	}
	p.o.Tiling = Exact
	l, err := p.layout()
	if err == nil && o.Shrink && l.Untiled > 0 && l.Untiled <= l.Bytes() {
		return p.try(tiling.Size{}) // tiles nobody asked for would save nothing
	}
	if !unfit(err) {
		return l, err
	}
	p.o.Tiling = Feather
	if feathered, err := p.layout(); err == nil {
		return feathered, nil
	}
	return nil, err
}

// unfit is whether an error says that something is too large.
func unfit(err error) bool {
	return errors.Is(err, gpu.ErrTooLarge) || errors.Is(err, ErrMemory) || errors.Is(err, tiling.ErrBudget)
}

// layout plans with the tile asked for or, where it may, one that fits.
func (p *planner) layout() (*Layout, error) {
	if !p.o.Tile.Auto {
		l, err := p.try(p.o.Tile.Tile)
		if err == nil || !p.o.Shrink || !unfit(err) {
			return l, err
		}
	}
	side, err := p.fit()
	if err != nil {
		return nil, err
	}
	l, err := p.try(side)
	if err == nil {
		l.Shrunk = !p.o.Tile.Auto
	}
	return l, err
}

// try plans with a tile and refuses what is beyond the budget.
func (p *planner) try(tile tiling.Size) (*Layout, error) {
	l, err := p.tiled(tile)
	if err == nil && l.Bytes() > p.budget {
		cut := "one tile"
		if !l.Tiles.Whole() {
			cut = fmt.Sprintf("tiles of %v", l.Tile)
		}
		err = fmt.Errorf("vae: %s in %s needs %s on the device, the budget is %s: %w",
			p.half, cut, Bytes(l.Bytes()), Bytes(p.budget), ErrMemory)
	}
	if err == nil && l.Tiling == Exact && !l.Tiles.Whole() {
		if one, err := p.tiled(tiling.Size{}); err == nil {
			l.Untiled = one.Bytes()
		}
	}
	return l, err
}

// fit finds the largest tile within the budget.
func (p *planner) fit() (tiling.Size, error) {
	frame := tiling.Size{H: p.in.h, W: p.in.w}
	spatial := p.m.Config.Spatial
	if p.half == "decoder" {
		frame = tiling.Size{H: p.in.h * spatial, W: p.in.w * spatial}
	}
	overlap := p.overlap()
	return tiling.Fit(frame, tiling.SmallestAuto(overlap), p.budget, func(tile tiling.Size) (int64, error) {
		// A side that holds the whole frame is one tile whatever its length; the
		// overlap must stay below it.
		tile.H, tile.W = max(tile.H, overlap.H+spatial), max(tile.W, overlap.W+spatial)
		l, err := p.tiled(tile)
		if errors.Is(err, gpu.ErrTooLarge) {
			return math.MaxInt64, nil
		}
		if err != nil {
			return 0, err
		}
		return l.Bytes(), nil
	})
}

// overlap of neighbouring tiles. Exact ones have a halo instead.
func (p *planner) overlap() tiling.Size {
	if p.o.Tiling == Exact {
		return tiling.Size{}
	}
	return p.o.Overlap
}

// tiled plans a job at one tile size.
func (p *planner) tiled(tile tiling.Size) (*Layout, error) {
	l := &Layout{
		Tiling: p.o.Tiling, Tile: tile, Overlap: p.overlap(), Budget: p.budget,
		Weights: sum(p.m.loader.buffers(p.half)), frames: p.in.frames,
	}
	if err := p.cut(l); err != nil {
		return nil, fmt.Errorf("vae: %w", err)
	}
	c := p.m.Config
	if p.half == "encoder" {
		l.out = outputShape{p.m.latentFrames(p.in.frames, p.o.Independent), 2 * c.Latent}
	} else {
		l.out = outputShape{p.m.pixelFrames(p.in.frames, p.o.Independent), c.Channels}
	}
	if l.Tiling == Exact && !l.Tiles.Whole() {
		p.exact(l)
	} else {
		l.passes = []*pass{p.whole(l.Tiles.Tiles)}
	}
	for _, way := range l.passes {
		if err := p.record(l, way); err != nil {
			return nil, err
		}
	}
	if l.Tiling == Diffusers {
		planLinear(l, p.m.limits)
	} else {
		planCanvas(l, p.m.limits)
	}
	return l, nil
}

// cut makes the tiles.
func (p *planner) cut(l *Layout) (err error) {
	o := tiling.Options{Tile: l.Tile, Overlap: l.Overlap, Factor: p.m.Config.Spatial}
	patch := p.m.Config.Patch
	switch {
	case l.Tiling == Diffusers && p.half == "encoder":
		l.linear, err = tiling.LinearEncode(p.in.h, p.in.w, patch, o)
		l.Tiles = l.linear.Plan
	case l.Tiling == Diffusers:
		l.linear, err = tiling.LinearDecode(p.in.h, p.in.w, patch, o)
		l.Tiles = l.linear.Plan
	case p.half == "encoder":
		l.Tiles, err = tiling.Encode(p.in.h, p.in.w, o)
	default:
		l.Tiles, err = tiling.Decode(p.in.h, p.in.w, o)
	}
	return err
}

// whole is a pass of the whole network.
func (p *planner) whole(tiles []tiling.Tile) *pass {
	w := &pass{sess: newSession(p.half, p.m.networks[p.half].all, p.m.set, p.m.limits), tiles: tiles, c: p.in.c, cell: 1, slices: p.slices()}
	if p.half == "encoder" {
		w.cell = p.m.Config.Patch
	}
	return w
}

// slices are those of the job's input.
func (p *planner) slices() []slice {
	if p.o.Independent {
		return pictures(p.in.frames)
	}
	if p.half == "encoder" {
		return p.m.cut(p.in.frames, p.o.Chunk*p.m.Config.Temporal)
	}
	return p.m.cut(p.in.frames, p.o.Chunk)
}

// record makes a pass's plans and adds what they take and cost to l.
func (p *planner) record(l *Layout, w *pass) error {
	for i := range w.tiles {
		for _, s := range w.slices {
			plan, err := w.sess.plan(w.shape(i), s)
			if err != nil {
				return err
			}
			w.flops += plan.cost.FLOPs
			l.Cost.Bytes += plan.cost.Bytes
		}
	}
	l.Cost.FLOPs += w.flops
	l.Slices = max(l.Slices, len(w.slices))
	// Passes follow each other: the larger one counts.
	if w.sess.bytes() > l.Arena+l.Memory {
		l.Arena, l.Memory = w.sess.arena.bytes(), sum(w.sess.memory.order)
	}
	return nil
}

// cut divides a clip into slices of step frames, but for the first: SeedVR2's has
// one more, Wan's is frame 0 alone, as in the references.
func (m *Model) cut(total, step int) []slice {
	head := 1
	if m.Config.Family == SeedVR2 {
		head += step
	}
	return cut(total, head, step)
}

// latentFrames is how many latent frames so many frames of pixels become.
func (m *Model) latentFrames(frames int, independent bool) int {
	if independent {
		return frames
	}
	return (frames-1)/m.Config.Temporal + 1
}

// pixelFrames is how many frames of pixels so many latent frames become.
func (m *Model) pixelFrames(frames int, independent bool) int {
	if independent {
		return frames
	}
	return (frames-1)*m.Config.Temporal + 1
}
