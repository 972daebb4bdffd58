//go:build !js

package vae

import (
	"context"
	"fmt"
	"maps"

	"tessera/engine"
	"tessera/gpu"
	"tessera/wgsl"
)

// Chooser chooses kernels on a device for a job whose commands set has recorded,
// where work is the FLOPs of those that there is a choice for. What it does not
// name takes what comes first. An error ends the planning.
type Chooser func(ctx context.Context, dev *gpu.Device, set *wgsl.Set, work map[wgsl.Duty]int64) (wgsl.Choices, error)

// Noted is a Chooser of the kernels in `in` where they are there, else of what c
// chooses, which is put there.
func (c Chooser) Noted(in *map[string]string, there bool) Chooser {
	return func(ctx context.Context, dev *gpu.Device, set *wgsl.Set, work map[wgsl.Duty]int64) (wgsl.Choices, error) {
		if there {
			return *in, nil
		}
		choices, err := c(ctx, dev, set, work)
		*in = choices
		return choices, err
	}
}

// chosen is a plan for the kernels that Settings.Choose has for it: p, or where
// they are others than p's what the job's plan is with them. Where that is beyond
// what there is, p stands.
func (m *Model) chosen(ctx context.Context, p *Plan, job func(*Model) *engine.Job, o engine.Options) (*Plan, error) {
	if m.choose == nil || m.dev == nil {
		return p, nil
	}
	w := m.encoder
	if p.Of(m.decoder.net) {
		w = m.decoder
	}
	work := map[wgsl.Duty]int64{}
	for program, cost := range p.Programs() {
		if d, ok := w.kernels.Activations.Duty(program); ok {
			work[d] += cost.FLOPs
		}
	}
	choices, err := m.choose(ctx, m.dev, w.kernels.Activations, work)
	if err != nil || maps.Equal(choices, w.chosen) {
		return p, err
	}
	before := *w
	if err := m.take(w, choices); err != nil {
		return nil, err
	}
	q, err := engine.NewPlan(ctx, job(m), o)
	if err == nil {
		before.net.Weights.Unload(m.dev)
		return q, nil
	}
	*w = before
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	return p, nil
}

// take makes the network of a direction anew, for kernels that were chosen.
func (m *Model) take(w *way, choices wgsl.Choices) (err error) {
	k := m.kernels
	if k.Activations, err = wgsl.NewSet(m.Elem, m.info, m.shortened(choices)); err != nil {
		return fmt.Errorf("vae: %w", err)
	}
	build := m.family.encoder
	if w == m.decoder {
		build = m.family.decoder
	}
	var specs []spec
	w.kernels, w.chosen, w.net = k, choices, m.network(build, k, &specs)
	return nil
}
