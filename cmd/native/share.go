package main

import (
	"fmt"
	"strconv"
	"strings"

	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/quiet"
	"tessera/gpu"
	"tessera/vae"
)

// adaptersFlag are adapters' numbers, the first of which puts tiles together.
// None is the best.
type adaptersFlag struct {
	all  bool
	list []int
}

// UnmarshalText reads "best", "all" or numbers with commas between them.
func (f *adaptersFlag) UnmarshalText(text []byte) error {
	*f = adaptersFlag{all: string(text) == "all"}
	if f.all || string(text) == "best" {
		return nil
	}
	for number := range strings.SplitSeq(string(text), ",") {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return fmt.Errorf("%q, expected best, all or numbers from `tessera devices` such as 0,1", text)
		}
		f.list = append(f.list, int(n))
	}
	return nil
}

// first is the adapter to open, -1 for the best.
func (f adaptersFlag) first() int {
	if len(f.list) == 0 {
		return -1
	}
	return f.list[0]
}

// others are the adapters to open besides that: all of its kind and its backend,
// or those that are asked for.
func (f adaptersFlag) others(o gpu.Options, first gpu.Info) ([]int, error) {
	if !f.all {
		return f.list[min(1, len(f.list)):], nil
	}
	var all []gpu.Info
	var err error
	quiet.Run(func() { all, err = gpu.Adapters(o) })
	var list []int
	for _, i := range all {
		if i.Index != first.Index && i.Backend == first.Backend && (i.Type != "cpu" || first.Type == "cpu") {
			list = append(list, i.Index)
		}
	}
	return list, err
}

// share has other adapters make tiles of the machine's jobs.
func (a *app) share(e *machine, f deviceFlags, path string, s vae.Settings) error {
	o := f.options()
	list, err := f.Adapter.others(o, e.dev.Info())
	if err != nil {
		return job.Mark(err, job.ErrNoDevice)
	}
	if s.Precision = vae.F16; e.model.Elem.Bytes() == 4 {
		s.Precision = vae.F32
	}
	var models []*vae.Model
	for _, o.Adapter = range list {
		dev, err := openDevice(o)
		if err != nil && f.Adapter.all {
			a.Note("adapter %d is not used: %v", o.Adapter, err)
			continue
		}
		if err != nil {
			return job.Mark(err, job.ErrNoDevice)
		}
		m, err := interrupt.Await(a.ctx, func() (*vae.Model, error) { return vae.Open(dev, path, s) })
		if err != nil {
			dev.Close()
			return err
		}
		e.others = append(e.others, &machine{dev: dev, model: m})
		models = append(models, m)
	}
	return e.model.Share(models...)
}

// shared tells which adapters have nothing to do with a plan.
func (a *app) shared(stage string, e *machine, p *vae.Plan) {
	for _, text := range p.Unshared {
		a.Note("%s: takes no tiles: %s", stage, text)
	}
	switch {
	case len(e.others) == 0 || len(p.Helpers)+len(p.Unshared) > 0:
	case p.Tiles.Whole():
		a.Note("%s: one tile, which only %s works on", stage, e.dev.Info().Name)
	default:
		a.Note("%s: tiles of %s are blended in their order: only %s works on them", stage, p.Tiling, e.dev.Info().Name)
	}
}

// lost warns of an adapter that failed.
func (a *app) lost(adapter gpu.Info, err error) {
	a.Warn("adapter %d, %s, failed, others make its tiles: %v", adapter.Index, adapter.Name, err)
}
