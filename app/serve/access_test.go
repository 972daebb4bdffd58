package serve

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnlyOwnPage(t *testing.T) {
	s := start(t, Options{})
	own := "http://" + s.listen.Addr().String()
	for name, c := range map[string]struct {
		token, origin string
		status        int
	}{
		"no token":          {"", own, http.StatusUnauthorized},
		"another token":     {newToken(), own, http.StatusUnauthorized},
		"a part of it":      {s.access.token[:20], own, http.StatusUnauthorized},
		"no origin":         {s.access.token, "", http.StatusForbidden},
		"another origin":    {s.access.token, "http://example.com", http.StatusForbidden},
		"another port":      {s.access.token, "http://127.0.0.1:1", http.StatusForbidden},
		"https":             {s.access.token, strings.Replace(own, "http", "https", 1), http.StatusForbidden},
		"a sandboxed frame": {s.access.token, "null", http.StatusForbidden},
		"as it should be":   {s.access.token, own, 0},
	} {
		t.Run(name, func(t *testing.T) {
			client, response, err := dial(t.Context(), s, c.token, c.origin)
			if c.status == 0 {
				require.NoError(t, err)
				client.ws.CloseNow()
				return
			}
			require.Error(t, err, "was let in")
			assert.Equal(t, c.status, response.StatusCode)
		})
	}
}

// TestHosts: a foreign name that points to this machine is refused.
func TestHosts(t *testing.T) {
	s := start(t, Options{})
	_, port, _ := strings.Cut(s.listen.Addr().String(), ":")
	for host, want := range map[string]bool{
		"127.0.0.1:" + port: true, "localhost:" + port: true, "[::1]:" + port: true,
		"evil.example:" + port: false, "localhost.evil.example:" + port: false, "127.0.0.1:1": false, "127.0.0.1": false,
	} {
		assert.Equal(t, want, s.access.host(host), host)
	}
}

func TestPage(t *testing.T) {
	s := start(t, Options{})
	for path, want := range map[string]string{
		"/":           "text/html; charset=utf-8",
		"/app.js":     "text/javascript; charset=utf-8",
		"/sub/a.mjs":  "text/javascript; charset=utf-8",
		"/x.wasm":     "application/wasm",
		"/x.webp":     "image/webp",
		"/x.jpg":      "image/jpeg",
		"/../app.js":  "text/javascript; charset=utf-8",
		"/none":       "",
		"/sub":        "",
		"/sub/":       "",
		"/.gitignore": "",
		"/sw.js":      "",
	} {
		r, err := http.Get("http://" + s.listen.Addr().String() + path)
		require.NoError(t, err)
		r.Body.Close()
		if want == "" {
			assert.Equal(t, http.StatusNotFound, r.StatusCode, path)
			continue
		}
		assert.Equal(t, http.StatusOK, r.StatusCode, path)
		assert.Equal(t, want, r.Header.Get("Content-Type"), path)
		csp := r.Header.Get("Content-Security-Policy")
		assert.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"), path)
		assert.Contains(t, csp, "script-src 'self' 'wasm-unsafe-eval';", path)
		assert.Contains(t, csp, "connect-src 'self' blob: https: ws://"+s.listen.Addr().String()+";", path)
	}
	r, err := http.Post("http://"+s.listen.Addr().String()+"/", "text/plain", nil)
	require.NoError(t, err)
	r.Body.Close()
	assert.Equal(t, http.StatusMethodNotAllowed, r.StatusCode, "POST")
}

// TestUnchanged: a page that the browser has stored is not sent again.
func TestUnchanged(t *testing.T) {
	s := start(t, Options{})
	url := "http://" + s.listen.Addr().String() + "/app.js"
	r, err := http.Get(url)
	require.NoError(t, err)
	r.Body.Close()
	q, _ := http.NewRequest(http.MethodGet, url, nil)
	q.Header.Set("If-None-Match", r.Header.Get("ETag"))
	r, err = http.DefaultClient.Do(q)
	require.NoError(t, err)
	r.Body.Close()
	assert.Equal(t, http.StatusNotModified, r.StatusCode)
}

func TestOversizeMessage(t *testing.T) {
	const most = 1 << 20
	s := start(t, Options{MaxMessage: most})
	for name, c := range map[string]struct {
		message []byte
		want    websocket.StatusCode
	}{
		"message": {append([]byte{2, 0, 0, 0, '{', '}'}, make([]byte, most)...), websocket.StatusMessageTooBig},
		"header":  {[]byte{0, 0, 0, 0x7f, '{', '}'}, websocket.StatusPolicyViolation},
		"cut off": {[]byte{9, 0, 0, 0, '{', '}'}, websocket.StatusPolicyViolation},
		"empty":   {nil, websocket.StatusPolicyViolation},
		"no JSON": {[]byte{2, 0, 0, 0, '{', '{'}, websocket.StatusPolicyViolation},
		"unknown": {append([]byte{14, 0, 0, 0}, `{"type":"rm"}  `[:14]...), websocket.StatusPolicyViolation},
	} {
		t.Run(name, func(t *testing.T) {
			c1 := enter(t, s)
			ctx := within(t, 10*time.Second)
			_ = c1.ws.Write(ctx, websocket.MessageBinary, c.message) // may be cut short by the server
			_, _, err := c1.ws.Read(ctx)
			var closed websocket.CloseError
			require.ErrorAs(t, err, &closed)
			assert.Equal(t, c.want, closed.Code)
		})
	}
}

