// Command wasmtest runs a test binary of GOOS=js GOARCH=wasm in a dedicated
// worker of a real headless Chromium, with WebGPU:
//
//	GOOS=js GOARCH=wasm go test -exec 'go tool wasmtest' ./wgsl
//
// The tests see their working directory, the module's files, read-only, a /tmp
// in memory and the environment, as natively. $CHROMIUM names another Chromium
// than the one on the path.
package main

import (
	"context"
	"errors"
	"fmt"
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
	code, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "wasmtest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run returns the exit code of the binary.
func run(binary string, args []string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go watchParent(cancel)
	if limit := timeout(args); limit > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeoutCause(ctx, limit+grace, fmt.Errorf("no end %v after the tests' own timeout of %v", grace, limit))
		defer done()
	}
	s, err := serve(binary, args)
	if err != nil {
		return 1, err
	}
	defer s.close()
	return browse(ctx, s)
}

// grace is what the tests have to report that their time is over. A wasm
// program that never yields can't.
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

// watchParent cancels when whoever started this program is gone, since what it
// leaves behind is a browser at work.
func watchParent(cancel context.CancelCauseFunc) {
	for parent := os.Getppid(); os.Getppid() == parent; {
		time.Sleep(time.Second)
	}
	cancel(errors.New("the parent process is gone"))
}
