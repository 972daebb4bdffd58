//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// server is a `tessera serve` of built.model on a free port.
type server struct {
	url, address string // http://127.0.0.1:PORT, and without http://
	temp         string // folder for its temporary files
	cmd          *exec.Cmd
	ended        chan struct{} // closed when all its output is read

	mu   sync.Mutex
	text bytes.Buffer
}

// serve starts a server and kills it when the test ends.
func serve(t *testing.T, more ...string) *server {
	t.Helper()
	s := &server{temp: t.TempDir(), ended: make(chan struct{})}
	s.cmd = command(s.temp, append([]string{"serve", "-m", "model=" + built.model, "--listen", "127.0.0.1:0", "--page", built.page}, more...)...)
	said, err := s.cmd.StderrPipe()
	require.NoError(t, err)
	s.cmd.Stdout = s.cmd.Stderr
	require.NoError(t, s.cmd.Start())
	t.Cleanup(s.stop)
	address := make(chan string, 1)
	go func() {
		defer close(s.ended)
		defer close(address)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			s.mu.Lock()
			fmt.Fprintln(&s.text, lines.Text())
			s.mu.Unlock()
			if found := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(lines.Text()); found != "" && s.url == "" {
				s.url = found
				address <- found
			}
		}
	}()
	<-address
	require.NotEmpty(t, s.url, "the server's address: %s", s.said())
	s.address = strings.TrimPrefix(s.url, "http://")
	return s
}

// stop kills the server.
func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	<-s.ended
	_ = s.cmd.Wait()
}

// said returns the server's output so far.
func (s *server) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// files counts the server's open files and connections.
func (s *server) files(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	require.NoError(t, err, s.said())
	return len(open)
}

// peak returns the server's peak memory in bytes.
func (s *server) peak(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	require.NoError(t, err, s.said())
	m := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(text)
	require.NotNil(t, m, "%s", text)
	kib, err := strconv.ParseInt(string(m[1]), 10, 64)
	require.NoError(t, err)
	return kib << 10
}

// metrics returns the server's numbers for Prometheus, by name and labels.
func (s *server) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	text, status := get(t, s.url+"/metrics")
	require.Equal(t, 200, status, "%s", text)
	all := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndex(line, " ")
		if line[0] == '#' || at < 0 {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		require.NoError(t, err, line)
		all[line[:at]] = value
	}
	return all
}

// healthy checks that the server runs and has reported no internal error.
func (s *server) healthy(t *testing.T) {
	t.Helper()
	text, status := get(t, s.url+"/healthz")
	assert.Equal(t, 200, status, "%s", text)
	assert.NotRegexp(t, crash, s.said())
}

// crash matches the messages of Go and the program about their own errors.
var crash = regexp.MustCompile(`(?m)^(panic: |fatal error: |goroutine \d+|runtime: |SIG[A-Z]+: )|an internal error`)

// folders returns the names of the files in each job's folder, by the job's number.
func folders(t *testing.T, jobs string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for name := range tree(t, jobs) {
		if id, file := filepath.Split(name); id != "" {
			all[filepath.Clean(id)] = append(all[filepath.Clean(id)], file)
		} else if all[name] == nil {
			all[name] = nil
		}
	}
	return all
}
