package machine

import (
	"context"

	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/gpu"
	"tessera/vae"
)

// others returns the adapters to open besides the first: all of its kind and backend, or
// the requested ones.
func (c Choice) others(first gpu.Info) ([]int, error) {
	if !c.All {
		return c.Others, nil
	}
	all, err := Adapters(c.Options)
	var list []int
	for _, i := range all {
		if i.Index != first.Index && i.Backend == first.Backend && (i.Type != "cpu" || first.Type == "cpu") {
			list = append(list, i.Index)
		}
	}
	return list, err
}

// Each returns the numbers of the choice's adapters, the first one first, after opening
// each of them once. Those of all adapters that do not open are left out.
func (o *Opener) Each(ctx context.Context, c Choice) ([]int, error) {
	dev, _, err := OpenFaster(ctx, Tuner(o.Terminal, c.NoTune, c.NoCache), c.Options)
	if err != nil {
		return nil, deviceError(ctx, err)
	}
	first := dev.Info()
	if err := dev.Close(); err != nil {
		return nil, err
	}
	list, err := c.others(first)
	if err != nil {
		return nil, job.Mark(err, job.ErrNoDevice)
	}
	each := []int{first.Index}
	for _, i := range list {
		c.Adapter = i
		err := Opens(c.Options)
		if err != nil && c.All {
			o.Note("adapter %d is not used: %v", i, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		each = append(each, i)
	}
	return each, nil
}

// Opens returns why a device does not open, nil if it does.
func Opens(o gpu.Options) error {
	dev, err := OpenDevice(o)
	if err != nil {
		return job.Mark(err, job.ErrNoDevice)
	}
	return dev.Close()
}

// share opens other adapters, which compute tiles of the machine's jobs.
func (e *Machine) share(ctx context.Context, c Choice, path string, s vae.Settings) error {
	o := c.Options
	list, err := c.others(e.Device.Info())
	if err != nil {
		return job.Mark(err, job.ErrNoDevice)
	}
	if s.Precision = vae.F16; e.Model.Elem.Bytes() == 4 {
		s.Precision = vae.F32
	}
	var models []*vae.Model
	for _, o.Adapter = range list {
		dev, err := OpenDevice(o)
		if err != nil && c.All {
			e.Note("adapter %d is not used: %v", o.Adapter, err)
			continue
		}
		if err != nil {
			return job.Mark(err, job.ErrNoDevice)
		}
		m, err := interrupt.Await(ctx, func() (*vae.Model, error) { return vae.Open(dev, path, s) })
		if err != nil {
			dev.Close()
			return err
		}
		e.others = append(e.others, &Machine{Device: dev, Model: m})
		models = append(models, m)
	}
	return e.Model.Share(models...)
}

// shared reports the adapters that a plan gives no tiles.
func (e *Machine) shared(stage string, p *vae.Plan) {
	for _, text := range p.Unshared {
		e.Note("%s: takes no tiles: %s", stage, text)
	}
	switch {
	case len(e.others) == 0 || len(p.Helpers)+len(p.Unshared) > 0:
	case p.Tiles.Whole():
		e.Note("%s: one tile, so only %s works on it", stage, e.Device.Info().Name)
	default:
		e.Note("%s: %s tiles are blended in order, so only %s works on them", stage, p.Tiling, e.Device.Info().Name)
	}
}

// lost warns of an adapter that failed.
func (e *Machine) lost(adapter gpu.Info, err error) {
	e.Warn("adapter %d, %s, failed and the others continue its tiles: %v", adapter.Index, adapter.Name, err)
}
