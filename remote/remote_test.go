package remote

import (
	"bytes"
	"context"
	"errors"
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
)

// quick is a Transfer without pauses.
var quick = Transfer{Tries: 3, Pause: time.Millisecond, Stall: 200 * time.Millisecond}

// store is a server with one file. It fails as a case prescribes.
type store struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string // ranges, in order
	data   []byte
	tag    string
	answer func(n int, w http.ResponseWriter, r *http.Request) bool // handles request n; false: the store answers
}

func newStore(t *testing.T, data []byte) *store {
	s := &store{data: data, tag: `"one"`}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, r.Method+" "+r.Header.Get("Range"))
	data, tag := s.data, s.tag
	s.mu.Unlock()
	if s.answer != nil && s.answer(n, w, r) {
		return
	}
	if tag != "" {
		w.Header().Set("ETag", tag)
	}
	http.ServeContent(w, r, "clip.mp4", time.Time{}, bytes.NewReader(data))
}

// cut sends the given number of bytes from the requested start, and breaks off.
func (s *store) cut(w http.ResponseWriter, r *http.Request, bytes int) {
	first := 0
	fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &first)
	w.Header().Set("ETag", s.tag)
	w.Header().Set("Content-Length", fmt.Sprint(len(s.data)-first))
	if first > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, len(s.data)-1, len(s.data)))
		w.WriteHeader(http.StatusPartialContent)
	}
	w.Write(s.data[first:][:bytes])
	panic(http.ErrAbortHandler)
}

// fetch downloads the store's file.
func (s *store) fetch(t *testing.T, how Transfer) ([]byte, State, error) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	defer f.Close()
	is, err := how.Fetch(t.Context(), s.URL+"/in/clip.mp4?X-Signature=secret", f)
	data, rerr := os.ReadFile(f.Name())
	require.NoError(t, rerr)
	return data, is, err
}

// sample is the content of the files.
func sample(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 3)
	}
	return b
}

// A download continues after the last byte however often the connection breaks off, while
// each try makes progress.
func TestFetchByRange(t *testing.T) {
	s := newStore(t, sample(100_000))
	s.answer = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n < 5 {
			s.cut(w, r, 15_000)
		}
		return false
	}
	data, is, err := s.fetch(t, quick)
	require.NoError(t, err)
	require.Equal(t, s.data, data)
	require.Equal(t, State{Tag: `"one"`, Size: 100_000}, is)
	require.Len(t, s.asked, 6)
	require.Equal(t, "GET ", s.asked[0])
	for i, asked := range s.asked[1:] {
		require.Equal(t, fmt.Sprintf("GET bytes=%d-", 15_000*(i+1)), asked)
	}
}

// A download starts again if the file has changed, if the server supports no ranges, or
// if it does not identify versions of a file.
func TestFetchFromTheStart(t *testing.T) {
	for name, change := range map[string]func(s *store){
		"another file": func(s *store) { s.data, s.tag = sample(70_000)[1000:], `"two"` },
		"no ranges": func(s *store) {
			s.answer = func(n int, w http.ResponseWriter, r *http.Request) bool {
				w.Write(s.data)
				return true
			}
		},
		"weak tags": func(s *store) { s.tag = `W/"one"` },
	} {
		s := newStore(t, sample(50_000))
		if name == "weak tags" {
			s.tag = `W/"one"`
		}
		s.answer = func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n == 0 {
				defer func() {
					s.mu.Lock()
					change(s)
					s.mu.Unlock()
				}()
				s.cut(w, r, 20_000)
			}
			return false
		}
		data, _, err := s.fetch(t, quick)
		require.NoError(t, err, name)
		require.Equal(t, s.data, data, name)
	}
}