func TestText(t *testing.T) {
	s := start(t, Options{})
	c := enter(t, s)
	ctx := within(t, 10*time.Second)
	require.NoError(t, c.ws.Write(ctx, websocket.MessageText, []byte(`{"type":"device","id":1}`)))
	_, _, err := c.ws.Read(ctx)
	assert.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err), "%v", err)
}

func TestTooManyPages(t *testing.T) {
	s := start(t, Options{MaxPages: 2})
	ctx := within(t, 10*time.Second)
	second := enter(t, s)
	for _, c := range []*client{enter(t, s), second} { // an answer shows that it is connected
		_, err := c.request(ctx, map[string]any{"type": "plan"}, nil)
		require.ErrorAs(t, err, new(failed))
	}
	third := enter(t, s)
	_, _, err := third.ws.Read(ctx)
	require.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(err), "%v", err)
	second.ws.CloseNow()
	for { // until the server has noticed
		c, _, err := dial(ctx, s, s.access.token, "http://"+s.listen.Addr().String())
		require.NoError(t, err)
		short := within(t, 200*time.Millisecond)
		_, _, err = c.ws.Read(short)
		c.ws.CloseNow()
		if websocket.CloseStatus(err) == -1 {
			return
		}
	}
}

// TestFolder: only files below the folder can be opened and are listed.
func TestFolder(t *testing.T) {
	needDevice(t)
	above := t.TempDir()
	folder := filepath.Join(above, "models")
	data, err := os.ReadFile(checkpoint)
	require.NoError(t, err)
	for _, name := range []string{"secret.safetensors", "models/a.safetensors", "models/b.pth", "models/sub/b.npy", "models/.hidden/c.npy", "models/readme.txt"} {
		path := filepath.Join(above, name)
		require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, data, 0o666)))
	}
	packed, err := os.ReadFile("../../media/testdata/latents/packed.npz")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "c.npz"), packed, 0o666))
	for link, to := range map[string]string{"link.safetensors": "../secret.safetensors", "up": "..", "absolute.safetensors": filepath.Join(above, "secret.safetensors")} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Skip(err)
		}
	}
	s := start(t, Options{Folder: folder})
	c := enter(t, s)
	ctx := within(t, time.Minute)
	for path, want := range map[string]bool{
		"a.safetensors":                            true,
		"sub/../a.safetensors":                     true, // stays inside
		"../secret.safetensors":                    false,
		"sub/../../secret.safetensors":             false,
		"link.safetensors":                         false,
		"absolute.safetensors":                     false,
		"up/secret.safetensors":                    false,
		filepath.Join(above, "secret.safetensors"): false,
		"..":                false,
		"sub":               false,
		"none.safetensors":  false,
		"a.safetensors\x00": false,
	} {
		_, err := c.request(ctx, map[string]any{"type": "open", "source": map[string]any{"path": path}, "precision": "f32"}, nil)
		assert.Equal(t, want, err == nil, "%q: %v", path, err)
		if err == nil {
			continue
		}
		var f failed
		require.ErrorAs(t, err, &f, path)
		assert.Equal(t, "bad_input", f.code, path)
		assert.False(t, strings.Contains(f.message, above) && !filepath.IsAbs(path), "%q: the message tells where the folder is: %s", path, f.message)
	}
	_, err = c.request(ctx, map[string]any{"type": "inspect", "source": map[string]any{"path": "c.npz"}}, nil)
	require.NoError(t, err, "what only the program reads")
	got := listing(t, s, s.access.token)
	require.Len(t, got, 4)
	assert.Equal(t, "a.safetensors", got[0].Path)
	assert.Equal(t, "b.pth", got[1].Path)
	assert.Equal(t, "c.npz", got[2].Path)
	assert.Equal(t, "sub/b.npy", got[3].Path)
	assert.Equal(t, int64(len(data)), got[0].Size)
	assert.Nil(t, listing(t, s, newToken()), "listed for one without the token")
}

func listing(t *testing.T, s *Server, token string) []listed {
	t.Helper()
	q, _ := http.NewRequest(http.MethodGet, "http://"+s.listen.Addr().String()+"/folder", nil)
	q.Header.Set("Authorization", "Bearer "+token)
	r, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	defer r.Body.Close()
	if r.StatusCode == http.StatusUnauthorized {
		return nil
	}
	data, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	var list []listed
	require.NoError(t, json.Unmarshal(data, &list), string(data))
	return list
}

func TestNoFolder(t *testing.T) {
	needDevice(t)
	c := enter(t, start(t, Options{}))
	_, err := c.request(within(t, time.Minute), map[string]any{"type": "open", "source": map[string]any{"path": "go.mod"}}, nil)
	var f failed
	require.ErrorAs(t, err, &f)
	assert.Equal(t, "bad_input", f.code)
	assert.Contains(t, f.message, "--folder")
}
