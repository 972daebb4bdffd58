package main

import (
	"fmt"

	"tessera/vae"
)

// warm keeps the machine of one clip for the next, where that asks for the same.
type warm struct {
	*app    // who opens it
	machine *machine
	of      string // flags, checkpoint and settings
}

// open is the machine that a clip asks for, whose close does nothing.
func (w *warm) open(a *app, f deviceFlags, path string, s vae.Settings) (*machine, error) {
	if a.chooser != nil { // for that clip alone
		w.drop()
		return a.start(f, path, s)
	}
	of := fmt.Sprintf("%+v %t %s", f, s.Force, path)
	if w.machine != nil && w.of == of {
		return w.machine, nil
	}
	w.drop()
	e, err := w.start(f, path, s)
	if err != nil {
		return nil, err
	}
	e.kept = true
	w.machine, w.of = e, of
	return e, nil
}

// drop closes the machine.
func (w *warm) drop() {
	if w.machine != nil {
		w.machine.kept = false
		w.machine.close()
		w.machine = nil
	}
}
