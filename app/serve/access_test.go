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
				if err != nil {
					t.Fatal(err)
				}
				client.ws.CloseNow()
				return
			}
			if err == nil {
				t.Fatal("was let in")
			}
			if response.StatusCode != c.status {
				t.Errorf("status %d, expected %d", response.StatusCode, c.status)
			}
		})
	}
}

// TestHosts: a name that somebody made point here is refused.
func TestHosts(t *testing.T) {
	s := start(t, Options{})
	_, port, _ := strings.Cut(s.listen.Addr().String(), ":")
	for host, want := range map[string]bool{
		"127.0.0.1:" + port: true, "localhost:" + port: true, "[::1]:" + port: true,
		"evil.example:" + port: false, "localhost.evil.example:" + port: false, "127.0.0.1:1": false, "127.0.0.1": false,
	} {
		if got := s.access.host(host); got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
}

func TestPage(t *testing.T) {
	s := start(t, Options{})
	for path, want := range map[string]string{
		"/":           "text/html; charset=utf-8",
		"/app.js":     "text/javascript; charset=utf-8",
		"/sub/a.mjs":  "text/javascript; charset=utf-8",
		"/x.wasm":     "application/wasm",
		"/../app.js":  "text/javascript; charset=utf-8",
		"/none":       "",
		"/sub":        "",
		"/sub/":       "",
		"/.gitignore": "",
	} {
		r, err := http.Get("http://" + s.listen.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if want == "" {
			if r.StatusCode != http.StatusNotFound {
				t.Errorf("%s: status %d, expected 404", path, r.StatusCode)
			}
			continue
		}
		if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != want {
			t.Errorf("%s: status %d, type %q, expected 200, %q", path, r.StatusCode, r.Header.Get("Content-Type"), want)
		}
		csp := r.Header.Get("Content-Security-Policy")
		if r.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(csp, "script-src 'self' 'wasm-unsafe-eval';") {
			t.Errorf("%s: headers %v", path, r.Header)
		}
	}
	r, err := http.Post("http://"+s.listen.Addr().String()+"/", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", r.StatusCode)
	}
}

// TestUnchanged: a page that the browser has already is not sent again.
func TestUnchanged(t *testing.T) {
	s := start(t, Options{})
	url := "http://" + s.listen.Addr().String() + "/app.js"
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	q, _ := http.NewRequest(http.MethodGet, url, nil)
	q.Header.Set("If-None-Match", r.Header.Get("ETag"))
	if r, err = http.DefaultClient.Do(q); err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusNotModified {
		t.Errorf("status %d", r.StatusCode)
	}
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
			if !errors.As(err, &closed) || closed.Code != c.want {
				t.Errorf("got %v, expected the connection to end with %v", err, c.want)
			}
		})
	}
}

func TestText(t *testing.T) {
	s := start(t, Options{})
	c := enter(t, s)
	ctx := within(t, 10*time.Second)
	if err := c.ws.Write(ctx, websocket.MessageText, []byte(`{"type":"device","id":1}`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.ws.Read(ctx); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Error(err)
	}
}

func TestTooManyPages(t *testing.T) {
	s := start(t, Options{MaxPages: 2})
	ctx := within(t, 10*time.Second)
	second := enter(t, s)
	for _, c := range []*client{enter(t, s), second} { // an answer shows that it is in
		if _, err := c.request(ctx, map[string]any{"type": "plan"}, nil); !errors.As(err, new(failed)) {
			t.Fatal(err)
		}
	}
	third := enter(t, s)
	if _, _, err := third.ws.Read(ctx); websocket.CloseStatus(err) != websocket.StatusTryAgainLater {
		t.Fatal(err)
	}
	second.ws.CloseNow()
	for { // until the server has noticed
		c, _, err := dial(ctx, s, s.access.token, "http://"+s.listen.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		short := within(t, 200*time.Millisecond)
		_, _, err = c.ws.Read(short)
		c.ws.CloseNow()
		if websocket.CloseStatus(err) == -1 {
			return
		}
	}
}

// TestFolder: files below the folder can be opened and are listed, others not.
func TestFolder(t *testing.T) {
	needDevice(t)
	above := t.TempDir()
	folder := filepath.Join(above, "models")
	data, err := os.ReadFile(checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret.safetensors", "models/a.safetensors", "models/b.pth", "models/sub/b.npy", "models/.hidden/c.npy", "models/readme.txt"} {
		path := filepath.Join(above, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, data, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
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
		if want && err != nil || !want && err == nil {
			t.Errorf("%q: %v", path, err)
		}
		if err == nil {
			continue
		}
		var f failed
		if !errors.As(err, &f) || f.code != "bad_input" {
			t.Errorf("%q: %v, expected bad_input", path, err)
		}
		if strings.Contains(f.message, above) && !filepath.IsAbs(path) {
			t.Errorf("%q: the message tells where the folder is: %s", path, f.message)
		}
	}
	if got := listing(t, s, s.access.token); len(got) != 3 || got[0].Path != "a.safetensors" || got[1].Path != "b.pth" || got[2].Path != "sub/b.npy" || got[0].Size != int64(len(data)) {
		t.Errorf("listed: %v", got)
	}
	if got := listing(t, s, newToken()); got != nil {
		t.Errorf("listed for one without the token: %v", got)
	}
}

func listing(t *testing.T, s *Server, token string) []listed {
	t.Helper()
	q, _ := http.NewRequest(http.MethodGet, "http://"+s.listen.Addr().String()+"/folder", nil)
	q.Header.Set("Authorization", "Bearer "+token)
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode == http.StatusUnauthorized {
		return nil
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var list []listed
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return list
}

func TestNoFolder(t *testing.T) {
	needDevice(t)
	c := enter(t, start(t, Options{}))
	_, err := c.request(within(t, time.Minute), map[string]any{"type": "open", "source": map[string]any{"path": "go.mod"}}, nil)
	var f failed
	if !errors.As(err, &f) || f.code != "bad_input" || !strings.Contains(f.message, "--folder") {
		t.Error(err)
	}
}
