package api

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// places limits the requests and jobs that run or wait.
type places struct {
	mu    sync.Mutex
	most  int
	taken int
	of    map[string]int // by client
	usual time.Duration  // how long a client usually has the device
}

func newPlaces(most int) places {
	return places{most: most, of: map[string]int{}, usual: time.Second}
}

// enter takes a place for a client until leave is called. A client with three quarters of
// the places gets no more: the rest is for others.
func (p *places) enter(client string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := ""
	switch {
	case p.taken >= p.most:
		text = fmt.Sprintf("%d requests are already waiting", p.taken)
	case p.of[client] >= max(1, p.most*3/4):
		text = fmt.Sprintf("%d of your requests are already waiting", p.of[client])
	}
	if text != "" {
		wait := min(max(p.usual*time.Duration(p.taken)/4, time.Second), time.Minute)
		return nil, &problem{status: http.StatusTooManyRequests, code: "busy", err: fmt.Errorf("%s: try again later", text), wait: wait}
	}
	p.taken++
	p.of[client]++
	return sync.OnceFunc(func() { p.left(client) }), nil
}

func (p *places) left(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.of[client]--; p.of[client] == 0 {
		delete(p.of, client)
	}
}

// took records how long a client had the device.
func (p *places) took(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.usual = (7*p.usual + d) / 8
}

// count returns how many places are taken.
func (p *places) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}
