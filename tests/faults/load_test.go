//go:build linux

package faults

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// good is a request with a known answer.
type good struct {
	path string
	body []byte
	want []byte // its answer, or its job's content
}

func (g *good) isJob() bool { return strings.HasPrefix(g.path, "/v1/jobs") }

// jobState is a server's description of a job.
type jobState struct {
	ID, State, Error, Code string
	Received, Size, Bytes  int64
}

func (s jobState) over() bool {
	return !slices.Contains([]string{"receiving", "queued", "running"}, s.State)
}

// load is what many clients do to a server at once, and the answers.
type load struct {
	t    *testing.T
	s    *server
	good []*good

	mu       sync.Mutex
	held     []net.Conn       // of silent clients
	kept     map[string]*good // finished jobs, by number
	gone     []string         // removed jobs
	uploads  []string         // jobs with unfinished uploads
	sent     map[string]int   // requests by endpoint, counting those with a complete head
	answered map[string]int   // answers by endpoint and status, as in /metrics
	counts   map[string]int   // outcomes of the acts
}

func newLoad(t *testing.T, s *server) *load {
	return &load{t: t, s: s, kept: map[string]*good{}, sent: map[string]int{}, answered: map[string]int{}, counts: map[string]int{}}
}

// endpoint returns the name of a request in /metrics.
func endpoint(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	return method + " " + regexp.MustCompile(`/[0-9a-f]{32}`).ReplaceAllString(path, "/{id}")
}

func (l *load) count(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[what]++
}

// numbers returns a float32 tensor between -1 and 1.
func numbers(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b []byte
	for range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(2*r.Float32()-1))
	}
	return b
}

// dial connects from one of this machine's addresses; each counts as a separate client.
func (l *load) dial(from byte) (*net.TCPConn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}}
	c, err := d.Dial("tcp", l.s.address)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// ask sends a request from an address and reads the answer; it repeats the request
// while the server is busy.
func (l *load) ask(from byte, method, path string, body []byte, header ...string) (int, []byte) {
	for {
		c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}}).DialContext}}
		r, err := http.NewRequest(method, l.s.url+path, bytes.NewReader(body))
		if !assert.NoError(l.t, err) {
			return 0, nil
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		l.send(method, path)
		answer, err := c.Do(r)
		if !assert.NoError(l.t, err, "%s %s", method, path) {
			return 0, nil
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		assert.NoError(l.t, err, "%s %s", method, path)
		l.answer(method, path, answer.StatusCode)
		if answer.StatusCode != http.StatusTooManyRequests {
			return answer.StatusCode, text
		}
		assert.NotEmpty(l.t, answer.Header.Get("Retry-After"))
		l.count("told to come again")
		time.Sleep(50 * time.Millisecond) // less than the server asks for, which makes it harder
	}
}

func (l *load) send(method, path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent[endpoint(method, path)]++
}

func (l *load) answer(method, path string, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered[fmt.Sprintf(`endpoint="%s",status="%d"`, endpoint(method, path), status)]++
}

// job sends a request and reads a job's state.
func (l *load) job(from byte, method, path string, body []byte, header ...string) (s jobState, status int) {
	status, text := l.ask(from, method, path, body, header...)
	if len(text) > 0 {
		assert.NoError(l.t, json.Unmarshal(text, &s), "%s", text)
	}
	return s, status
}

// ended waits until a job has ended.
func (l *load) ended(from byte, id string) (s jobState) {
	for status := 200; status == 200 && !s.over() || s.State == ""; time.Sleep(10 * time.Millisecond) {
		if s, status = l.job(from, "GET", "/v1/jobs/"+id, nil); status != 200 {
			return jobState{}
		}
	}
	return s
}

// begin sends only a request's head and a part of its body.
func (l *load) begin(from byte, method, path string, size int64, part []byte, header ...string) (*net.TCPConn, error) {
	c, err := l.dial(from)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", method, path, l.s.address)
	for i := 0; i < len(header); i += 2 {
		head += header[i] + ": " + header[i+1] + "\r\n"
	}
	if size >= 0 {
		head += fmt.Sprintf("Content-Length: %d\r\n", size)
	}
	l.send(method, path)
	_, err = c.Write(append([]byte(head+"\r\n"), part...))
	return c, err
}

// hold keeps a connection open until the end.
func (l *load) hold(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = append(l.held, c)
}

// statusOf reads an answer's status, 0 without one.
func statusOf(c net.Conn) (int, []byte) {
	text, _ := io.ReadAll(c) // as far as it arrives
	m := regexp.MustCompile(`^HTTP/1\.[01] (\d{3}) `).FindSubmatch(text)
	if m == nil {
		return 0, text
	}
	n, _ := strconv.Atoi(string(m[1]))
	_, body, _ := bytes.Cut(text, []byte("\r\n\r\n"))
	return n, body
}

