package vae

import (
	"context"
	"iter"

	"tessera/engine"
	"tessera/engine/runner"
)

// bands loads the weights and yields what runner.Run does. Out of memory, a
// page is told so: its engine is as large as it should be.
func (m *Model) bands(ctx context.Context, plan **Plan, _ *[]*runner.Worker, _ func(m *Model) *engine.Job, _ *Options, in runner.Input, watch runner.Watch, told *Watch) iter.Seq2[runner.Band, error] {
	if err := m.load(ctx, *plan, told.Loading); err != nil {
		return func(yield func(runner.Band, error) bool) { yield(runner.Band{}, err) }
	}
	return runner.Run(ctx, *plan, m.store, nil, in, watch)
}
