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

	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
)

// sink is a buffer for concurrent reads and writes.
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
	testenv.Device(t)
	if _, err := chromium(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	_, err := os.Stat("fs_js_test.go") // so that go's test cache watches it
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "wasmtest.test")
	build := exec.Command("go", "test", "-c", "-o", path, ".")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// TestRun runs tests in the browser: those of the file system, and some that end badly.
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
			require.NoError(t, err)
			require.Equal(t, c.code, code, "%s%s", out.String(), errors.String())
			require.Contains(t, out.String(), c.out)
			require.Contains(t, errors.String(), c.error)
		})
	}
}

// TestStop: stopping ends a program that never yields together with its browser, and
// earlier output has arrived.
func TestStop(t *testing.T) {
	path := binary(t)
	t.Setenv("ASKED", "spin")
	stop := errors.New("stopped by the test")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 8*time.Second, stop)
	defer cancel()
	var out, errs sink
	code, err := run(ctx, path, []string{"-test.run=^TestAsked$"}, &out, &errs)
	require.ErrorIs(t, err, stop, "%s%s", out.String(), errs.String())
	require.NotZero(t, code)
	require.Contains(t, out.String(), "spinning")
}

func TestTimeout(t *testing.T) {
	require.Equal(t, 10*time.Minute, timeout([]string{"-test.v=true", "-test.timeout=10m0s"}))
	require.Zero(t, timeout([]string{"-test.v=true"}))
}

// TestEnvironment: requested variables are passed, however many others exist.
func TestEnvironment(t *testing.T) {
	variables := []string{"LONG=" + strings.Repeat("x", 8000), "GPU=require", "EMPTY="}
	for range 500 {
		variables = append(variables, "FILLER"+strings.Repeat("y", len(variables)%40)+"="+strings.Repeat("z", 30))
	}
	env := environment([]string{"test", "-test.v"}, variables)
	require.Equal(t, "require", env["GPU"])
	require.Contains(t, env, "EMPTY")
	require.Empty(t, env["EMPTY"])
	require.Empty(t, env["LONG"])
	total := 0
	for name, value := range env {
		total += len(name) + len(value) + 2 + 16
	}
	require.LessOrEqual(t, total, 8<<10, "bytes of all variables")
}
