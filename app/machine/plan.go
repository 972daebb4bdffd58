package machine

import (
	"errors"
	"fmt"
	"strings"

	"tessera/app/job"
	"tessera/engine"
	"tessera/gpu"
	"tessera/tiling"
	"tessera/vae"
)

// layOut plans a stage and reports long planning, the tiles, or what to do if the job is
// too large.
func (e *Machine) layOut(stage string, o vae.Options, plan func(vae.Options) (*vae.Plan, error)) error {
	done := e.Planning(stage)
	defer done()
	p, err := plan(o)
	if err != nil {
		return Unplanned(err, o, plan)
	}
	done()
	e.planned(stage, e.Model.Config, o, p)
	e.shared(stage, p)
	return nil
}

// planned reports how a stage is cut, unless the user asked for exactly that.
func (e *Machine) planned(stage string, c vae.Config, o vae.Options, p *vae.Plan) {
	if text := job.Note(c, o, p); text != "" {
		e.Note("%s: %s", stage, text)
	}
}

// less warns that the device ran out of memory and a smaller plan continues the stage.
func (e *Machine) less(stage string) func(was, now *vae.Plan, finished int) {
	return func(was, now *vae.Plan, finished int) { e.Warn("%s: %s", stage, job.Less(was, now, finished)) }
}

// Unplanned adds advice to the error of a job that is too large. plan plans it with other
// options.
func Unplanned(err error, o vae.Options, plan func(vae.Options) (*vae.Plan, error)) error {
	const tile, memory = "--tile auto takes the largest tile that fits", "--memory sets the budget"
	var hints []string
	switch {
	case errors.Is(err, vae.ErrHost):
		if !o.Tile.Auto && !o.Shrink {
			hints = append(hints, "a smaller --tile needs less")
		}
		if o.MemoryFormat != vae.MemoryI8 {
			hints = append(hints, "--memory-format i8 needs about half")
		}
		hints = append(hints, "--offload off needs none, with tiles that fit the device", "--host-memory sets the limit")
		if o.Host == 0 {
			hints = append(hints, "ending other programs frees some")
		}
	case errors.Is(err, tiling.ErrBudget):
		hints = []string{memory}
	case errors.Is(err, vae.ErrMemory):
		hints = []string{tile, memory}
	case errors.Is(err, gpu.ErrTooLarge):
		hints = []string{tile}
	default:
		return err
	}
	if !errors.Is(err, vae.ErrHost) && o.Offload != vae.OffloadOn {
		o.Offload = vae.OffloadOn
		if p, err := plan(o); err == nil && p.Host > 0 {
			hints = append([]string{fmt.Sprintf("--offload on fits it, with %s on the device and %s on the host", engine.Bytes(p.Bytes()), engine.Bytes(p.Host))}, hints...)
		}
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(hints, ", "))
}
