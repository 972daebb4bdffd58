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

// ErrUnread is why a job ends whose output nobody reads any more.
var ErrUnread = errors.New("the output's reader has closed it")

// pipe is a pipe as standard output or error. When who reads it leaves, the job
// ends as it does at Ctrl-C, without a word. Who reads nothing doesn't hold it up
// once it is interrupted.
type pipe struct {
	io.Writer
	ctx  context.Context
	left context.CancelCauseFunc
}

// patience is how long last words wait to be read.
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

// replacePipes makes pipes of those of the writers that are such, for a job that ends
// with ctx, which left ends.
func replacePipes(ctx context.Context, left context.CancelCauseFunc, w ...*io.Writer) {
	// Without this a write to them would end the program at once. Writes to
	// other pipes, such as a child's, fail either way.
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