// prepareGood sends every good request once, alone, to learn the answers that all must
// get.
func (l *load) prepareGood() {
	for i, size := range [][3]int{{1, 2, 2}, {1, 3, 4}, {2, 2, 3}, {4, 2, 2}} {
		shape := fmt.Sprintf("dtype=float32&shape=1,4,%d,%d,%d", size[0], size[1], size[2])
		z := numbers(uint64(i), 4*size[0]*size[1]*size[2])
		l.good = append(l.good, &good{path: "/v1/jobs?output=u8&" + shape, body: z}, &good{path: "/v1/jobs?output=npy&" + shape, body: z},
			&good{path: "/v1/decode?output_type=pt&" + shape, body: z})
	}
	for i, frames := range []int{1, 5} {
		shape := fmt.Sprintf("dtype=float32&shape=1,3,%d,16,24", frames)
		clip := numbers(uint64(10+i), 3*frames*16*24)
		l.good = append(l.good, &good{path: "/v1/encode?do_scaling=true&" + shape, body: clip}, &good{path: "/v1/jobs?kind=encode&output=npy&" + shape, body: clip},
			&good{path: "/v1/jobs?kind=roundtrip&output=f32&" + shape, body: clip})
	}
	for _, g := range l.good {
		if !g.isJob() {
			status, text := l.ask(1, "POST", g.path, g.body)
			require.Equal(l.t, 200, status, "%s: %s", g.path, text)
			g.want = text
			continue
		}
		s, status := l.job(1, "POST", g.path, g.body)
		require.Equal(l.t, 201, status, s.Error)
		s = l.ended(1, s.ID)
		require.Equal(l.t, "done", s.State, s.Error)
		_, g.want = l.ask(1, "GET", "/v1/jobs/"+s.ID+"/content", nil)
		require.Len(l.t, g.want, int(s.Bytes))
		l.kept[s.ID] = g
	}
}

// Clients of every kind at once: well-behaved ones get the same answers as when alone,
// and keep them; the server stays up; and nothing of the others remains.
func TestLoad(t *testing.T) {
	needs(t, false)
	jobs := t.TempDir()
	s := serve(t, "--jobs", jobs, "--queue", "64", "--disk", "1GiB")
	l := newLoad(t, s)
	l.prepareGood()
	for name, act := range acts { // so that resources taken once, such as the page's files, are in the baseline
		act(l, 1, rand.New(rand.NewPCG(uint64(len(name)), 2)))
	}
	l.letGo()
	before := l.settled()
	memory := s.peak(t)

	r, each := random(t), count(t)
	type turn struct {
		act  func(*load, byte, *rand.Rand)
		from byte
		r    *rand.Rand
	}
	var turns []turn
	for _, name := range slices.Sorted(maps.Keys(acts)) {
		for range each {
			turns = append(turns, turn{acts[name], byte(2 + r.IntN(5)), rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))})
		}
	}
	r.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	stop, watching := make(chan struct{}), make(chan struct{})
	go func() { // from a separate address, whose connections no client uses
		defer close(watching)
		for {
			status, text := l.ask(9, "GET", "/healthz", nil)
			assert.Equal(t, 200, status, "%s", text)
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	var all sync.WaitGroup
	atOnce := make(chan struct{}, 300) // fewer than the connection limit, including held connections
	for _, turn := range turns {
		atOnce <- struct{}{}
		all.Go(func() {
			defer func() { <-atOnce }()
			turn.act(l, turn.from, turn.r)
		})
		l.rest()
	}
	all.Wait()
	close(stop)
	<-watching
	l.letGo()
	l.settled(before)
	assert.Less(t, s.peak(t), memory+512<<20, "bytes of memory, before it %d", memory)
	l.check(jobs)
	s.healthy(t)
	t.Logf("%d clients at once: %v", len(turns), l.counts)
}

// rest closes the longest held connections if there are many.
func (l *load) rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; len(l.held) > 500; l.held = l.held[1:] {
		l.held[0].Close()
	}
}

// letGo closes the held connections and removes the unfinished uploads.
func (l *load) letGo() {
	for _, c := range l.held {
		c.Close()
	}
	l.held = nil
	for _, id := range l.uploads {
		for status := 200; status == 200; { // the first removal cancels it, the second forgets it
			status, _ = l.ask(1, "DELETE", "/v1/jobs/"+id, nil)
		}
	}
	l.gone = append(l.gone, l.uploads...)
	l.uploads = nil
}

// idle is what an idle server has open.
type idle struct{ files, goroutines int }

