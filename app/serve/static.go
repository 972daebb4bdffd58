package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// types are the media types of the page's files. They are listed here because the
// system's table differs between machines, and browsers refuse a module script or
// streamed wasm with a wrong type.
var types = map[string]string{
	".css":         "text/css; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".ico":         "image/x-icon",
	".jpg":         "image/jpeg",
	".js":          "text/javascript; charset=utf-8",
	".json":        "application/json",
	".map":         "application/json",
	".md":          "text/plain; charset=utf-8",
	".mjs":         "text/javascript; charset=utf-8",
	".png":         "image/png",
	".safetensors": "application/octet-stream",
	".svg":         "image/svg+xml",
	".txt":         "text/plain; charset=utf-8",
	".wasm":        "application/wasm",
	".webmanifest": "application/manifest+json",
	".webp":        "image/webp",
}

// policy is what the page may do: run its own scripts and wasm, talk to its own server,
// read checkpoints and latents by https from wherever the visitor says, and show pictures
// and videos that it made. It forbids inline code and scripts from other origins.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; " +
	"img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self' blob: https: %[2]s://%[1]s; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// worker is the service worker, which keeps the page in browsers for use offline. This
// server does not send it, because the stored page would outlive the program.
const worker = "sw.js"

// static serves the files of the page.
type static struct {
	files fs.FS
	tags  map[string]string // entity tags by path, computed at start
}

func newStatic(files fs.FS) (*static, error) {
	s := &static{files, map[string]string{}}
	if _, err := fs.Stat(files, "index.html"); err != nil {
		return nil, fmt.Errorf("serve: the page has no index.html: %w", err)
	}
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || name == worker {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		s.tags[name] = `"` + hex.EncodeToString(sum[:12]) + `"`
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("serve: page: %w", err)
	}
	return s, nil
}

func (s *static) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, socket := w.Header(), "ws"
	if r.TLS != nil {
		socket = "wss"
	}
	h.Set("Content-Security-Policy", fmt.Sprintf(policy, r.Host, socket))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	tag := s.tags[name]
	if tag == "" {
		http.NotFound(w, r)
		return
	}
	kind := types[path.Ext(name)]
	if kind == "" {
		kind = "application/octet-stream"
	}
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-cache") // the browser asks each time; the tag answers
	h.Set("ETag", tag)
	http.ServeFileFS(w, r, s.files, name)
}
