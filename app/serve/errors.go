package serve

import (
	"net"
	"regexp"
	"strings"
	"sync"
	"time"
)

// connectionErrors receives net/http's messages about connections, mostly failed TLS
// handshakes, which a scanner causes by the thousand. It logs one line per minute and
// address.
type connectionErrors struct {
	log func(line string)
	now func() time.Time

	mu   sync.Mutex
	last map[string]time.Time // by address
}

// peer matches the address in such a message.
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
