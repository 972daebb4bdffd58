// Package interrupt ends a command early: on Ctrl-C, on a request to terminate, when the
// terminal is closed, and when the reader of its output has gone.
//
// Context returns the command's context, which ends then. It also replaces standard output
// and error if they are pipes, so that a reader that leaves ends the command, and a stalled
// reader does not delay its end. The context's cause is ErrUnread if the reader left.
//
//	ctx, stop := interrupt.Context(&stdout, &stderr)
//	defer stop()
//
// Await and ReadSmall read what may never arrive, from a sleeping disk, a lost server or a
// pipe, and return as soon as the context ends.
package interrupt

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Context returns a context that ends at the first signal, and replaces the writers that
// are pipes. A second signal ends the program at once. stop releases the signals.
func Context(w ...*io.Writer) (ctx context.Context, stop func()) {
	ctx, left := context.WithCancelCause(context.Background())
	ctx, release := signal.NotifyContext(ctx, signals()...)
	replacePipes(ctx, left, w...)
	context.AfterFunc(ctx, release)
	return ctx, func() {
		release()
		left(nil)
	}
}

// signals are the ones that end a job: Ctrl-C, a request to terminate, and a closed
// terminal unless the program was started with nohup.
func signals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) { // set by nohup
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}
