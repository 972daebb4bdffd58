package vae

import (
	"context"
	"fmt"

	"tessera/engine"
	"tessera/gpu"
	"tessera/tiling"
)

// Share has others, which are models of the same file on other devices, make
// tiles of this one's jobs, each the next when it is free. They store
// activations as this one does, are nobody else's meanwhile, and stay the
// caller's to close.
func (m *Model) Share(others ...*Model) error {
	for _, o := range others {
		if o.Elem.Bytes() != m.Elem.Bytes() {
			return fmt.Errorf("vae: %s stores activations as %v, %s as %v, expected the same", o.info.Name, o.Elem, m.info.Name, m.Elem)
		}
	}
	m.others = others
	return nil
}

// lost tells of a device that failed.
func (m *Model) lost(w Watch) func(gpu.Info, error) {
	if w.Lost == nil {
		return nil
	}
	return func(adapter gpu.Info, err error) { w.Lost(adapter, m.explain(err)) }
}

// plan lays a model's job out, on the other devices too where it has several
// tiles.
func (m *Model) plan(ctx context.Context, job func(m *Model) *engine.Job, o Options) (*Plan, error) {
	lay := func(m *Model, options engine.Options) (*Plan, error) {
		p, err := engine.NewPlan(ctx, job(m), options)
		if err == nil {
			p, err = m.chosen(ctx, p, job, options)
		}
		if err != nil {
			return nil, m.explain(err)
		}
		return p, nil
	}
	options := o.engine()
	p, err := lay(m, options)
	if err != nil || p.Tiles.Whole() {
		return p, err
	}
	options.Tile, options.Overlap, options.Tiling, options.Shrink = tiling.Choice{Tile: p.Tile}, p.Overlap, p.Tiling, false
	var helpers []*engine.Helper
	for _, other := range m.others {
		q, err := lay(other, options)
		if ended := ctx.Err(); ended != nil {
			return nil, ended
		}
		if err != nil {
			p.Unshared = append(p.Unshared, fmt.Sprintf("%s: %v", other.info.Name, err))
			continue
		}
		helpers = append(helpers, &engine.Helper{Plan: q, Dev: other.dev, Load: func(ctx context.Context) error { return other.load(ctx, q, nil) }})
	}
	p.Share(helpers)
	return p, nil
}
