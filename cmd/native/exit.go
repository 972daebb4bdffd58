package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"tessera/app/batch"
	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/terminal"
)

// exitCode is the code that an error ends the program with.
func exitCode(ctx context.Context, err error) int {
	if context.Cause(ctx) == interrupt.ErrUnread {
		return job.ExitInterrupted
	}
	if err == nil {
		return job.ExitDone
	}
	if b, ok := errors.AsType[*batch.Error](err); ok {
		return b.Code
	}
	return terminal.ExitCode(ctx, err)
}

// usage makes a usage error of one of the parser's.
func usage(err error) error {
	hint := "`tessera --help` lists the commands.\n"
	parse, ok := errors.AsType[*kong.ParseError](err)
	if ok && parse.Context.Selected() != nil {
		n := parse.Context.Selected()
		hint = fmt.Sprintf("usage: tessera %s\n`tessera %s --help` explains the flags.\n", n.Summary(), n.Name)
	}
	return terminal.Usage(err, hint)
}
