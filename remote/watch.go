package remote

import (
	"context"
	"errors"
	"io"
	"time"
)

// errStalled ends a try without progress.
var errStalled = errors.New("the transfer stalled")

// watch ends a try if no byte arrives for a while.
type watch struct {
	stall time.Duration
	timer *time.Timer
	end   func()
}

// watched returns a context that a watch ends; the caller calls end.
func watched(ctx context.Context, stall time.Duration) (context.Context, *watch) {
	within, cancel := context.WithCancelCause(ctx)
	w := &watch{stall: stall}
	w.timer = time.AfterFunc(stall, func() { cancel(errStalled) })
	w.end = func() {
		w.timer.Stop()
		cancel(nil)
	}
	return within, w
}

// of returns r; each byte read from it restarts the watch.
func (w *watch) of(r io.Reader) io.Reader { return &moving{r, w} }

type moving struct {
	io.Reader
	watch *watch
}

func (m *moving) Read(b []byte) (int, error) {
	n, err := m.Reader.Read(b)
	if n > 0 {
		m.watch.timer.Reset(m.watch.stall)
	}
	return n, err
}
