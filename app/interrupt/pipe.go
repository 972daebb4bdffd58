package interrupt

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// ErrUnread is the cause if a job ends because the reader of its output left.
var ErrUnread = errors.New("the reader of the output has closed it")

// pipe is a pipe as standard output or error. If its reader leaves, the job ends as at
// Ctrl-C, without a message. After an interrupt, a stalled reader does not delay the end.
type pipe struct {
	io.Writer
	ctx  context.Context
	left context.CancelCauseFunc
}

// patience is how long the last output waits for its reader.
const patience = 250 * time.Millisecond

func (p *pipe) Write(b []byte) (int, error) {
	done := make(chan struct{})
	var wrote int
	var failed error
	go func(own []byte) {
		wrote, failed = p.Writer.Write(own)
		close(done)
	}(slices.Clone(b))
	select {
	case <-done:
	case <-p.ctx.Done():
		select {
		case <-done:
		case <-time.After(patience):
			return 0, p.ctx.Err()
		}
	}
	if errors.Is(failed, syscall.EPIPE) {
		p.left(ErrUnread)
	}
	return wrote, failed
}

// replacePipes wraps those writers that are pipes, for a job whose context is ctx; left
// cancels it.
func replacePipes(ctx context.Context, left context.CancelCauseFunc, w ...*io.Writer) {
	// Without this, a write to a closed standard output or error would end the program at
	// once. Writes to other pipes, such as a child's, return an error either way.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	for _, w := range w {
		f, ok := (*w).(*os.File)
		if !ok {
			continue
		}
		if info, err := f.Stat(); err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
			*w = &pipe{f, ctx, left}
		}
	}
}
