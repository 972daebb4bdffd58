package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/app/serve"
)

// The page is served at the printed address until Ctrl-C, which is not an error.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte("the page"), 0o666))
	cmd := exec.Command(built.program, "serve", "--json", "--allow-no-adapter", "--addr", "127.0.0.1:0", "--page", dir, "--folder", dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer cmd.Process.Kill()
	var told struct {
		URL string `json:"url"`
	}
	require.NoError(t, json.NewDecoder(out).Decode(&told), stderr.String())
	address, token, _ := strings.Cut(told.URL, "#token=")
	assert.True(t, strings.HasPrefix(address, "http://127.0.0.1:"), "the address is %q", told.URL)
	assert.GreaterOrEqual(t, len(token), 40, told.URL)
	r, err := http.Get(address)
	require.NoError(t, err)
	text, _ := io.ReadAll(r.Body)
	r.Body.Close()
	assert.Equal(t, "the page", string(text))
	ended := make(chan error, 1)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Skip(err) // Windows has no such signal
	}
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		assert.NoError(t, err, stderr.String())
	case <-time.After(10 * time.Second):
		assert.Fail(t, "it goes on after Ctrl-C")
	}
}

// An address that other machines can reach causes a warning.
func TestServeBeyondLoopback(t *testing.T) {
	for addr, beyond := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true, ":0": true} {
		s, err := serve.New(addr, serve.Options{Page: fstest.MapFS{"index.html": {}}})
		require.NoError(t, err)
		assert.Equal(t, beyond, s.Beyond(), addr)
		require.NoError(t, s.Close())
	}
	dir := t.TempDir()
	cmd := exec.Command(built.program, "serve", "--allow-no-adapter", "--addr", "0.0.0.0:0", "--page", dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.html"), nil, 0o666))
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, "warning: --listen 0.0.0.0:0: other machines can reach this engine")
}

func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	none, empty, short := filepath.Join(dir, "none"), filepath.Join(dir, "empty"), filepath.Join(dir, "short")
	write(t, empty, []byte("# nothing\n\n"))
	write(t, short, []byte("one 0123456789abcdef\ntwo 0123456789\n"))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"serve", "--page", dir}, job.ExitInput, "--page " + dir + ": expected a folder with index.html"},
		{[]string{"serve", "--addr", "nowhere"}, job.ExitUsage, "--listen=nowhere"},
		{[]string{"serve", "--addr", "nowhere.invalid:1"}, job.ExitFailed, "nowhere.invalid"},
		{[]string{"serve", "--adapter", "second"}, job.ExitUsage, "--adapter"},
		{[]string{"serve", "--queue", "0"}, job.ExitUsage, "--queue=0: expected at least 1"},
		{[]string{"serve", "--keep", "0s"}, job.ExitUsage, "--keep=0s: expected a second or more, such as 24h"},
		{[]string{"serve", "--tls-cert", "x.pem"}, job.ExitUsage, "--tls-cert and --tls-key: expected both or none"},
		{[]string{"serve", "--tls-cert", none, "--tls-key", none}, job.ExitInput, "--tls-cert " + none},
		{[]string{"serve", "--token-file", none}, job.ExitInput, "--token-file"},
		{[]string{"serve", "--token-file", empty}, job.ExitInput, "no token, expected one per line"},
		{[]string{"serve", "--token-file", short}, job.ExitInput, "line 2 is invalid, expected NAME TOKEN with a token of at least 16 characters"},
		{[]string{"serve", "--model", none}, job.ExitInput, none},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--model", "a=" + tiny, "--as", "b=sdxl"}, job.ExitUsage, `--as=b=sdxl: no --model is named "b"`},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--model", "a=" + tiny, "--as", "sdxl"}, job.ExitInput, `cannot be opened as "sdxl": no other model has its tensors`},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--model", "a=" + tiny, "--model", "a=" + tiny}, job.ExitUsage, "the name a is taken"},
	} {
		var stdout, stderr bytes.Buffer
		if c.args[1] != "--page" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "index.html"), nil, 0o666))
			c.args = append(c.args, "--page", dir)
		}
		code := run(c.args, &stdout, &stderr)
		assert.Equal(t, c.code, code, c.args)
		assert.Contains(t, stderr.String(), c.says, c.args)
	}
}

// It announces its endpoints, and does not start without an adapter unless that is
// allowed.
func TestServeAnnounces(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "index.html"), nil)
	none := []string{"serve", "--listen", "127.0.0.1:0", "--page", dir, "--dawn", filepath.Join(dir, "nowhere.so")}
	o := tessera(t, none...)
	assert.Equal(t, job.ExitDevice, o.code, o.stderr)
	assert.Contains(t, o.stderr, "--allow-no-adapter serves the page alone")

	announced := func(args ...string) (told announcement, notes string) {
		cmd := exec.Command(built.program, append(args, "--json")...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		require.NoError(t, json.NewDecoder(out).Decode(&told))
		cmd.Process.Kill()
		cmd.Wait()
		return told, stderr.String()
	}
	told, notes := announced(append(none, "--allow-no-adapter")...)
	assert.Nil(t, told.Adapter)
	assert.Empty(t, told.Models)
	assert.Contains(t, notes, "warning: ")
	needDevice(t)
	told, notes = announced("serve", "--listen", "127.0.0.1:0", "--page", dir, "-m", "small="+tiny)
	require.NotNil(t, told.Adapter)
	assert.Equal(t, []string{"small"}, told.Models)
	address, _, _ := strings.Cut(told.URL, "/#")
	assert.Contains(t, told.Endpoints, address+"/v1/decode")
	for _, want := range []string{"adapter: " + told.Adapter.Name, "small, from " + tiny, address + "/v1/jobs"} {
		assert.Contains(t, notes, want)
	}
}
