package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/synthetic"
)

// Two hundred concurrent clients of two models each get their frames, without a loss or
// error; a client that receives 503 tries again. Memory stays constant, and no files
// remain.
func TestManyClients(t *testing.T) {
	const clients, kinds = 200, 20 // of latents
	h := device(t)
	models := []Model{{"wan", wan(t, synthetic.WanConfig{}), settingsF32}, {"nested", wan(t, synthetic.WanConfig{Nested: true, Decoder: 4}), settingsF32}}
	a, err := New(h, Options{Models: models, Places: 64, Allow: byName})
	require.NoError(t, err)
	s := httptest.NewServer(a)
	defer s.Close()
	query := map[int]string{}
	body := func(i int) []byte { // of a kind
		v := ramp(48)
		for j := range v {
			v[j] += float32(i) / 100
		}
		if i%2 == 0 {
			v = v[:16]
		}
		return tensor(float, v)
	}
	for i := range 2 {
		n := []int{16, 48}[i]
		query[i] = fmt.Sprintf("/v1/decode?output_type=pt&dtype=float32&shape=1,%d,1,1,1&model=%s", n, models[i].Name)
	}
	get := func(c *http.Client, i int) (int, string, []byte, error) {
		r, _ := http.NewRequest("POST", s.URL+query[i%2], bytes.NewReader(body(i%kinds)))
		r.Header.Set("From", strconv.Itoa(i%10))
		answer, err := c.Do(r)
		if err != nil {
			return 0, "", nil, err
		}
		defer answer.Body.Close()
		data, err := io.ReadAll(answer.Body)
		return answer.StatusCode, answer.Header.Get("Retry-After"), data, err
	}
	want := map[int][]byte{} // one after another
	for i := range kinds {
		status, _, data, err := get(http.DefaultClient, i)
		require.NoError(t, err)
		require.Equal(t, 200, status, string(data))
		want[i] = data
	}
	require.NotEqual(t, want[0], want[2], "other latents, other frames")
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	http.DefaultClient.CloseIdleConnections()
	before, bytesBefore := memory(), h.dev.Stats().Bytes
	var all sync.WaitGroup
	var again atomic.Int32
	for i := range clients {
		all.Go(func() {
			c := &http.Client{Transport: &http.Transport{}}
			defer c.CloseIdleConnections()
			for {
				status, wait, data, err := get(c, i)
				if status == http.StatusTooManyRequests && err == nil {
					again.Add(1)
					assert.NotEmpty(t, wait)
					time.Sleep(time.Duration(200+rand.IntN(200)) * time.Millisecond) // less than requested, which makes it harder
					continue
				}
				if assert.NoError(t, err) && assert.Equal(t, 200, status, string(data)) {
					assert.True(t, bytes.Equal(want[i%kinds], data), "client %d got another's frames", i)
				}
				return
			}
		})
	}
	all.Wait()
	t.Logf("%d requests were told to come again", again.Load())
	assert.NotZero(t, again.Load(), "the bound was never reached")
	s.Close()
	assert.Zero(t, a.places.count())
	assert.Equal(t, a.o.Disk, a.disk.left())
	assert.Less(t, int64(memory())-int64(before), int64(8<<20), "bytes more on the heap")
	assert.Equal(t, bytesBefore, h.dev.Stats().Bytes, "on the device")
	require.NoError(t, a.Close())
	require.NoError(t, a.Forget(h.dev))
}

// A thousand malformed requests are refused and leave nothing: raw lines, and well-formed
// requests for nonsense.
func TestThousandMalformed(t *testing.T) {
	a, err := New(&alone{}, Options{Stall: time.Second, Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	require.NoError(t, err)
	s := httptest.NewServer(a)
	before := runtime.NumGoroutine()
	random := rand.New(rand.NewPCG(1, 2))
	heads := []string{
		"POST /v1/decode?shape=%s&dtype=float32 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", "GET /v1/jobs/%s HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /v1/jobs?input=%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "%s\r\n\r\n", "PATCH /v1/jobs/x/input HTTP/1.1\r\nHost: x\r\nContent-Range: %s\r\n\r\n",
		"POST /v1/encode?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "DELETE /v1/jobs/%s HTTP/1.0\r\n\r\n", "POST /v1/decode HTTP/1.1\r\nHost: x\r\nContent-Length: -%s\r\n\r\n",
		"GET /v1/../%s HTTP/1.1\r\nHost: x\r\n\r\n", "POST /v1/jobs?size=-%s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
	}
	for i := range 1000 {
		junk := make([]byte, 1+random.IntN(20))
		for j := range junk {
			junk[j] = "0123456789abcdefghij%&=/.-_~[]+,"[random.IntN(32)]
		}
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		require.NoError(t, err)
		fmt.Fprintf(conn, heads[i%len(heads)], junk)
		conn.(*net.TCPConn).CloseWrite()
		conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		answer, err := io.ReadAll(conn)
		conn.Close()
		require.NoError(t, err, "no end of the answer to %q of %s", heads[i%len(heads)], junk)
		if len(answer) > 0 { // otherwise it was half closed before it was read
			assert.Regexp(t, `^HTTP/1.[01] (30|4)`, string(answer))
		}
	}
	assert.Zero(t, a.places.count())
	assert.Zero(t, a.jobs.bytes())
	assert.Equal(t, a.o.Disk, a.disk.left())
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before, "goroutines that are left")
	s.Close()
	require.NoError(t, a.Close())
}

// A slow reader delays only its answer, not the device: others are answered meanwhile.
// After its time the connection is closed.
func TestSlowReader(t *testing.T) {
	h := device(t)
	a, err := New(h, Options{Stall: 3 * time.Second, Rate: 64 << 20, Models: []Model{{"wan", wan(t, synthetic.WanConfig{}), settingsF32}}})
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(a)
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		assert.NoError(t, c.(*net.TCPConn).SetWriteBuffer(4096))
		return ctx
	}
	s.Start()
	other := func() {
		r, text := ask(t, "POST", s.URL+small, "", make([]byte, 64))
		require.Equal(t, 200, r.StatusCode, string(text))
	}
	other() // so that shaders are compiled
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	body := tensor(float, ramp(16*3*8*8))
	fmt.Fprintf(conn, "POST /v1/decode?output_type=pt&dtype=float32&shape=1,16,3,8,8 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	_, err = conn.Read(make([]byte, 12)) // 440 kB follow
	require.NoError(t, err)
	other()
	assert.Equal(t, 1, a.places.count(), "the slow reader's")
	assert.Eventually(t, func() bool { return a.places.count() == 0 }, 2*time.Minute, 10*time.Millisecond, "it is waited for without end")
	s.Close()
	assert.Equal(t, a.o.Disk, a.disk.left())
	require.NoError(t, a.Close())
	require.NoError(t, a.Forget(h.dev))
}