// A busy server is asked again, after the pause that it asks for. A server that stays
// busy, breaks off before the first byte or sends nothing ends the download, with the
// reason and without the secrets of its URL. A refused request is not repeated.
func TestFetchAgain(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(w http.ResponseWriter, r *http.Request)
		tries   int
		says    string
		refused bool
	}{
		"busy":   {func(w http.ResponseWriter, r *http.Request) { http.Error(w, "later", http.StatusServiceUnavailable) }, 3, "the server answers 503 Service Unavailable (after 3 tries)", false},
		"breaks": {func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, 3, "EOF (after 3 tries)", false},
		"stalls": {func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 3, "the transfer stalled (after 3 tries)", false},
		"expired": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "<Error><Code>AccessDenied</Code>", http.StatusForbidden)
		}, 1, "the server answers 403 Forbidden (AccessDenied): refused", true},
		"not there": {func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, 1, "the server answers 404 Not Found: refused", true},
		"round":     {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again?secret", http.StatusFound) }, 10, "is redirected more than 10 times: refused", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, nil)
			s.answer = func(n int, w http.ResponseWriter, r *http.Request) bool {
				c.answer(w, r)
				return true
			}
			_, _, err := s.fetch(t, quick)
			require.Error(t, err)
			assert.Contains(t, err.Error(), s.URL+"/in/clip.mp4: ")
			assert.Contains(t, err.Error(), c.says)
			assert.NotContains(t, err.Error(), "secret")
			assert.Len(t, s.asked, c.tries)
			if c.refused {
				assert.ErrorIs(t, err, ErrRefused)
			} else {
				assert.NotErrorIs(t, err, ErrRefused)
			}
		})
	}
	s := newStore(t, sample(10))
	s.answer = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 0 {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "", http.StatusTooManyRequests)
		}
		return n == 0
	}
	start := time.Now()
	data, _, err := s.fetch(t, quick)
	require.NoError(t, err)
	require.Equal(t, s.data, data)
	require.GreaterOrEqual(t, time.Since(start), time.Second)
}

// Without room nothing is downloaded; a program that ends does not wait.
func TestFetchEnds(t *testing.T) {
	s := newStore(t, sample(5000))
	how := quick
	how.Room = func(size int64) error { return fmt.Errorf("no room for %d bytes", size) }
	data, _, err := s.fetch(t, how)
	require.ErrorContains(t, err, "no room for 5000 bytes")
	require.Empty(t, data)
	require.Len(t, s.asked, 1)

	ctx, cancel := context.WithCancel(t.Context())
	s.answer = func(n int, w http.ResponseWriter, r *http.Request) bool {
		cancel()
		http.Error(w, "", http.StatusServiceUnavailable)
		return true
	}
	_, err = Transfer{Pause: time.Hour}.Look(ctx, s.URL)
	require.ErrorIs(t, err, context.Canceled)
}

// Look describes a file by its first byte.
// A redirect to a URL without a server, or to an address that only this machine can
// reach, is refused at once.
func TestRedirects(t *testing.T) {
	for name, c := range map[string]struct{ first, next, want string }{
		"another server":    {"https://192.0.2.1/a", "https://192.0.2.2/b", ""},
		"a private network": {"http://192.0.2.1/a", "http://10.0.0.1/b", ""},
		"of this machine":   {"http://127.0.0.1:8000/a", "http://[::1]:8001/b", ""},
		"less secret":       {"https://192.0.2.1/a", "http://192.0.2.1/a", "from https to http"},
		"a file":            {"http://192.0.2.1/a", "file:///etc/passwd", "redirected to file, expected http or https"},
		"ftp":               {"http://192.0.2.1/a", "ftp://192.0.2.1/a", "redirected to ftp"},
		"no port":           {"http://192.0.2.1/a", "http://192.0.2.1:99999/a", "not a host and port"},
		"no host":           {"http://192.0.2.1/a", "http:///a", "not a host and port"},
		"this machine":      {"http://192.0.2.1/a", "http://127.0.0.1/a", "a private address"},
		"by IPv6":           {"http://192.0.2.1/a", "http://[::ffff:127.0.0.1]/a", "a private address"},
		"any address":       {"http://192.0.2.1/a", "http://0.0.0.0/a", "a private address"},
		"its link":          {"http://192.0.2.1/a", "http://[fe80::1]/a", "a private address"},
		"credentials":       {"http://192.0.2.1/a", "http://169.254.169.254/latest/meta-data", "a private address"},
		"credentials, IPv6": {"http://192.0.2.1/a", "http://[fd00:ec2::254]/latest", "a private address"},
	} {
		t.Run(name, func(t *testing.T) {
			first, err := http.NewRequestWithContext(t.Context(), "GET", c.first, nil)
			require.NoError(t, err)
			next, err := http.NewRequestWithContext(t.Context(), "GET", c.next, nil)
			require.NoError(t, err)
			err = client.CheckRedirect(next, []*http.Request{first})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrRefused)
			require.ErrorContains(t, err, c.want)
		})
	}
	for _, to := range []string{"ftp://127.0.0.1/a", "http://127.0.0.1:99999/", "http://127.0.0.1:port/", "http://[::1/"} {
		s := newStore(t, nil)
		s.answer = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return true
		}
		_, _, err := s.fetch(t, quick)
		require.ErrorIs(t, err, ErrRefused, to)
		require.Len(t, s.asked, 1, to)
	}
}

