package api

import (
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The API refuses a body that pauses too long, even if hours remain for the whole body. A
// body that breaks off is the client's error. A connection that the client closes before
// the answer gets that status, and is counted.
func TestBodies(t *testing.T) {
	h := &busy{make(chan string, 10)}
	a, err := New(h, Options{Stall: 200 * time.Millisecond, Rate: 1, Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	require.NoError(t, err)
	s := httptest.NewServer(a)
	defer func() {
		s.Close()
		documented(t, a)
		require.NoError(t, a.Close())
	}()
	for name, c := range map[string]struct {
		path, send string
		close      bool // once the request waits for the device
		cut        bool // at once
		want, says string
	}{
		"silence": {path: "/v1/decode?shape=[1,16,1,75,62]&dtype=float32", send: "Content-Length: 297600\r\n\r\nbegin",
			want: " 408 ", says: "did not arrive in time"},
		"a wrong chunk": {path: small, send: "Transfer-Encoding: chunked\r\n\r\nno number\r\n",
			want: " 400 ", says: "the body was cut off"},
		"closed to send": {path: small, send: "Content-Length: 64\r\n\r\n" + strings.Repeat("x", 64), close: true,
			want: " 499 ", says: "closed for sending"},
		"a job's cut off": {path: "/v1/jobs?input=npy", send: "Content-Length: 9\r\n\r\nbegin", cut: true,
			want: " 400 ", says: "the body has 5 bytes, expected 9"},
		"a job's cut off in a chunk": {path: strings.Replace(small, "decode", "jobs", 1), send: "Transfer-Encoding: chunked\r\n\r\n9\r\nbegin", cut: true,
			want: " 400 ", says: "the body has 5 bytes, expected 64"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			require.NoError(t, err)
			defer conn.Close()
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\n%s", c.path, c.send)
			require.NoError(t, err)
			if c.close {
				<-h.waits // for the device
				require.NoError(t, conn.(*net.TCPConn).CloseWrite())
			}
			if c.cut {
				require.NoError(t, conn.(*net.TCPConn).CloseWrite())
			}
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
			answer, _ := io.ReadAll(conn)
			assert.Contains(t, string(answer), c.want)
			assert.Contains(t, string(answer), c.says)
		})
	}
	require.Eventually(t, func() bool { return a.places.count() == 0 }, time.Minute, time.Millisecond)
	assert.Equal(t, a.o.Disk, a.disk.left())
}
