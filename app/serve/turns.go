package serve

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// turns gives the device to one client at a time, round-robin: a client's second request
// waits until every other waiting client has had a turn. Within a round, requests are
// served in order. A page requests its next turn only after its last has ended.
type turns struct {
	mu      sync.Mutex
	taken   bool
	round   int            // of the current turn, or the last
	last    map[string]int // last rounds of clients with several requests
	waiting []*waiter      // in serving order
}

type waiter struct {
	client string
	round  int
	ready  chan struct{} // closed when the turn starts
	queued func(position int)
}

// take waits for a turn. client names a client that may have several requests at once; ""
// is a client with one. queued receives the number of turns before this one, at once and
// at each change; it is called with mu held and must not block.
func (t *turns) take(ctx context.Context, client string, queued func(position int)) error {
	t.mu.Lock()
	round := t.next(client)
	if !t.taken {
		t.taken, t.round = true, round
		t.mu.Unlock()
		return nil
	}
	w := &waiter{client, round, make(chan struct{}), queued}
	at := len(t.waiting)
	for at > 0 && t.waiting[at-1].round > round {
		at--
	}
	t.waiting = slices.Insert(t.waiting, at, w)
	for i, w := range t.waiting[at:] {
		w.queued(at + i + 1) // and the running one
	}
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
		t.forget(client)
		t.tell()
	} else {
		t.pass() // the turn had started meanwhile
	}
	return context.Cause(ctx)
}

// next returns the round of a client's next turn: this round, or the one after its last.
// Callers hold mu.
func (t *turns) next(client string) int {
	round := t.round
	if client == "" {
		return round
	}
	if last, ok := t.last[client]; ok && last >= round {
		round = last + 1
	}
	maps.DeleteFunc(t.last, func(_ string, last int) bool { return last < t.round })
	if t.last == nil {
		t.last = map[string]int{}
	}
	t.last[client] = round
	return round
}

// forget moves a client's next turn up after one of its requests was cancelled. Callers
// hold mu.
func (t *turns) forget(client string) {
	if client == "" {
		return
	}
	t.last[client] = t.round
	for _, w := range t.waiting {
		if w.client == client {
			t.last[client] = w.round
		}
	}
}

// done ends a turn.
func (t *turns) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass()
}

// pass starts the next turn. Callers hold mu.
func (t *turns) pass() {
	if len(t.waiting) == 0 {
		t.taken = false
		return
	}
	t.round = t.waiting[0].round
	close(t.waiting[0].ready)
	t.waiting = slices.Delete(t.waiting, 0, 1)
	t.tell()
}

func (t *turns) tell() {
	for i, w := range t.waiting {
		w.queued(i + 1)
	}
}

// wanted reports whether a client waits.
func (t *turns) wanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting) > 0
}
