//go:build !js

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
)

// browse opens the server's page in a new Chromium and waits for the binary's exit
// code. When it returns, the browser has ended.
func browse(ctx context.Context, s *server) (int, error) {
	program, err := chromium()
	if err != nil {
		return 1, err
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program),
		chromedp.Headless,
		chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("enable-unsafe-webgpu", true), // without it there is no adapter without a GPU
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to start otherwise
	}
	allocator, kill := chromedp.NewExecAllocator(ctx, options...)
	defer kill()
	tab, closeTab := chromedp.NewContext(allocator)
	defer closeTab()

	broken := make(chan error, 1)
	err = chromedp.Listen(tab, func(event any) {
		switch e := event.(type) {
		case *inspector.EventTargetCrashed:
			fail(broken, errors.New("the page crashed"))
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				fmt.Fprintln(s.stderr, "chromium:", e.Entry.Text)
			}
		}
	})
	if err == nil {
		err = chromedp.Do(tab, chromedp.Navigate(s.url))
	}
	if err != nil {
		return 1, cause(ctx, fmt.Errorf("%s: %w", program, err))
	}
	select {
	case code := <-s.exited:
		return code, nil
	case err := <-broken:
		return 1, err
	case <-tab.Done():
		return 1, cause(ctx, errors.New("the browser ended"))
	}
}

func fail(to chan<- error, err error) {
	select {
	case to <- err:
	default:
	}
}

// cause returns why ctx ended, if it did, or else err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// chromium returns the program that $CHROMIUM names, or the first of the usual names on
// the path.
func chromium() (string, error) {
	if name := os.Getenv("CHROMIUM"); name != "" {
		return name, nil
	}
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium: looked for %v on the path; $CHROMIUM may name it", names)
}
