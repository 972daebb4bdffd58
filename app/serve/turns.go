package serve

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// turns lets one client at a time have the device, who comes first first, but
// round and round: of a client's requests the second waits until everybody who
// waits has had a turn. A page asks for its next turn only after its last has
// ended.
type turns struct {
	mu      sync.Mutex
	taken   bool
	round   int            // of who has it, or had it last
	last    map[string]int // rounds of clients that ask for several turns
	waiting []*waiter      // in the order that they are served in
}

type waiter struct {
	client string
	round  int
	ready  chan struct{} // closed when the turn has come
	queued func(position int)
}

// take waits for a turn. client names who may ask for several at once, "" is
// somebody who doesn't. queued is told how many go first, at once and whenever
// that changes; it is called with mu held and must not block.
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
		w.queued(at + i + 1) // the one that runs goes first, too
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
		t.pass() // it had come in the meantime
	}
	return context.Cause(ctx)
}

// next is the round of a client's next turn: this one, or that behind its last.
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

// forget has a client's next turn follow its others, where one was given up.
// Callers hold mu.
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

// pass gives the turn to the next. Callers hold mu.
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

// wanted says whether someone waits.
func (t *turns) wanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting) > 0
}
