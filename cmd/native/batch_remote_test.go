package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/batch"
	"tessera/app/job"
	"tessera/app/terminal"
)

// objects is a store of files by path with signed URLs. It interrupts the first answer
// for each file and refuses the first upload of each.
type objects struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte
	asked map[string][]string // methods and ranges, by path
}

func newObjects(t *testing.T) *objects {
	s := &objects{files: map[string][]byte{}, asked: map[string][]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[r.URL.Path] = append(s.asked[r.URL.Path], strings.TrimSpace(r.Method+" "+r.Header.Get("Range")))
	first := len(s.asked[r.URL.Path]) == 1
	data, found := s.files[r.URL.Path]
	switch {
	case r.URL.Query().Get("signature") != "secret":
		http.Error(w, "<Error><Code>SignatureDoesNotMatch</Code></Error>", http.StatusForbidden)
	case r.Method == http.MethodPut && first:
		w.Header().Set("Retry-After", "0")
		http.Error(w, "", http.StatusServiceUnavailable)
	case r.Method == http.MethodPut:
		s.files[r.URL.Path], _ = io.ReadAll(r.Body)
	case !found:
		http.NotFound(w, r)
	case first:
		w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprint(len(data))))
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data[:len(data)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprint(len(data))))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}
}

// url returns a file's signed URL.
func (s *objects) url(path string) string {
	return strings.Replace(s.URL, "http://", "http://user:secret@", 1) + path + "?signature=secret"
}

// Inputs and outputs may be URLs. An interrupted download continues by range, an upload
// that a busy server refused is repeated, and the bytes equal those of a single run. No
// message contains a secret, and no temporary file remains. With a record, --resume skips
// such a clip after the first byte of its input.
func TestBatchURLs(t *testing.T) {
	t.Parallel()
	needDevice(t)
	in, dir, temp, s := manyLatents(t, "a"), t.TempDir(), t.TempDir(), newObjects(t)
	latent, err := os.ReadFile(filepath.Join(in, "a.safetensors"))
	require.NoError(t, err)
	s.files["/in/a.safetensors"], s.files["/in/plain"] = latent, latent
	single := filepath.Join(dir, "single.npy")
	succeed(t, "decode", "-m", tiny, filepath.Join(in, "a.safetensors"), "-o", single)
	want, err := os.ReadFile(single)
	require.NoError(t, err)

	records := filepath.Join(dir, "records")
	line := func(name, output string) string {
		text, err := json.Marshal(clipLine{Input: s.url("/in/" + name), Output: output, Op: "decode"})
		require.NoError(t, err)
		return string(text)
	}
	list := manifest(t, line("a.safetensors", s.url("/out/a.npy")), line("plain", filepath.Join(dir, "plain.npy")))
	env := []string{"TMPDIR=" + temp, "TMP=" + temp}
	run := func(args ...string) (outcome, map[string]batch.Outcome) {
		o := tesseraEnv(t, env, append([]string{"batch", "-m", tiny, "--records", records, "--resume"}, args...)...)
		text := o.stdout + o.stderr
		files, err := filepath.Glob(filepath.Join(records, "*"))
		require.NoError(t, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			text += string(data)
		}
		assert.NotContains(t, text, "secret")
		assert.NotContains(t, text, temp, "a file's own name")
		isEmpty(t, temp)
		return o, outcomes(t, o.stdout)
	}
	o, all := run("--manifest", list)
	require.Equal(t, job.ExitDone, o.code, o.stderr)
	assert.True(t, bytes.Equal(want, s.files["/out/a.npy"]), "what was put")
	local, err := os.ReadFile(filepath.Join(dir, "plain.npy"))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, local), "what was brought")
	assert.Equal(t, []string{"GET", fmt.Sprintf("GET bytes=%d-", len(latent)/2)}, s.asked["/in/a.safetensors"])
	assert.Equal(t, []string{"PUT", "PUT"}, s.asked["/out/a.npy"])
	assert.Equal(t, terminal.FileNames(s.URL+"/out/a.npy"), all["a"].Result.Outputs)
	assert.Equal(t, terminal.FileName(s.URL+"/in/a.safetensors"), all["a"].Result.Input)
	assert.Equal(t, terminal.FileName(s.URL+"/in/a.safetensors"), all["a"].Input)

	_, all = run("--manifest", list)
	assert.Equal(t, batch.Skipped, all["a"].Status)
	assert.Equal(t, batch.Skipped, all["plain"].Status)
	assert.Equal(t, "GET bytes=0-0", s.asked["/in/a.safetensors"][2])
	require.Len(t, s.asked["/in/a.safetensors"], 3)

	// A missing or inaccessible URL is bad input.
	unsigned := strings.ReplaceAll(line("a.safetensors", filepath.Join(dir, "x.npy")), "signature=secret", "signature=stale")
	o, _ = run("--manifest", manifest(t, line("none.npy", filepath.Join(dir, "none.npy")), strings.Replace(unsigned, "{", `{"name": "unsigned", `, 1)))
	assert.Equal(t, job.ExitInput, o.code)
	assert.Contains(t, o.stdout, s.URL+"/in/none.npy: the server answers 404 Not Found: refused")
	assert.Contains(t, o.stdout, s.URL+"/in/a.safetensors: the server answers 403 Forbidden (SignatureDoesNotMatch): refused")
}
