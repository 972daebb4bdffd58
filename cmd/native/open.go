package main

import (
	"errors"
	"fmt"
	"strings"

	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/quiet"
	"tessera/engine"
	"tessera/format"
	"tessera/gpu"
	"tessera/tiling"
	"tessera/vae"
)

// machine is an open device with a model on it, and others that take tiles.
type machine struct {
	dev    *gpu.Device
	model  *vae.Model
	others []*machine
	kept   bool // from one clip to the next
}

// check reads the model without a device, so that a bad one is told first.
func (a *app) check(path string, s vae.Settings) (vae.Config, error) {
	f, err := interrupt.Await(a.ctx, func() (format.File, error) { return format.Open(path) })
	if err != nil {
		return vae.Config{}, job.Mark(err, job.ErrInput)
	}
	defer a.close(f)
	return a.checkFile(f, s)
}

// checkFor is check of a model that is to do what is named.
func (a *app) checkFor(path string, s vae.Settings, directions ...string) (vae.Config, error) {
	c, err := a.check(path, s)
	for _, direction := range directions {
		if err == nil {
			err = c.Can(direction)
		}
	}
	return c, err
}

// checkFile is check of an open file, which stays open.
func (a *app) checkFile(f format.File, s vae.Settings) (vae.Config, error) {
	adapter := gpu.Info{Limits: gpu.DefaultLimits}
	m, err := a.inspect(f, adapter, vae.Settings{Precision: s.Precision})
	switch {
	case errors.Is(err, vae.ErrFlat) && s.Force:
		a.Warn("%v", err)
		m, err = a.inspect(f, adapter, s)
	case errors.Is(err, vae.ErrFlat):
		err = fmt.Errorf("%w (--force takes it all the same)", err)
	}
	if err != nil {
		return vae.Config{}, err
	}
	if m.Config.Beside != "" {
		a.Note("%s: latents are scaled by the statistics in %s, not by the published ones", f.Name(), m.Config.Beside)
	}
	if m.Config.Quantised != "" {
		a.Note("%s: %s", f.Name(), m.Config.Quantised)
	}
	err = m.Config.IdentifyFile(f.Name())
	return m.Config, err
}

// inspect is vae.InspectFile that Ctrl-C ends.
func (a *app) inspect(f format.File, adapter gpu.Info, s vae.Settings) (*vae.Model, error) {
	return interrupt.Await(a.ctx, func() (*vae.Model, error) { return vae.InspectFile(f, adapter, s) })
}

// close closes f, unless Ctrl-C left somebody reading it; then the program ends.
func (a *app) close(f format.File) {
	if a.ctx.Err() == nil {
		f.Close()
	}
}

// open opens the device that the flags choose, and a model on it, or takes what is
// kept of the clip before.
func (a *app) open(f deviceFlags, path string, s vae.Settings) (*machine, error) {
	if a.warm != nil {
		return a.warm.open(a, f, path, s)
	}
	return a.start(f, path, s)
}

// start is open, anew.
func (a *app) start(f deviceFlags, path string, s vae.Settings) (*machine, error) {
	if err := a.ctx.Err(); err != nil {
		return nil, err
	}
	dev, err := openDevice(f.options())
	if err != nil {
		return nil, job.Mark(err, job.ErrNoDevice)
	}
	for reason := range strings.Lines(dev.Info().Passed) {
		a.Note("not used: %s", strings.TrimSpace(reason))
	}
	s.Choose = f.choose(a, f.NoCache)
	if a.chooser != nil {
		s.Choose = a.chooser(s.Choose)
	}
	m, err := interrupt.Await(a.ctx, func() (*vae.Model, error) { return vae.Open(dev, path, s) })
	if err != nil {
		dev.Close()
		return nil, err
	}
	e := &machine{dev: dev, model: m}
	if err := a.share(e, f, path, s); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// openDevice is gpu.Open without a library's own chatter.
func openDevice(o gpu.Options) (dev *gpu.Device, err error) {
	quiet.Run(func() { dev, err = gpu.Open(o) })
	return dev, err
}

func (e *machine) close() {
	if e.kept {
		return
	}
	for _, o := range e.others {
		o.close()
	}
	e.model.Close()
	e.dev.Close()
}

// layOut plans a stage with options, and tells of it where it takes long, how it is
// cut, or what to do about one that is too large.
func (a *app) layOut(stage string, e *machine, o vae.Options, plan func(vae.Options) (*vae.Plan, error)) error {
	done := a.Planning(stage)
	defer done()
	p, err := plan(o)
	if err != nil {
		return unplanned(err, o, plan)
	}
	done()
	a.planned(stage, e.model.Config, o, p)
	a.shared(stage, e, p)
	return nil
}

// planned says how a stage is cut, where that is news.
func (a *app) planned(stage string, c vae.Config, o vae.Options, p *vae.Plan) {
	if text := job.Note(c, o, p); text != "" {
		a.Note("%s: %s", stage, text)
	}
}

// less warns where the device had no memory for what was planned of a stage.
func (a *app) less(stage string) func(was, now *vae.Plan, finished int) {
	return func(was, now *vae.Plan, finished int) { a.Warn("%s: %s", stage, job.Less(was, now, finished)) }
}

// unplanned tells what to do about a job that is too large. plan plans it with other
// options.
func unplanned(err error, o vae.Options, plan func(vae.Options) (*vae.Plan, error)) error {
	const tile, memory = "--tile auto takes the largest tile that fits", "--memory sets the budget"
	var hints []string
	switch {
	case errors.Is(err, vae.ErrHost):
		if !o.Tile.Auto && !o.Shrink {
			hints = append(hints, "a smaller --tile takes less")
		}
		if o.MemoryFormat != vae.MemoryI8 {
			hints = append(hints, "--memory-format i8 takes about half")
		}
		hints = append(hints, "--offload off takes none, with tiles that fit the device", "--host-memory sets what may be taken")
		if o.Host == 0 {
			hints = append(hints, "other programs that end leave more")
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
			hints = append([]string{fmt.Sprintf("--offload on has it, with %s on the device and %s on the host", engine.Bytes(p.Bytes()), engine.Bytes(p.Host))}, hints...)
		}
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(hints, ", "))
}
