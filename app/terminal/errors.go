package terminal

import (
	"context"
	"errors"
	"fmt"

	"tessera/app/job"
)

// UsageError is an invalid command line.
type UsageError struct {
	error
	Hint string // lines below the error: the expected command line
}

func (e *UsageError) Unwrap() error { return e.error }

// Usage makes a usage error with a hint.
func Usage(err error, hint string) error { return &UsageError{err, hint} }

// Refused returns an error for an invalid input or output, in one line.
func Refused(format string, args ...any) error {
	return &UsageError{error: fmt.Errorf(format, args...)}
}

// ExitCode returns the exit code of a job's error. A job that was cancelled without an
// interrupt has failed.
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
