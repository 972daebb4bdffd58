package serve

import (
	"context"
	"slices"
	"sync"
)

// turns lets one session at a time have the device. Who comes first is served
// first; since a session asks for its next turn only after its last has ended,
// that is also round and round: no page has two jobs while another waits.
type turns struct {
	mu      sync.Mutex
	taken   bool
	waiting []*waiter
}

type waiter struct {
	ready  chan struct{} // closed when the turn has come
	queued func(position int)
}

// take waits for a turn. queued is told how many go first, at once and whenever
// that changes; it is called with mu held and must not block.
func (t *turns) take(ctx context.Context, queued func(position int)) error {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil
	}
	w := &waiter{make(chan struct{}), queued}
	t.waiting = append(t.waiting, w)
	queued(len(t.waiting)) // the one that runs goes first, too
	t.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, w); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		t.tell()
	} else {
		t.pass() // it had come in the meantime
	}
	return context.Cause(ctx)
}

// done ends a turn.
func (t *turns) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass()
}

// pass gives the turn to the next. Callers hold mu.
func (t *turns) pass() {
	if len(t.waiting) == 0 {
		t.taken = false
		return
	}
	close(t.waiting[0].ready)
	t.waiting = slices.Delete(t.waiting, 0, 1)
	t.tell()
}

func (t *turns) tell() {
	for i, w := range t.waiting {
		w.queued(i + 1)
	}
}

// wanted says whether someone waits.
func (t *turns) wanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting) > 0
}
