//go:build !js

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// sink is a buffer that may be written and read at once.
type sink struct {
	sync.Mutex
	bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.Buffer.Write(p)
}

func (s *sink) String() string {
	s.Lock()
	defer s.Unlock()
	return s.Buffer.String()
}

// binary builds the tests of fs_js_test.go.
func binary(t *testing.T) string {
	t.Helper()
	if _, err := chromium(); err != nil {
		if os.Getenv("GPU") == "require" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "wasmtest.test")
	build := exec.Command("go", "test", "-c", "-o", path, ".")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestRun runs tests in the browser: those of the file system, and some that
// end badly.
func TestRun(t *testing.T) {
	path := binary(t)
	for _, c := range []struct {
		asked      string
		code       int
		out, error string
	}{
		{"", 0, "--- PASS: TestTemporaryFiles", ""},
		{"fail", 1, "failed as asked", ""},
		{"panic", 2, "", "goroutine 1"},
		{"exit", 7, "", ""},
	} {
		t.Run("asked to "+c.asked, func(t *testing.T) {
			t.Setenv("ASKED", c.asked)
			args := []string{"-test.v", "-test.paniconexit0", "-test.timeout=1m0s"}
			if c.asked != "" {
				args = append(args, "-test.run=^TestAsked$")
			}
			var out, errors sink
			code, err := run(t.Context(), path, args, &out, &errors)
			if err != nil || code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(errors.String(), c.error) {
				t.Errorf("code %d, %v, want %d\n%s%s", code, err, c.code, out.String(), errors.String())
			}
		})
	}
}

// TestStop: a program that never yields is stopped with its browser, and what
// it wrote before has arrived.
func TestStop(t *testing.T) {
	path := binary(t)
	t.Setenv("ASKED", "spin")
	stop := errors.New("stopped by the test")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 8*time.Second, stop)
	defer cancel()
	var out, errs sink
	code, err := run(ctx, path, []string{"-test.run=^TestAsked$"}, &out, &errs)
	if code == 0 || !errors.Is(err, stop) || !strings.Contains(out.String(), "spinning") {
		t.Errorf("code %d, %v\n%s%s", code, err, out.String(), errs.String())
	}
}

func TestTimeout(t *testing.T) {
	if got := timeout([]string{"-test.v=true", "-test.timeout=10m0s"}); got != 10*time.Minute {
		t.Errorf("%v", got)
	}
	if got := timeout([]string{"-test.v=true"}); got != 0 {
		t.Errorf("%v", got)
	}
}

// TestEnvironment: what is asked for goes in, whatever else there is.
func TestEnvironment(t *testing.T) {
	variables := []string{"LONG=" + strings.Repeat("x", 8000), "GPU=require", "EMPTY="}
	for range 500 {
		variables = append(variables, "FILLER"+strings.Repeat("y", len(variables)%40)+"="+strings.Repeat("z", 30))
	}
	env := environment([]string{"test", "-test.v"}, variables)
	if v, ok := env["EMPTY"]; env["GPU"] != "require" || !ok || v != "" || env["LONG"] != "" {
		t.Errorf("GPU %q, EMPTY %q, LONG of %d", env["GPU"], env["EMPTY"], len(env["LONG"]))
	}
	total := 0
	for name, value := range env {
		total += len(name) + len(value) + 2 + 16
	}
	if total > 8<<10 {
		t.Errorf("%d bytes", total)
	}
}