// settled waits until a server is idle and has at most `most` open, and returns what
// stays open.
func (l *load) settled(most ...idle) (now idle) {
	l.t.Helper()
	http.DefaultClient.CloseIdleConnections()
	last := idle{}
	require.Eventually(l.t, func() bool {
		files := l.s.files(l.t) // before a connection asks for the rest
		m := l.s.metrics(l.t)
		http.DefaultClient.CloseIdleConnections()
		last, now = now, idle{files, int(m["go_goroutines"])}
		busy := m["tessera_places_taken"] + m[`tessera_jobs{state="receiving"}`] + m[`tessera_jobs{state="queued"}`] + m[`tessera_jobs{state="running"}`]
		if len(most) == 0 {
			return busy == 0 && now == last
		}
		return busy == 0 && now.files <= most[0].files && now.goroutines <= most[0].goroutines
	}, time.Minute, 50*time.Millisecond, "open files and goroutines that stay, before them %v", most)
	return now
}

// check compares the server's state with its clients' answers.
func (l *load) check(jobs string) {
	t := l.t
	left := folders(t, jobs)
	for id, g := range l.kept {
		status, got := l.ask(1, "GET", "/v1/jobs/"+id+"/content", nil)
		assert.Equal(t, 200, status, "a job that was done: %s", got)
		assert.True(t, bytes.Equal(g.want, got), "%s: another content than before", g.path)
	}
	for _, id := range l.gone {
		assert.NotContains(t, left, id, "a job that was removed")
	}
	delete(left, "lock")
	states, bytes := map[string]float64{}, int64(0)
	for id, files := range left {
		s, status := l.job(1, "GET", "/v1/jobs/"+id, nil)
		assert.Equal(t, 200, status, "a folder of an unknown job: %s", id)
		states[s.State]++
		bytes += s.Bytes
		if s.State == "done" {
			assert.Len(t, files, 2, "%v of a job that is done", files)
			continue
		}
		assert.Equal(t, []string{"job.json"}, files, "of a job that is %s", s.State)
		assert.NotContains(t, l.kept, id)
	}
	// The server finishes a request after its client has read the answer.
	var m map[string]float64
	assert.Eventually(t, func() bool {
		m = l.s.metrics(t)
		return maps.Equal(l.sent, l.served(m))
	}, 10*time.Second, 20*time.Millisecond)
	assert.Equal(t, l.sent, l.served(m), "requests by endpoint")
	for what := range m {
		assert.NotRegexp(t, `^tessera_requests_total.*status="500"`, what, "the server's fault: %s", l.s.said())
	}
	for what, n := range l.answered {
		assert.GreaterOrEqual(t, m["tessera_requests_total{"+what+"}"], float64(n), what)
	}
	for _, state := range []string{"receiving", "queued", "running", "done", "failed", "cancelled", "interrupted"} {
		assert.Equal(t, states[state], m[fmt.Sprintf(`tessera_jobs{state="%s"}`, state)], "jobs that are %s", state)
	}
	assert.Equal(t, m["tessera_disk_bytes"]-float64(bytes), m["tessera_disk_free_bytes"], "of the disk, with %d bytes of content", bytes)
	temporary, err := filepath.Glob(filepath.Join(l.s.temp, "*", "*"))
	require.NoError(t, err)
	assert.Empty(t, temporary, "files of requests")
	_, err = os.Stat(filepath.Join(jobs, "lock"))
	assert.NoError(t, err)
}

// served returns how many requests a server has counted, by endpoint, without those for
// its metrics.
func (l *load) served(m map[string]float64) map[string]int {
	all := map[string]int{}
	for name, n := range m {
		if f := regexp.MustCompile(`^tessera_requests_total\{endpoint="([^"]*)"`).FindStringSubmatch(name); f != nil && f[1] != "GET /metrics" {
			all[f[1]] += int(n)
		}
	}
	return all
}

// Event streams that one address opens without reading use up its share of the
// connections, but not the others' shares.
func TestIdleStreams(t *testing.T) {
	needs(t, false)
	const streams, share = 1024, 768
	s := serve(t, "--jobs", t.TempDir())
	l := newLoad(t, s)
	l.prepareGood()
	before := l.settled()
	u, status := l.job(3, "POST", "/v1/jobs?input=npy&size=10", nil)
	require.Equal(t, 201, status, u.Error)
	l.uploads = append(l.uploads, u.ID)
	for range streams {
		c, err := l.begin(3, "GET", "/v1/jobs/"+u.ID+"/events", -1, nil)
		if err == nil { // else it was closed before it sent its request
			l.hold(c)
		}
	}
	require.Eventually(t, func() bool { return s.files(t)-before.files >= share }, time.Minute, 10*time.Millisecond, "%d streams are open", share)
	refused, err := l.dial(3)
	require.NoError(t, err)
	_, err = refused.Read(make([]byte, 1))
	require.Error(t, err, "a connection beyond the share of one address")
	refused.Close()
	for i := range count(t) {
		l.beGood(1, rand.New(rand.NewPCG(uint64(i), 3)))
	}
	s.healthy(t)
	assert.LessOrEqual(t, s.files(t)-before.files, share+8, "files and connections that are open")
	l.letGo()
	l.settled(before)
}
