package terminal

import (
	"context"
	"errors"
	"fmt"

	"tessera/app/job"
)

// UsageError is a command line that can't be run.
type UsageError struct {
	error
	Hint string // lines below it: how the command line should look
}

func (e *UsageError) Unwrap() error { return e.error }

// Usage makes an error one of usage, with a hint.
func Usage(err error, hint string) error { return &UsageError{err, hint} }

// Refused is an output or input that can't be what it is asked to be, in one line.
func Refused(format string, args ...any) error {
	return &UsageError{error: fmt.Errorf(format, args...)}
}

// ExitCode is the code of a job's error. A cancelled job that nobody interrupted has
// failed.
func ExitCode(ctx context.Context, err error) int {
	if _, bad := errors.AsType[*UsageError](err); bad {
		return job.ExitUsage
	}
	code := job.KindOf(err).Exit
	if code == job.ExitInterrupted && ctx.Err() == nil {
		return job.ExitFailed
	}
	return code
}
