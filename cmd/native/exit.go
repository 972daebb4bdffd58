package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"tessera/gpu"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

// Exit codes; description tells them to users.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInput       = 3
	exitDevice      = 4
	exitInterrupted = 130
)

// exitCode is the code that an error ends the program with.
func exitCode(ctx context.Context, err error) int {
	_, badUsage := errors.AsType[*usageError](err)
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil:
		return exitDone
	case ctx.Err() != nil && is(context.Canceled):
		return exitInterrupted
	case badUsage || is(tiling.ErrTile, tiling.ErrOverlap, vae.ErrTiling):
		return exitUsage
	case is(media.ErrInput, vae.ErrBadModel):
		return exitInput
	case is(gpu.ErrNoLibrary, gpu.ErrNoAdapter, errNoDevice):
		return exitDevice
	}
	return exitFailed
}

// errNoDevice: the adapter is there, but no device can be opened on it.
var errNoDevice = errors.New("no usable device")

// kindError makes an error one of kind and keeps its words.
type kindError struct {
	error
	kind error
}

func (e kindError) Unwrap() []error { return []error{e.error, e.kind} }

// usageError is a command line that can't be run, and how it should look.
type usageError struct {
	error
	hint string
}

func (e *usageError) Unwrap() error { return e.error }

// usage makes a usage error of one of the parser's.
func usage(err error) error {
	e := &usageError{error: err, hint: "`tessera --help` lists the commands.\n"}
	parse, ok := errors.AsType[*kong.ParseError](err)
	if ok && parse.Context.Selected() != nil {
		n := parse.Context.Selected()
		e.hint = fmt.Sprintf("usage: tessera %s\n`tessera %s --help` explains the flags.\n", n.Summary(), n.Name)
	}
	return e
}
