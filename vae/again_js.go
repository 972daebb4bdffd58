package vae

import (
	"context"
	"iter"

	"tessera/engine"
)

// bands loads the weights and yields what the plan's Run does. Out of memory, a
// page is told so: its engine is as large as it should be.
func (a *attempt) bands(ctx context.Context) iter.Seq2[engine.Band, error] {
	if err := a.model.load(ctx, *a.plan, a.told.Loading); err != nil {
		return func(yield func(engine.Band, error) bool) { yield(engine.Band{}, err) }
	}
	return (*a.plan).Run(ctx, a.model.dev, a.in, a.watch)
}
