package serve

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Of connection errors the log gets one line per minute and address.
func TestConnectionErrors(t *testing.T) {
	var lines []string
	now := time.Unix(0, 0)
	e := &connectionErrors{log: func(line string) { lines = append(lines, line) }, now: func() time.Time { return now }, last: map[string]time.Time{}}
	say := func(address string) { fmt.Fprintf(e, "http: TLS handshake error from %s: EOF\n", address) }
	say("192.0.2.1:1000")
	say("192.0.2.1:1001")
	say("[2001:db8::1]:1000")
	now = now.Add(59 * time.Second)
	say("192.0.2.1:1002")
	assert.Equal(t, []string{
		"http: TLS handshake error from 192.0.2.1:1000: EOF",
		"http: TLS handshake error from [2001:db8::1]:1000: EOF",
	}, lines)
	now = now.Add(time.Second)
	say("192.0.2.1:1003")
	assert.Len(t, lines, 3)
	assert.Len(t, e.last, 1, "addresses that are remembered")
}
