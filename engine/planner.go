package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tessera/gpu"
	"tessera/tiling"
)

// planner makes plans of one job.
type planner struct {
	*Job
	ctx    context.Context
	o      Options
	budget int64
}

// NewPlan plans a job without using the device. If ctx ends, it returns its error.
func NewPlan(ctx context.Context, j *Job, o Options) (*Plan, error) {
	j.Direction.check()
	auto := o.Chunk == AutoChunk
	if o.Chunk < 0 && !auto {
		return nil, fmt.Errorf("engine: chunk of %d latent frames, expected at least 1", o.Chunk)
	}
	if o.Tiling != "" && !slices.Contains(j.Network.Tilings, o.Tiling) {
		return nil, fmt.Errorf("engine: tiling %s: %w, expected %s", o.Tiling, ErrTiling, tilings(j.Network.Tilings))
	}
	if err := o.offload(); err != nil {
		return nil, err
	}
	o.Chunk = max(o.Chunk, 1)
	p := &planner{j, ctx, o, o.Budget}
	if p.budget == 0 {
		p.budget = Budget(j.Adapter)
	}
	l, err := p.best()
	if auto && err == nil {
		l = p.longerSlices(l)
	}
	if ended := ctx.Err(); ended != nil {
		return nil, ended // a plan may lack what was still to be compared
	}
	return l, err
}

// tilings lists tilings for an error.
func tilings(all []Tiling) string {
	var names []string
	for _, t := range all {
		names = append(names, string(t))
	}
	return strings.Join(names, " or ")
}

// best plans with the requested tiling or, if that is open, one that fits.
func (p *planner) best() (*Plan, error) {
	if p.o.Tiling != "" {
		return p.plan()
	}
	p.o.Tiling = p.Network.Tilings[0]
	if p.o.Tiling != Exact {
		if p.Network.Untiled && p.o.Shrink {
			if l, err := p.try(tiling.Size{}); err == nil && !l.frugal() {
				return l, nil
			}
		}
		return p.plan()
	}
	l, err := p.plan()
	if err == nil && p.o.Shrink && l.Untiled > 0 && l.Untiled <= l.Bytes() {
		return p.try(tiling.Size{}) // unrequested tiles would save nothing
	}
	if !doesNotFit(err) || !slices.Contains(p.Network.Tilings, Feather) {
		return l, err
	}
	p.o.Tiling = Feather
	if feathered, err := p.plan(); err == nil {
		return feathered, nil
	}
	return nil, err
}

// doesNotFit reports whether an error says that something is too large.
func doesNotFit(err error) bool {
	return errors.Is(err, gpu.ErrTooLarge) || errors.Is(err, ErrMemory) || errors.Is(err, tiling.ErrBudget)
}

// plan plans with the requested tile or, if allowed, one that fits.
func (p *planner) plan() (*Plan, error) {
	if !p.o.Tile.Auto {
		l, err := p.try(p.o.Tile.Tile)
		if err == nil || !p.o.Shrink || !doesNotFit(err) {
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

// try plans with a tile and fails if the plan exceeds the budget.
func (p *planner) try(tile tiling.Size) (*Plan, error) {
	l, err := p.tiled(tile)
	if err == nil && l.Bytes() > p.budget {
		how := "one tile"
		if !l.Tiles.Whole() {
			how = fmt.Sprintf("tiles of %v", l.Tile)
		}
		err = fmt.Errorf("engine: %s in %s needs %s on the device, the budget is %s: %w",
			p.Network.Name, how, Bytes(l.Bytes()), Bytes(p.budget), ErrMemory)
	}
	if err == nil && l.Tiling == Exact && !l.Tiles.Whole() {
		if one, err := p.tiled(tiling.Size{}); err == nil && !one.Away {
			l.Untiled = one.Bytes()
		}
	}
	return l, err
}

// fit finds the largest tile within the budget.
func (p *planner) fit() (tiling.Size, error) {
	cell := p.factor()
	frame := tiling.Size{H: (p.Height + p.In - 1) / p.In * cell, W: (p.Width + p.In - 1) / p.In * cell}
	overlap := p.overlap()
	var full error // error of a full host
	side, err := tiling.Fit(frame, tiling.SmallestAuto(frame, overlap), p.budget, func(tile tiling.Size) (int64, error) {
		// A side that holds the whole frame is one tile, whatever its length; the overlap
		// must stay below it.
		tile.H, tile.W = max(tile.H, overlap.H+cell), max(tile.W, overlap.W+cell)
		l, err := p.least(tile)
		if errors.Is(err, ErrMemory) {
			full = err
		}
		if doesNotFit(err) {
			return math.MaxInt64, nil
		}
		if err != nil {
			return 0, err
		}
		return l.Bytes(), nil
	})
	if full != nil && errors.Is(err, tiling.ErrBudget) {
		return side, full
	}
	return side, err
}

// overlap returns the overlap of neighbouring tiles. Exact ones have a halo instead.
func (p *planner) overlap() tiling.Size {
	if p.o.Tiling == Exact {
		return tiling.Size{}
	}
	return p.o.Overlap
}
