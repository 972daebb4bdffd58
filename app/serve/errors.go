package serve

import (
	"net"
	"regexp"
	"strings"
	"sync"
	"time"
)

// connectionErrors is where package net/http writes what goes wrong with connections:
// TLS handshakes above all, which a scanner fails by the thousand. The log gets one
// line a minute and address.
type connectionErrors struct {
	log func(line string)
	now func() time.Time

	mu   sync.Mutex
	last map[string]time.Time // by address
}

// peer is the address in such a line.
var peer = regexp.MustCompile(`from (\S+):\d+`)

func (e *connectionErrors) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	address := ""
	if m := peer.FindStringSubmatch(text); m != nil {
		address = net.ParseIP(strings.Trim(m[1], "[]")).String()
	}
	e.mu.Lock()
	now := e.now()
	for other, at := range e.last {
		if now.Sub(at) >= time.Minute {
			delete(e.last, other)
		}
	}
	_, told := e.last[address]
	if !told {
		e.last[address] = now
	}
	e.mu.Unlock()
	if !told {
		e.log(text)
	}
	return len(line), nil
}
