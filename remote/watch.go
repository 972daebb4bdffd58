package remote

import (
	"context"
	"errors"
	"io"
	"time"
)

// errStalled ends a try in which nothing moves.
var errStalled = errors.New("the transfer stalled")

// watch ends a try in which no byte moves for a while.
type watch struct {
	stall time.Duration
	timer *time.Timer
	end   func()
}

// watched is a context that a watch ends; whoever has it calls end.
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

// of is r, of which each byte that is read sets the watch back.
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
