package vae

import (
	"context"
	"fmt"
	"maps"

	"tessera/engine"
	"tessera/gpu"
	"tessera/wgsl"
)

// Chooser chooses kernels on a device for a job whose commands set has recorded. work is
// the FLOPs of the operations that have several kernels. Operations that the result does
// not name use the first kernel. If the choice changes the plan, Chooser is called again
// with the new plan's work and with its last choice, until it repeats that choice,
// because a new plan may contain kernels that the previous one did not. An error ends the
// planning.
type Chooser func(ctx context.Context, dev *gpu.Device, set *wgsl.Set, work map[wgsl.Workload]int64, chosen wgsl.Choices) (wgsl.Choices, error)

// Noted returns a Chooser that returns the kernels in `in` if there is set, and otherwise
// calls c and stores its choice in `in`.
func (c Chooser) Noted(in *map[string]string, there bool) Chooser {
	return func(ctx context.Context, dev *gpu.Device, set *wgsl.Set, work map[wgsl.Workload]int64, chosen wgsl.Choices) (wgsl.Choices, error) {
		if there {
			return *in, nil
		}
		choices, err := c(ctx, dev, set, work, chosen)
		*in = choices
		return choices, err
	}
}

// chosen replaces the plan p by the job's plan with the kernels that
// KernelSettings.Choose returns. If these are p's kernels, or no such plan is possible,
// it returns p.
func (m *Model) chosen(ctx context.Context, p *Plan, job func(*Model) *engine.Job, o engine.Options) (*Plan, error) {
	choose := m.settings.Kernels.Choose
	if choose == nil || m.dev == nil {
		return p, nil
	}
	w := m.encoder
	if p.Of(m.decoder.net) {
		w = m.decoder
	}
	var choices wgsl.Choices
	for {
		var err error
		choices, err = choose(ctx, m.dev, w.kernels.Activations, w.work(p), choices)
		if err != nil || maps.Equal(choices, w.chosen) {
			return p, err
		}
		before := *w
		if err := m.take(w, choices); err != nil {
			return nil, err
		}
		q, err := engine.NewPlan(ctx, job(m), o)
		if err != nil {
			*w = before
			return p, ctx.Err()
		}
		m.store.Unload(before.net.Weights)
		p = q
	}
}

// work returns the FLOPs of a plan's programs that have several kernels.
func (w *way) work(p *Plan) map[wgsl.Workload]int64 {
	work := map[wgsl.Workload]int64{}
	for program, cost := range p.Programs() {
		if d, ok := w.kernels.Activations.Workload(program); ok {
			work[d] += cost.FLOPs
		}
	}
	return work
}

// take rebuilds the network of a direction for the chosen kernels.
func (m *Model) take(w *way, choices wgsl.Choices) (err error) {
	k := m.kernels
	if k.Activations, err = wgsl.NewSet(m.Elem, m.info, m.shortened(choices)); err != nil {
		return fmt.Errorf("vae: %w", err)
	}
	k.Activations.Leaky = m.Config.Leaky
	build := m.family.encoder
	if w == m.decoder {
		build = m.family.decoder
	}
	var specs []spec
	w.kernels, w.chosen, w.net = k, choices, m.network(build, k, &specs)
	return nil
}
