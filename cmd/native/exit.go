package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"tessera/app/interrupt"
	"tessera/app/job"
)

// exitCode is the code that an error ends the program with.
func exitCode(ctx context.Context, err error) int {
	if context.Cause(ctx) == interrupt.ErrUnread {
		return job.ExitInterrupted
	}
	if err == nil {
		return job.ExitDone
	}
	if b, ok := errors.AsType[*batchError](err); ok {
		return b.code
	}
	return codeOf(ctx, err)
}

// codeOf is the code of a job's error. A cancelled job that nobody interrupted has
// failed.
func codeOf(ctx context.Context, err error) int {
	if _, bad := errors.AsType[*usageError](err); bad {
		return job.ExitUsage
	}
	code := job.KindOf(err).Exit
	if code == job.ExitInterrupted && ctx.Err() == nil {
		return job.ExitFailed
	}
	return code
}

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
