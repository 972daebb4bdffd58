//go:build !js

package vae

import (
	"context"
	"fmt"

	"tessera/engine"
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

// helped has the other devices take tiles of a plan that has several. What of the host
// this device leaves is shared among them.
func (m *Model) helped(ctx context.Context, p *Plan, job func(m *Model) *engine.Job, options engine.Options) error {
	options.Tile, options.Overlap, options.Tiling, options.Shrink = tiling.Choice{Tile: p.Tile}, p.Overlap, p.Tiling, false
	var helpers []*engine.Helper
	host := options.HostBudget() - p.Host
	for i, other := range m.others {
		options.Host = max(1, host/int64(len(m.others)-i))
		q, err := other.lay(ctx, job, options)
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		if err != nil {
			p.Unshared = append(p.Unshared, fmt.Sprintf("%s: %v", other.info.Name, err))
			continue
		}
		host -= q.Host
		helpers = append(helpers, &engine.Helper{Plan: q, Dev: other.dev, Load: func(ctx context.Context) error { return other.load(ctx, q, nil) }})
	}
	p.Share(helpers)
	return nil
}
