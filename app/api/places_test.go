package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// busy is a host whose device is never free.
type busy struct{ waits chan string }

func (h *busy) Turn(ctx context.Context, client string) (*gpu.Device, error) {
	h.waits <- client
	<-ctx.Done()
	return nil, ctx.Err()
}

func (h *busy) Done(error) {}

const small = "/v1/decode?shape=[1,16,1,1,1]&dtype=float32"

// byName takes a client's name from its request.
func byName(r *http.Request, _ bool) (string, int, string) { return r.Header.Get("From"), 0, "" }

// Places are limited, in all and per client. A client without a place gets Retry-After,
// and a client that disconnects frees its place.
func TestPlaces(t *testing.T) {
	h := &busy{make(chan string, 10)}
	a, err := New(h, Options{Places: 4, Allow: byName, Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	require.NoError(t, err)
	defer a.Close()
	s := httptest.NewServer(a)
	defer s.Close()
	post := func(ctx context.Context, from string) (*http.Response, error) {
		r, _ := http.NewRequestWithContext(ctx, "POST", s.URL+small, bytes.NewReader(make([]byte, 64)))
		r.Header.Set("From", from)
		return http.DefaultClient.Do(r)
	}
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error)
	wait := func(from string) {
		go func() {
			_, err := post(ctx, from)
			gone <- err
		}()
		require.Equal(t, from, <-h.waits)
	}
	refused := func(from, want string) {
		r, err := post(t.Context(), from)
		require.NoError(t, err)
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		assert.Equal(t, http.StatusTooManyRequests, r.StatusCode)
		assert.Equal(t, "1", r.Header.Get("Retry-After"))
		assert.Contains(t, string(text), want)
	}
	for range 3 {
		wait("many")
	}
	refused("many", "3 of your requests are already waiting")
	wait("few")
	refused("other", "4 requests are already waiting")
	leave()
	for range 4 {
		assert.Error(t, <-gone)
	}
	require.Eventually(t, func() bool { return a.places.count() == 0 }, 10*time.Second, time.Millisecond, "places of who has gone")
}

// A client that sends slowly, half closes or disconnects early holds nothing for long.
func TestSlowSenders(t *testing.T) {
	before := runtime.NumGoroutine()
	a, err := New(&alone{}, Options{Stall: 200 * time.Millisecond, Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	require.NoError(t, err)
	s := httptest.NewServer(a)
	defer s.Close()
	head := "POST " + small + " HTTP/1.1\r\nHost: x\r\nContent-Length: 64\r\n\r\nhalf"
	for name, c := range map[string]struct {
		end  func(*net.TCPConn) error
		want string
	}{
		"slow":        {func(*net.TCPConn) error { return nil }, " 408 "},
		"half closed": {func(c *net.TCPConn) error { return c.CloseWrite() }, " 400 "},
		"hung up":     {func(c *net.TCPConn) error { c.SetLinger(0); return c.Close() }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			require.NoError(t, err)
			defer conn.Close()
			_, err = fmt.Fprint(conn, head)
			require.NoError(t, err)
			require.NoError(t, c.end(conn.(*net.TCPConn)))
			if c.want != "" {
				conn.SetReadDeadline(time.Now().Add(10 * time.Second))
				answer, _ := io.ReadAll(conn)
				assert.Contains(t, string(answer), c.want)
			}
			require.Eventually(t, func() bool { return a.places.count() == 0 }, 10*time.Second, time.Millisecond)
		})
	}
	http.DefaultClient.CloseIdleConnections()
	s.Close()
	require.NoError(t, a.Close())
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if !assert.LessOrEqual(t, runtime.NumGoroutine(), before, "goroutines that are left") {
		stacks := make([]byte, 1<<16)
		t.Log(string(stacks[:runtime.Stack(stacks, true)]))
	}
	assert.Equal(t, a.o.Disk, a.disk.left())
}
