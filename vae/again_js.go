package vae

import (
	"context"
	"iter"

	"tessera/engine"
)

// bands loads the weights and yields what the plan's Run does. Out of memory, a
// page is told so: its engine is as large as it should be.
func (m *Model) bands(ctx context.Context, plan **Plan, _ func(m *Model) *engine.Job, _ *Options, in engine.Input, watch engine.Watch, told *Watch) iter.Seq2[engine.Band, error] {
	if err := m.load(ctx, *plan, told.Loading); err != nil {
		return func(yield func(engine.Band, error) bool) { yield(engine.Band{}, err) }
	}
	return (*plan).Run(ctx, m.dev, in, watch)
}