// A download without a length ends when the disk has no room to spare.
func TestRoomAllAlong(t *testing.T) {
	s := newStore(t, nil)
	s.answer = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		for range 64 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				break
			}
		}
		return true
	}
	var asked []int64
	limited := quick
	limited.Room = func(size int64) error {
		if asked = append(asked, size); len(asked) == 3 {
			return errors.New("no room")
		}
		return nil
	}
	data, _, err := s.fetch(t, limited)
	require.ErrorContains(t, err, "no room")
	require.Len(t, s.asked, 1)
	require.Equal(t, []int64{-1, 0, 0}, asked)
	require.Less(t, len(data), 32<<20)
}

func TestLook(t *testing.T) {
	for name, size := range map[string]int{"file": 12345, "empty": 0} {
		s := newStore(t, sample(size))
		is, err := quick.Look(t.Context(), s.URL+"/x?y=z")
		require.NoError(t, err, name)
		require.Equal(t, int64(size), is.Size, name)
		if size > 0 {
			require.Equal(t, `"one"`, is.Tag, name)
		}
		require.Equal(t, []string{"GET bytes=0-0"}, s.asked, name)
	}
}

// An upload sends the whole file, and starts again if it broke off.
func TestPut(t *testing.T) {
	s := newStore(t, nil)
	var got []byte
	s.answer = func(n int, w http.ResponseWriter, r *http.Request) bool {
		switch n {
		case 0:
			http.Error(w, "", http.StatusInternalServerError)
		case 1:
			io.ReadFull(r.Body, make([]byte, 100))
			panic(http.ErrAbortHandler)
		default:
			got, _ = io.ReadAll(r.Body)
			assert.Equal(t, int64(len(got)), r.ContentLength)
			w.WriteHeader(http.StatusCreated)
		}
		return true
	}
	want := sample(3 << 20)
	require.NoError(t, quick.Put(t.Context(), s.URL+"/out?sig=secret", bytes.NewReader(want), int64(len(want))))
	require.True(t, bytes.Equal(want, got))
	require.Equal(t, []string{"PUT ", "PUT ", "PUT "}, s.asked)
	require.NoError(t, quick.Put(t.Context(), s.URL+"/out", bytes.NewReader(nil), 0))
	require.Empty(t, got)

	s.answer = func(n int, w http.ResponseWriter, r *http.Request) bool {
		http.Error(w, "", http.StatusForbidden)
		return true
	}
	err := quick.Put(t.Context(), s.URL+"/out?sig=secret", strings.NewReader("x"), 1)
	require.ErrorIs(t, err, ErrRefused)
	require.EqualError(t, err, s.URL+"/out: the server answers 403 Forbidden: refused")
}

// Messages about a URL have no secrets, and a text that is not a URL is refused.
func TestNames(t *testing.T) {
	for address, want := range map[string]string{
		"https://u:p@bucket.s3.amazonaws.com/a%2Fb/clip.mp4?X-Amz-Signature=1#x": "https://bucket.s3.amazonaws.com/a%2Fb/clip.mp4",
		"http://[::1/x?secret": "http://...",
	} {
		assert.True(t, Is(address))
		assert.Equal(t, want, Name(address))
	}
	for _, name := range []string{"clip.mp4", "C://x", "ftp://host/x", "http:/x", "-"} {
		assert.False(t, Is(name), name)
	}
	for _, address := range []string{"https:///x?secret", "http://[::1/x?secret"} {
		_, err := quick.Look(t.Context(), address)
		assert.ErrorIs(t, err, ErrRefused)
		assert.NotContains(t, err.Error(), "secret")
	}
}
