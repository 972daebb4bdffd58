package models

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
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

	"tessera/format/known"
	"tessera/remote"
)

// content is a published file's content.
var content = bytes.Repeat([]byte("0123456789abcdef"), 1<<14)

// checkpoint returns that file's entry in a table.
func checkpoint() known.Checkpoint {
	return known.Checkpoint{Name: "x", Model: "X", Repo: "some/x", Path: "vae/x.safetensors", Size: int64(len(content)), SHA256: fmt.Sprintf("%x", sha256.Sum256(content))}
}

// hub serves content with ranges, and interrupts its first answers.
type hub struct {
	*httptest.Server
	mu     sync.Mutex
	breaks int    // answers that end early
	tag    string // of the file
	asked  []string
}

func newHub(t *testing.T, breaks int) *hub {
	t.Helper()
	h := &hub{breaks: breaks, tag: `"one"`}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.asked = append(h.asked, r.URL.Path+" "+r.Header.Get("Range"))
		cut := h.breaks > 0
		h.breaks--
		w.Header().Set("ETag", h.tag)
		h.mu.Unlock()
		if r.URL.Path != "/some/x/resolve/main/vae/x.safetensors" {
			http.NotFound(w, r)
			return
		}
		if cut {
			w = &short{w, 100_000}
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(h.Close)
	return h
}

// short ends a connection after some bytes.
type short struct {
	http.ResponseWriter
	left int
}

func (s *short) Write(b []byte) (int, error) {
	n, _ := s.ResponseWriter.Write(b[:min(len(b), s.left)])
	if s.left -= n; s.left == 0 {
		s.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

func (h *hub) puller(t *testing.T, tries int) Puller {
	t.Helper()
	t.Setenv("HF_ENDPOINT", h.URL+"/")
	return Puller{Folder: filepath.Join(t.TempDir(), "models"), Transfer: remote.Transfer{Tries: tries, Pause: time.Millisecond}}
}

// names returns the files of a folder.
func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// A checkpoint is downloaded from HF_ENDPOINT, but not again once it is stored.
func TestPull(t *testing.T) {
	h := newHub(t, 0)
	p := h.puller(t, 1)
	var come int64
	p.Transfer.Come = func(have, all int64) {
		assert.EqualValues(t, len(content), all)
		come = have
	}
	for range 2 {
		path, err := p.Pull(t.Context(), checkpoint())
		require.NoError(t, err)
		require.Equal(t, filepath.Join(p.Folder, "x.safetensors"), path)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, got)
	}
	require.EqualValues(t, len(content), come)
	require.Equal(t, []string{"/some/x/resolve/main/vae/x.safetensors "}, h.asked)
	require.Equal(t, []string{"x.safetensors"}, names(t, p.Folder))
}

// An interrupted transfer continues where it ended: within one pull, or in a later one
// after the first has given up.
func TestPullGoesOn(t *testing.T) {
	h := newHub(t, 1)
	p := h.puller(t, 3)
	_, err := p.Pull(t.Context(), checkpoint())
	require.NoError(t, err)
	require.Equal(t, []string{"/some/x/resolve/main/vae/x.safetensors ", "/some/x/resolve/main/vae/x.safetensors bytes=100000-"}, h.asked)

	h = newHub(t, 1)
	p = h.puller(t, 1)
	_, err = p.Pull(t.Context(), checkpoint())
	require.ErrorContains(t, err, "x: cannot be pulled: "+h.URL+"/some/x/resolve/main/vae/x.safetensors: ")
	require.ErrorContains(t, err, "\n100 kB are here: `tessera pull x` continues")
	require.Equal(t, []string{"x.safetensors.part", "x.safetensors.part.json"}, names(t, p.Folder))
	path, err := p.Pull(t.Context(), checkpoint())
	require.NoError(t, err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, got)
	require.Equal(t, "/some/x/resolve/main/vae/x.safetensors bytes=100000-", h.asked[1])
	require.Equal(t, []string{"x.safetensors"}, names(t, p.Folder))
}

// If the published file has changed, its download starts again.
func TestPullOfAChangedFile(t *testing.T) {
	h := newHub(t, 1)
	p := h.puller(t, 1)
	_, err := p.Pull(t.Context(), checkpoint())
	require.Error(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(p.Folder, "x.safetensors.part"), bytes.Repeat([]byte("?"), 5000), 0o666))
	h.tag = `"two"`
	path, err := p.Pull(t.Context(), checkpoint())
	require.NoError(t, err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, got)
}

// A file of another size or hash is refused and removed. If the size differs, nothing is
// downloaded.
func TestPullOfAnotherFile(t *testing.T) {
	h := newHub(t, 0)
	p := h.puller(t, 1)
	c := checkpoint()
	c.Size++
	_, err := p.Pull(t.Context(), c)
	require.ErrorContains(t, err, fmt.Sprintf("the server's file has %d bytes, expected %d as published", len(content), len(content)+1))
	require.Empty(t, names(t, p.Folder))

	c = checkpoint()
	c.SHA256 = strings.Repeat("0", 16)
	_, err = p.Pull(t.Context(), c)
	require.ErrorContains(t, err, fmt.Sprintf("has SHA-256 %.16s, expected 0000000000000000 as published; it was removed, pull it again", checkpoint().SHA256))
	require.Empty(t, names(t, p.Folder))

	c = checkpoint()
	c.SHA256 = c.SHA256[:16] // its beginning suffices
	c.Size, c.About = 1, true
	_, err = p.Pull(t.Context(), c)
	require.NoError(t, err)
}

// A hub's refusal is reported with the address of the page to visit.
func TestPullRefused(t *testing.T) {
	h := newHub(t, 0)
	p := h.puller(t, 3)
	c := checkpoint()
	c.Repo = "some/y"
	_, err := p.Pull(t.Context(), c)
	require.ErrorIs(t, err, remote.ErrRefused)
	require.ErrorContains(t, err, "x: cannot be pulled: "+h.URL+"/some/y/resolve/main/vae/x.safetensors: the server answers 404 Not Found")
	require.ErrorContains(t, err, "\nits page is "+h.URL+"/some/y, which may ask for consent")
	require.Len(t, h.asked, 1)
	require.Empty(t, names(t, p.Folder))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Pull(ctx, checkpoint())
	require.ErrorIs(t, err, context.Canceled)
}

// A checkpoint's name is the path of the pulled file; an existing file of that name has
// priority.
func TestPath(t *testing.T) {
	t.Setenv("TESSERA_MODELS", t.TempDir())
	t.Chdir(t.TempDir())
	c, ok := known.Find("qwen-image")
	require.True(t, ok)
	require.True(t, c.About)
	require.Equal(t, "qwen-image", Path("qwen-image"))
	_, err := os.Open("qwen-image")
	require.EqualError(t, Missing("qwen-image", err), "qwen-image: is not on this machine: no such file, and the model qwen-image was not pulled\n`tessera pull qwen-image` fetches qwen_image_vae.safetensors, 254 MB")
	require.ErrorIs(t, Missing("qwen-image", err), os.ErrNotExist)
	_, err = os.Open("qwen")
	require.ErrorContains(t, Missing("qwen", err), "qwen: no such file, and no published model has this name\n`tessera models` lists the models; one of them is qwen-image")
	require.Equal(t, err, Missing("nothing-like-it", err))

	folder, err := Folder()
	require.NoError(t, err)
	path := filepath.Join(folder, "qwen_image_vae.safetensors")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o666))
	require.Equal(t, path, Path("Qwen-Image"))
	wan, _ := known.Find("wan2.1")
	require.NoError(t, os.WriteFile(filepath.Join(folder, wan.Base()), []byte("x"), 0o666))
	require.Equal(t, "wan2.1", Path("wan2.1"), "of another size")
	require.NoError(t, os.WriteFile("qwen-image", []byte("x"), 0o666))
	require.Equal(t, "qwen-image", Path("qwen-image"), "a file")
}
