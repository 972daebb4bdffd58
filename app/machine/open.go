package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/models"
	"tessera/app/quiet"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/format"
	"tessera/gpu"
	"tessera/tune"
	"tessera/vae"
)

// Opener opens checkpoints and devices, and reports what it finds.
type Opener struct {
	*terminal.Terminal
	Choose    func(vae.Chooser) vae.Chooser // replaces the chooser of kernels; nil: no change
	Profiling bool                          // profile the stages
	Kept      *Kept                         // reuses the machine for the next clip; nil: does not
}

// Choice is the device to open.
type Choice struct {
	gpu.Options       // Adapter is the one that assembles tiles
	All         bool  // all adapters of its kind compute tiles too
	Others      []int // other adapters that compute tiles too
	NoTune      bool  // use the default kernels
}

// Machine is an open device with a model on it, and other adapters that compute tiles.
type Machine struct {
	*terminal.Terminal
	Device   *gpu.Device
	Model    *vae.Model
	Profiles []*report.Profile // one per finished stage, if profiling

	options   gpu.Options              // the device's options
	expected  map[string]time.Duration // of stages, by their plans; nil: unknown
	profiling bool
	others    []*Machine
	kept      bool // shared with later clips
}

// Check reads the model without a device, so that a bad one is reported early.
func (o *Opener) Check(ctx context.Context, path string, s vae.Settings) (vae.Config, error) {
	f, err := interrupt.Await(ctx, func() (format.File, error) { return format.Open(path) })
	if err != nil {
		return vae.Config{}, job.Mark(models.Missing(path, err), job.ErrInput)
	}
	defer CloseFile(ctx, f)
	return o.CheckFile(ctx, f, s)
}

// CheckFor is Check for a model that must support the given directions.
func (o *Opener) CheckFor(ctx context.Context, path string, s vae.Settings, directions ...string) (vae.Config, error) {
	c, err := o.Check(ctx, path, s)
	for _, direction := range directions {
		if err == nil {
			err = c.Can(direction)
		}
	}
	return c, err
}

// CheckFile is Check for an open file, which stays open.
func (o *Opener) CheckFile(ctx context.Context, f format.File, s vae.Settings) (vae.Config, error) {
	adapter := gpu.Info{Limits: gpu.DefaultLimits}
	m, err := inspect(ctx, f, adapter, vae.Settings{Precision: s.Precision, As: s.As})
	switch {
	case errors.Is(err, vae.ErrFlat) && s.Force:
		o.Warn("%v", err)
		m, err = inspect(ctx, f, adapter, s)
	case errors.Is(err, vae.ErrFlat):
		err = fmt.Errorf("%w (--force loads it anyway)", err)
	}
	if err != nil {
		return vae.Config{}, err
	}
	if m.Config.Beside != "" {
		o.Note("%s: latents are scaled by the statistics in %s, not the published ones", f.Name(), m.Config.Beside)
	}
	if m.Config.Quantised != "" {
		o.Note("%s: %s", f.Name(), m.Config.Quantised)
	}
	err = m.Config.IdentifyFile(f.Name())
	return m.Config, err
}

// inspect is vae.InspectFile, but returns at Ctrl-C.
func inspect(ctx context.Context, f format.File, adapter gpu.Info, s vae.Settings) (*vae.Model, error) {
	return interrupt.Await(ctx, func() (*vae.Model, error) { return vae.InspectFile(f, adapter, s) })
}

// CloseFile closes f, unless Ctrl-C left a goroutine that reads it; the program then ends
// soon.
func CloseFile(ctx context.Context, f format.File) {
	if ctx.Err() == nil {
		f.Close()
	}
}

// Open opens the chosen device and a model on it, or reuses the previous clip's.
func (o *Opener) Open(ctx context.Context, c Choice, path string, s vae.Settings) (*Machine, error) {
	if o.Kept != nil {
		return o.Kept.open(ctx, o, c, path, s)
	}
	return o.start(ctx, c, path, s)
}

// start opens a new machine.
func (o *Opener) start(ctx context.Context, c Choice, path string, s vae.Settings) (*Machine, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	tuner := Tuner(o.Terminal, c.NoTune, c.NoCache)
	dev, why, err := OpenFaster(ctx, tuner, c.Options)
	if err != nil {
		return nil, deviceError(ctx, err)
	}
	if why != "" {
		c.Adapter = dev.Info().Index
	}
	for reason := range strings.Lines(dev.Info().Passed) {
		o.Note("not used: %s", strings.TrimSpace(reason))
	}
	s.Kernels.Choose = tuner.Choose
	if o.Choose != nil {
		s.Kernels.Choose = o.Choose(s.Kernels.Choose)
	}
	m, err := interrupt.Await(ctx, func() (*vae.Model, error) { return vae.Open(dev, path, s) })
	if err != nil {
		dev.Close()
		return nil, err
	}
	e := &Machine{Terminal: o.Terminal, Device: dev, Model: m, options: c.Options, profiling: o.Profiling}
	if err := e.share(ctx, c, path, s); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// Tuner returns what chooses kernels for jobs; with off it makes no trials.
func Tuner(t *terminal.Terminal, off, noCache bool) *tune.Tuner {
	return &tune.Tuner{Off: off, NoCache: noCache, Say: func(text string) { t.Note("%s", text) }}
}

// deviceError marks the error of opening a device, unless the context ended.
func deviceError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return job.Mark(err, job.ErrNoDevice)
}

// OpenDevice is gpu.Open without the library's own messages.
func OpenDevice(o gpu.Options) (dev *gpu.Device, err error) {
	quiet.Run(func() { dev, err = gpu.Open(o) })
	return dev, err
}

// Adapters is gpu.Adapters without the library's own messages.
func Adapters(o gpu.Options) (all []gpu.Info, err error) {
	quiet.Run(func() { all, err = gpu.Adapters(o) })
	return all, err
}

// Close closes the machine unless later clips share it.
func (e *Machine) Close() {
	if e.kept {
		return
	}
	for _, o := range e.others {
		o.Close()
	}
	e.Model.Close()
	e.Device.Close()
}
