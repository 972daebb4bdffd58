//go:build !js

package main

import (
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed page
var page embed.FS

// server provides a page on loopback with everything to run a test binary, and receives
// its output and exit code.
type server struct {
	url    string // of the page; contains a secret
	exited chan int
	stdout io.Writer
	stderr io.Writer

	http   *http.Server
	binary string
	start  start
	module string // directory
	files  *os.Root
}

// start is what worker.js requests first.
type start struct {
	Args []string          `json:"args"`
	Env  map[string]string `json:"env"`
	Dir  string            `json:"dir"`
}

// serve starts a server for binary, run in the working directory.
func serve(binary string, args []string, stdout, stderr io.Writer) (*server, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	s := &server{exited: make(chan int, 1), stdout: stdout, stderr: stderr, binary: binary}
	s.start = start{Args: append([]string{binary}, args...), Dir: filepath.ToSlash(dir)}
	s.start.Env = environment(s.start.Args, os.Environ())
	if s.module, err = moduleRoot(dir); err != nil {
		return nil, err
	}
	wasmExec, err := findWasmExec()
	if err != nil {
		return nil, err
	}
	if s.files, err = os.OpenRoot(s.module); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	secret := "/" + rand.Text() + "/"
	mux := http.NewServeMux()
	static, _ := fs.Sub(page, "page") // the name is a constant
	mux.Handle("GET /", http.FileServerFS(static))
	mux.HandleFunc("GET /wasm_exec.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, wasmExec) })
	mux.HandleFunc("GET /test.wasm", s.wasm)
	mux.HandleFunc("GET /start", func(w http.ResponseWriter, _ *http.Request) { reply(w, s.start) })
	mux.HandleFunc("GET /file", s.file)
	mux.HandleFunc("POST /output", s.output)
	mux.HandleFunc("POST /exit", s.exit)
	s.http = &http.Server{Handler: http.StripPrefix(strings.TrimSuffix(secret, "/"), mux), ReadHeaderTimeout: 10 * time.Second}
	s.url = fmt.Sprintf("http://%s%s", listener.Addr(), secret)
	go s.http.Serve(listener) // ends with close
	return s, nil
}

func (s *server) close() {
	s.http.Close()
	s.files.Close()
}

// moduleRoot returns the nearest parent directory with a go.mod, or else dir.
func moduleRoot(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		switch _, err := os.Stat(filepath.Join(at, "go.mod")); {
		case err == nil:
			return at, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		case at == filepath.Dir(at):
			return dir, nil
		}
	}
}

// findWasmExec returns the toolchain's wasm_exec.js.
func findWasmExec() (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "lib", "wasm", "wasm_exec.js"), nil
}

// room is the space of wasm_exec.js for arguments and environment, including pointers,
// minus some slack.
const room = 7 << 10

// environment returns the variables that fit, the shortest first: a test runner may
// have hundreds of kilobytes, tests need GPU=require.
func environment(args, variables []string) map[string]string {
	left := room
	for _, a := range args {
		left -= len(a) + 16
	}
	env := map[string]string{}
	slices.SortFunc(variables, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		if left -= len(v) + 16; left > 0 {
			env[name] = value
		}
	}
	env["TMPDIR"] = "/tmp"
	return env
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

func (s *server) wasm(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/wasm") // required for streaming compilation
	http.ServeFile(w, r, s.binary)
}

// file answers stat, list and read of a path within the module.
func (s *server) file(w http.ResponseWriter, r *http.Request) {
	path := filepath.FromSlash(r.FormValue("path"))
	name, err := filepath.Rel(s.module, path)
	if err == nil && !filepath.IsLocal(name) {
		err = fs.ErrNotExist
	}
	var info fs.FileInfo
	if err == nil {
		info, err = s.files.Stat(name)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	switch r.FormValue("op") {
	case "stat":
		reply(w, map[string]any{"dir": info.IsDir(), "size": info.Size(), "mtime": info.ModTime().UnixMilli()})
	case "list":
		entries, err := fs.ReadDir(s.files.FS(), filepath.ToSlash(name))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		names := make([]string, len(entries))
		for i, e := range entries {
			names[i] = e.Name()
		}
		reply(w, names)
	default:
		f, err := s.files.Open(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		defer f.Close()
		io.Copy(w, f)
	}
}

func (s *server) output(_ http.ResponseWriter, r *http.Request) {
	to := s.stdout
	if r.FormValue("fd") == "2" {
		to = s.stderr
	}
	io.Copy(to, r.Body)
}

func (s *server) exit(_ http.ResponseWriter, r *http.Request) {
	code, err := strconv.Atoi(r.FormValue("code"))
	if err != nil {
		code = 2
	}
	select {
	case s.exited <- code:
	default: // the first one counts
	}
}
