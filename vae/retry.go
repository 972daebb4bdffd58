package vae

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"tessera/engine"
	"tessera/engine/runner"
	"tessera/gpu"
	"tessera/tiling"
)

// attempt is a running plan, which a smaller one replaces if the device runs out of
// memory.
type attempt struct {
	model *Model
	plan  **Plan
	with  *[]*runner.Worker // the devices with plans for its helpers
	job   func(m *Model) *engine.Job
	o     *Options
	in    runner.Input
	watch runner.Watch
	told  *Watch
	given int // frames that were yielded
}

// bands loads the weights and yields what runner.Run does, see attempt.
func (m *Model) bands(ctx context.Context, plan **Plan, with *[]*runner.Worker, job func(m *Model) *engine.Job, o *Options, in runner.Input, watch runner.Watch, told *Watch) iter.Seq2[runner.Band, error] {
	a := &attempt{model: m, plan: plan, with: with, job: job, o: o, in: in, watch: watch, told: told}
	return a.bands(ctx)
}

// bands loads the weights and yields what runner.Run does. If the device runs out of
// memory, it continues with a smaller plan. The smaller plan computes the finished frames
// again, because later frames need what they leave, but bands does not yield them again.
func (a *attempt) bands(ctx context.Context) iter.Seq2[runner.Band, error] {
	return func(yield func(runner.Band, error) bool) {
		for {
			stopped, err := a.run(ctx, yield)
			if stopped || err == nil {
				return
			}
			if errors.Is(err, gpu.ErrOutOfMemory) {
				var q *Plan
				if q, err = a.less(ctx, err); q != nil {
					if a.told.Less != nil {
						a.told.Less(*a.plan, q, a.given)
					}
					*a.plan = q
					continue
				}
			}
			yield(runner.Band{}, err)
			return
		}
	}
}

// run runs the plan once.
func (a *attempt) run(ctx context.Context, yield func(runner.Band, error) bool) (stopped bool, err error) {
	if err := a.model.load(ctx, *a.plan, a.told.Loading); err != nil {
		return false, err
	}
	for band, err := range runner.Run(ctx, *a.plan, a.model.store, *a.with, a.in, a.watch) {
		if err != nil {
			return false, err
		}
		if band.Frame < a.given {
			continue
		}
		if !yield(band, nil) {
			return true, nil
		}
		if band.Last {
			a.given = band.Frame + 1
		}
	}
	return false, nil
}

// less plans the job with less device memory than the failed plan: in the same tiles, or
// in smaller ones if those give the same result, or if the caller leaves the tile size
// open and no frame is finished. If no such plan exists, it returns why.
func (a *attempt) less(ctx context.Context, why error) (*Plan, error) {
	p, o := *a.plan, a.o.engine()
	open := o.Shrink || o.Tile.Auto
	same := o
	same.Tile, same.Overlap, same.Tiling, same.Shrink = tiling.Choice{Tile: p.Tile}, p.Overlap, p.Tiling, false
	o.Shrink = true
	for _, o := range []engine.Options{same, o} {
		if o.Shrink && a.watch.Keep != nil { // whose memory belongs to these tiles
			break
		}
		for _, o.Budget = range []int64{p.Bytes() / 4 * 3, p.Bytes() - 1} {
			q, err := engine.NewPlan(ctx, a.job(a.model), o) // with the compiled kernels
			if ended := ctx.Err(); ended != nil {
				return nil, ended
			}
			if err != nil || o.Shrink && !(untiled(p) && untiled(q)) && (a.given > 0 || !open) {
				continue
			}
			*a.with, err = a.model.helped(ctx, q, a.job, o)
			return q, err
		}
	}
	if a.given > 0 && open {
		return nil, fmt.Errorf("%w; smaller tiles would not match the %d finished frames", why, a.given)
	}
	return nil, why
}

// untiled reports whether a plan's result equals one tile's.
func untiled(p *Plan) bool { return p.Tiles.Whole() || p.Tiling == Exact }
