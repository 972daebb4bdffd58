package main

import (
	"fmt"
	"reflect"

	"tessera/app/batch"
	"tessera/app/machine"
	"tessera/cmd/native/flags"
	"tessera/engine"
	"tessera/vae"
)

// clipWorkers run a batch's clips: one worker on the devices of each clip's flags, or
// several side by side, each on an adapter of the batch's --adapter.
type clipWorkers struct {
	*app
	device   flags.Device    // of the batch
	kept     []*machine.Kept // of each worker
	adapters []int           // of each of several workers
}

func newClipWorkers(a *app, device flags.Device) *clipWorkers {
	return &clipWorkers{app: a, device: device, kept: []*machine.Kept{machine.Keep(a.Terminal)}}
}

// start returns the number of workers for this many clips, 0 for a stream: one for each
// adapter, unless there are fewer clips than adapters. One worker reports an adapter that
// does not open with its first clip.
func (w *clipWorkers) start(clips int) int {
	c := w.device.Chosen()
	if !c.All && len(c.Others) == 0 || clips > 0 && clips < 1+len(c.Others) {
		return 1
	}
	each, err := w.machines.Each(w.ctx, c)
	if err != nil || len(each) == 1 || clips > 0 && clips < len(each) {
		return 1
	}
	w.Note("clips run side by side on %d adapters", len(each))
	w.SideBySide()
	w.adapters, w.kept = each, nil
	for _, i := range each {
		w.kept = append(w.kept, machine.Keep(w.ForClip("", fmt.Sprintf("[adapter %d] ", i))))
	}
	return len(each)
}

// parse parses a clip's command line. Several workers give the clip their own adapter in
// place of the batch's, and their part of the host's memory.
func (w *clipWorkers) parse(worker int, args []string) (batch.Command, error) {
	p, err := parseClip(w.kept[worker], args)
	if err != nil || w.adapters == nil {
		return p, err
	}
	d, tiles := p.device()
	if d.Backend == w.device.Backend && d.Dawn == w.device.Dawn && reflect.DeepEqual(d.Adapter, w.device.Adapter) {
		d.Adapter = flags.Adapters{List: w.adapters[worker : worker+1]}
	}
	host := engine.Options{Host: int64(tiles.Host), Offload: vae.Offload(tiles.Offload)}.HostBudget()
	tiles.Host = flags.Bytes(max(1, host/int64(len(w.adapters))))
	return p, nil
}

// dropped closes a worker's device, and reports whether one of several can be opened
// again.
func (w *clipWorkers) dropped(worker int) error {
	w.kept[worker].Drop()
	if w.adapters == nil {
		return nil
	}
	o := w.device.GPU()
	o.Adapter = w.adapters[worker]
	if err := machine.Opens(o); err != nil {
		return fmt.Errorf("adapter %d is not used any more: %w", o.Adapter, err)
	}
	return nil
}

// close closes the devices.
func (w *clipWorkers) close() {
	for _, k := range w.kept {
		k.Drop()
	}
}
