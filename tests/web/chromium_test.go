// Package web tests the page in a real Chromium. Most of a visit is spent on one core
// that compiles shaders, so tests run in parallel, except those that measure time or
// change the environment. newVisit opens the page of `tessera serve`, and a visit's
// methods act like a user:
//
//	v := newVisit(t, folder)
//	v.open("?demo=2x6x6", "")
//	v.ready()
//	v.run()
package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"tessera/tests/build"
	"tessera/tests/testenv"
)

const root = "../.."

// chromium returns the program to test with. Without one the test skips or fails, as
// package testenv describes.
func chromium(t testing.TB) string {
	t.Helper()
	testenv.Device(t)
	if name := os.Getenv("CHROMIUM"); name != "" {
		return name
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	testenv.Missing(t, "no Chromium on the path; $CHROMIUM may name it")
	return ""
}

// tab opens a page in a new Chromium, which is closed when the test ends.
func tab(t testing.TB, url string) context.Context {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium(t)),
		chromedp.Headless,
		chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("enable-unsafe-webgpu", true), // without it there is no adapter without a GPU
		chromedp.UserDataDir(t.TempDir()),
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to start otherwise
	}
	limit := 10 * time.Minute
	if *shots != "" {
		limit = time.Hour // the pictures show the whole demo, computed on a processor
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	allocator, kill := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(kill)
	page, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	err := chromedp.Listen(page, func(event any) {
		switch e := event.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				fmt.Fprintln(os.Stderr, "chromium:", e.Entry.Text, e.Entry.URL)
			}
		case *runtime.EventExceptionThrown:
			fmt.Fprintln(os.Stderr, "chromium:", e.ExceptionDetails)
		}
	})
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(page, chromedp.Navigate(url)))
	return page
}

// eval awaits a JS expression, in which each $ stands for one of args.
func eval[T any](t testing.TB, page context.Context, expression string, args ...any) T {
	t.Helper()
	full := expression
	for _, a := range args {
		text, err := json.Marshal(a)
		require.NoError(t, err)
		before, after, _ := strings.Cut(full, "$")
		full = before + string(text) + after
	}
	if f, ok := page.Value(inFirefox{}).(*firefox); ok {
		return evalIn[T](t, f, full)
	}
	v, err := chromedp.Run(page, chromedp.Evaluate[T](full, chromedp.EvalAwaitPromise))
	require.NoError(t, err, expression)
	return v
}

// buildWASM builds the engine like tools/web.sh, but unpacked, as from a host that
// unpacks known types.
func buildWASM(t testing.TB) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "tessera.wasm")
	require.NoError(t, build.Program(out, "tessera/cmd/wasm", []string{"GOOS=js", "GOARCH=wasm"}, "-trimpath", "-ldflags", "-s -w"))
	return out
}

// serve serves files of the repository under the given names; the first folder that has
// a name wins.
func serve(t testing.TB, files map[string]string, folders ...string) *httptest.Server {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	files["wasm_exec.js"] = filepath.Join(string(bytes.TrimSpace(goroot)), "lib", "wasm", "wasm_exec.js")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		path := files[name]
		for _, dir := range folders {
			if path == "" {
				if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
					path = filepath.Join(dir, filepath.FromSlash(name))
				}
			}
		}
		if strings.HasSuffix(name, ".js") {
			w.Header().Set("Content-Type", "text/javascript")
		}
		if path == "" {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, path)
	}))
	t.Cleanup(s.Close)
	return s
}
