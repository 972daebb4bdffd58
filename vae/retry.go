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

// attempt is a plan under way, which another one takes the place of where the
// device has no memory for it.
type attempt struct {
	model *Model
	plan  **Plan
	with  *[]*runner.Worker // the devices that have its helpers' plans
	job   func(m *Model) *engine.Job
	o     *Options
	in    runner.Input
	watch runner.Watch
	told  *Watch
	given int // frames
}

// bands loads the weights and yields what runner.Run does, see attempt.
func (m *Model) bands(ctx context.Context, plan **Plan, with *[]*runner.Worker, job func(m *Model) *engine.Job, o *Options, in runner.Input, watch runner.Watch, told *Watch) iter.Seq2[runner.Band, error] {
	a := &attempt{model: m, plan: plan, with: with, job: job, o: o, in: in, watch: watch, told: told}
	return a.bands(ctx)
}

// bands loads the weights and yields what runner.Run does. Out of memory, it
// goes on with a plan that takes less: what is finished is made once more, since
// later frames need what it leaves, and not yielded again.
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

// less plans the job with less memory on the device than the plan that failed: in
// the same tiles, else in smaller ones where those make the same, or the caller
// leaves their size open and no frame is finished. Where there is none, why says so.
func (a *attempt) less(ctx context.Context, why error) (*Plan, error) {
	p, o := *a.plan, a.o.engine()
	open := o.Shrink || o.Tile.Auto
	same := o
	same.Tile, same.Overlap, same.Tiling, same.Shrink = tiling.Choice{Tile: p.Tile}, p.Overlap, p.Tiling, false
	o.Shrink = true
	for _, o := range []engine.Options{same, o} {
		if o.Shrink && a.watch.Keep != nil { // whose memory is of these tiles
			break
		}
		for _, o.Budget = range []int64{p.Bytes() / 4 * 3, p.Bytes() - 1} {
			q, err := engine.NewPlan(ctx, a.job(a.model), o) // with the kernels that there are
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

// untiled tells whether a plan makes what one tile does.
func untiled(p *Plan) bool { return p.Tiles.Whole() || p.Tiling == Exact }
