//go:build !js

package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
)

//go:embed page
var page embed.FS

// browser is a page in a separate Chromium with all sides in it.
type browser struct {
	tab    context.Context
	py     *python // writes graphs
	about  about
	closes []func()
}

// about describes what the page runs on.
type about struct {
	Adapter  string            `json:"adapter"`
	Versions map[string]string `json:"versions"`
	Agent    string            `json:"-"`
}

func startBrowser(o options, py *python) (b *browser, err error) {
	b = &browser{py: py}
	defer func() {
		if err != nil {
			b.end()
		}
	}()
	url, err := b.serve(o)
	if err != nil {
		return nil, err
	}
	program := os.Getenv("CHROMIUM")
	if program == "" {
		program = "chromium"
	}
	flags := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.Headless, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("enable-unsafe-webgpu", true), // without it there is no adapter without a GPU
	}
	if os.Geteuid() == 0 {
		flags = append(flags, chromedp.NoSandbox) // it refuses to start otherwise
	}
	allocator, kill := chromedp.NewExecAllocator(context.Background(), flags...)
	b.closes = append(b.closes, kill)
	tab, closeTab := chromedp.NewContext(allocator)
	b.tab, b.closes = tab, append(b.closes, closeTab)
	err = chromedp.Listen(tab, func(event any) {
		if e, ok := event.(*log.EventEntryAdded); ok && e.Entry.Level == log.EntryLevelError {
			fmt.Fprintln(os.Stderr, "chromium:", e.Entry.Text, e.Entry.URL)
		}
	})
	if err == nil {
		err = chromedp.Do(tab, chromedp.Navigate(url))
	}
	if err == nil {
		err = b.eval(&b.about, "new Promise((done) => { const look = () => globalThis.peers ? done(peers.about()) : setTimeout(look, 50); look(); })")
	}
	if err == nil {
		err = b.eval(&b.about.Agent, "navigator.userAgent.match(/Chrome.[0-9.]+/)[0]")
	}
	return b, err
}

// eval awaits a JavaScript expression in which each $ stands for one of args.
func (b *browser) eval(to any, expression string, args ...any) error {
	for _, a := range args {
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		expression = strings.Replace(expression, "$", string(text), 1)
	}
	v, err := chromedp.Run(b.tab, chromedp.Evaluate[json.RawMessage](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		return fmt.Errorf("%s: %w", expression, err)
	}
	return json.Unmarshal(v, to)
}

// serve gives the page its scripts, the peers and the case on loopback, and receives
// the output.
func (b *browser) serve(o options) (url string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	static, _ := fs.Sub(page, "page") // the name is a constant
	file := func(path string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) }
	}
	mux.Handle("GET /", http.FileServerFS(static))
	mux.Handle("GET /modules/", http.StripPrefix("/modules/", http.FileServer(http.Dir(filepath.Join(o.build, "node_modules")))))
	mux.Handle("GET /case/", http.StripPrefix("/case/", http.FileServer(http.Dir(filepath.Join(o.build, "case")))))
	mux.HandleFunc("PUT /case/{name}", func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err == nil {
			err = os.WriteFile(filepath.Join(o.build, "case", filepath.Base(r.PathValue("name"))), data, 0o600)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("GET /ours.wasm", file(filepath.Join(o.build, "ours.wasm")))
	mux.HandleFunc("GET /wasm_exec.js", file(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js")))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener) // ends with Close
	b.closes = append(b.closes, func() { server.Close() })
	return "http://" + listener.Addr().String() + "/", nil
}

func (b *browser) open(folder string, _ Case) (o opened, err error) {
	graphs, err := b.py.graphs(folder)
	if err != nil {
		return o, err
	}
	return o, b.eval(&o, "peers.open($)", graphs)
}

func (b *browser) run(name string, n int) (seconds []float64, err error) {
	return seconds, b.eval(&seconds, "peers.run($, $)", name, n)
}

func (b *browser) close() error {
	var closed bool
	return b.eval(&closed, "peers.close()")
}

func (b *browser) end() {
	for i := len(b.closes) - 1; i >= 0; i-- {
		b.closes[i]()
	}
}
