package vae

import (
	"context"
	"fmt"

	"tessera/engine"
	"tessera/engine/runner"
	"tessera/tiling"
)

// Share lets other models, of the same file on other devices, compute tiles of this
// model's jobs; each takes the next tile when it is free. They must store activations as
// this model does and must not be used otherwise meanwhile. The caller closes them.
func (m *Model) Share(others ...*Model) error {
	for _, o := range others {
		if o.Elem.Bytes() != m.Elem.Bytes() {
			return fmt.Errorf("vae: %s stores activations as %v, %s as %v, expected the same", o.info.Name, o.Elem, m.info.Name, m.Elem)
		}
	}
	m.others = others
	return nil
}

// helped plans the job for the other devices, the workers, if it has several tiles. They
// share the host memory that this device leaves.
func (m *Model) helped(ctx context.Context, p *Plan, job func(m *Model) *engine.Job, options engine.Options) ([]*runner.Worker, error) {
	if p.Tiles.Whole() {
		return nil, nil
	}
	options.Tile, options.Overlap, options.Tiling, options.Shrink = tiling.Choice{Tile: p.Tile}, p.Overlap, p.Tiling, false
	var helpers []*engine.Helper
	var workers []*runner.Worker
	host := options.HostBudget() - p.Host
	for i, other := range m.others {
		options.Host = max(1, host/int64(len(m.others)-i))
		q, err := other.lay(ctx, job, options)
		if ended := ctx.Err(); ended != nil {
			return nil, ended
		}
		if err != nil {
			p.Unshared = append(p.Unshared, fmt.Sprintf("%s: %v", other.info.Name, err))
			continue
		}
		host -= q.Host
		h := &engine.Helper{Plan: q, Adapter: other.info}
		helpers = append(helpers, h)
		workers = append(workers, &runner.Worker{Helper: h, On: other.store, Load: func(ctx context.Context) error { return other.load(ctx, q, nil) }})
	}
	if p.Share(helpers); p.Helpers == nil {
		workers = nil
	}
	return workers, nil
}
