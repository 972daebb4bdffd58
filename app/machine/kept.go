package machine

import (
	"context"
	"fmt"

	"tessera/app/terminal"
	"tessera/vae"
)

// Kept keeps the machine of one clip for the next, where that asks for the same.
type Kept struct {
	opener  Opener
	machine *Machine
	of      string // choice, checkpoint and settings
}

// Keep begins to keep machines. What is said of opening them is said of no clip.
func Keep(t *terminal.Terminal) *Kept { return &Kept{opener: Opener{Terminal: t}} }

// open is the machine that a clip asks for, whose Close does nothing.
func (k *Kept) open(ctx context.Context, o *Opener, c Choice, path string, s vae.Settings) (*Machine, error) {
	if o.Choose != nil { // for that clip alone
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
