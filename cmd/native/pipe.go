package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
)

// errUnread is why a job ends whose output nobody reads any more.
var errUnread = errors.New("nobody reads the output any more")

// pipe is a pipe as standard output or error. When who reads it leaves, the job
// ends as it does at Ctrl-C, without a word.
type pipe struct {
	io.Writer
	left context.CancelCauseFunc
}

func (p *pipe) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.left(errUnread)
	}
	return n, err
}

// pipes makes pipes of those of the writers that are such.
func pipes(left context.CancelCauseFunc, w ...*io.Writer) {
	// Without this a write to them would end the program at once. Writes to
	// other pipes, such as a child's, fail either way.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	for _, w := range w {
		f, ok := (*w).(*os.File)
		if !ok {
			continue
		}
		if info, err := f.Stat(); err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
			*w = &pipe{f, left}
		}
	}
}
