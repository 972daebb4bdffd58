package machine

import (
	"context"
	"fmt"

	"tessera/app/terminal"
	"tessera/vae"
)

// Kept reuses one clip's machine for the next clip if that needs the same one.
type Kept struct {
	opener  Opener
	machine *Machine
	of      string // its choice, checkpoint and settings
}

// Keep returns an empty Kept. Messages about opening a machine carry no clip's name.
func Keep(t *terminal.Terminal) *Kept { return &Kept{opener: Opener{Terminal: t}} }

// open returns the machine for a clip; its Close does nothing.
func (k *Kept) open(ctx context.Context, o *Opener, c Choice, path string, s vae.Settings) (*Machine, error) {
	if o.Choose != nil { // kernels are chosen for this clip alone
		k.Drop()
		return o.start(ctx, c, path, s)
	}
	winograd := "auto"
	if s.Kernels.Winograd != nil {
		winograd = fmt.Sprint(*s.Kernels.Winograd)
	}
	of := fmt.Sprintf("%+v %s %t %t %s %s", c, s.Precision, s.Force, s.Kernels.NoFold, winograd, path)
	if k.machine == nil || k.of != of {
		k.Drop()
		e, err := k.opener.start(ctx, c, path, s)
		if err != nil {
			return nil, err
		}
		k.machine, k.of = e, of
	}
	return &Machine{
		Terminal: o.Terminal, Device: k.machine.Device, Model: k.machine.Model, others: k.machine.others,
		options: k.machine.options, profiling: o.Profiling, kept: true,
	}, nil
}

// Drop closes the machine.
func (k *Kept) Drop() {
	if k.machine != nil {
		k.machine.Close()
		k.machine = nil
	}
}
