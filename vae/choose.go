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
// name takes what comes first. Where that changes the plan it is asked again, with
// the work of the new one and with what it chose, until it leaves that as it is: a
// plan has texts of kernels that the one before had not. An error ends the planning.
type Chooser func(ctx context.Context, dev *gpu.Device, set *wgsl.Set, work map[wgsl.Workload]int64, chosen wgsl.Choices) (wgsl.Choices, error)

// Noted is a Chooser of the kernels in `in` where they are there, else of what c
// chooses, which is put there.
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

// chosen is a plan for the kernels that KernelSettings.Choose has for it: p, or where
// they are others than p's what the job's plan is with them. Where that is beyond
// what there is, p stands.
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

// work is the FLOPs of a plan's programs that there is a choice for.
func (w *way) work(p *Plan) map[wgsl.Workload]int64 {
	work := map[wgsl.Workload]int64{}
	for program, cost := range p.Programs() {
		if d, ok := w.kernels.Activations.Workload(program); ok {
			work[d] += cost.FLOPs
		}
	}
	return work
}

// take makes the network of a direction anew, for kernels that were chosen.
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
