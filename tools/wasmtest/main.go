//go:build !js

// Command wasmtest runs a test binary of GOOS=js GOARCH=wasm in a dedicated
// worker of a real headless Chromium, with WebGPU:
//
//	go build -o build/wasmtest ./tools/wasmtest
//	GOOS=js GOARCH=wasm go test -exec "$PWD/build/wasmtest" ./wgsl
//
// As natively, the tests see their working directory, the module's files, read-only, a
// /tmp, here in memory, and the environment. $CHROMIUM names another Chromium than the
// one on the path.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: wasmtest BINARY [ARGUMENT...]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	ctx, cancel := context.WithCancelCause(ctx)
	go watchParent(cancel)
	code, err := run(ctx, os.Args[1], os.Args[2:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "wasmtest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run returns the exit code of the binary.
func run(ctx context.Context, binary string, args []string, stdout, stderr io.Writer) (int, error) {
	if limit := timeout(args); limit > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeoutCause(ctx, limit+grace, fmt.Errorf("no end %v after the tests' own timeout of %v", grace, limit))
		defer done()
	}
	s, err := serve(binary, args, stdout, stderr)
	if err != nil {
		return 1, err
	}
	defer s.close()
	return browse(ctx, s)
}

// grace is the time for the tests to report that their time is over. A wasm program
// that never yields can't.
const grace = 20 * time.Second

// timeout is the value of -test.timeout, 0 for none.
func timeout(args []string) time.Duration {
	for _, a := range args {
		if v, ok := strings.CutPrefix(a, "-test.timeout="); ok {
			d, _ := time.ParseDuration(v)
			return d
		}
	}
	return 0
}

// watchParent cancels when the process that started this program ends, because
// otherwise the browser would keep running.
func watchParent(cancel context.CancelCauseFunc) {
	for parent := os.Getppid(); os.Getppid() == parent; {
		time.Sleep(time.Second)
	}
	cancel(errors.New("the parent process is gone"))
}
