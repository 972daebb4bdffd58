//go:build js

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"tessera/app/session"
	"tessera/gpu"
)

var _ session.Host = (*host)(nil)

// host gives the tab's device to the tab's only session.
type host struct {
	turn sync.Mutex // held between Turn and Done
	open sync.Mutex
	dev  *gpu.Device // nil until needed, and after it was lost
}

// Info opens the device, because only this shows whether one exists.
func (h *host) Info(context.Context) (gpu.Info, error) {
	dev, err := h.device()
	if err != nil {
		return gpu.Info{}, err
	}
	return dev.Info(), nil
}

func (h *host) device() (*gpu.Device, error) {
	h.open.Lock()
	defer h.open.Unlock()
	if h.dev == nil {
		dev, err := gpu.Open(gpu.Options{Adapter: -1})
		if err != nil {
			return nil, err
		}
		h.dev = dev
	}
	return h.dev, nil
}

// Turn waits for the previous turn to end.
func (h *host) Turn(context.Context, func(int)) (*gpu.Device, error) {
	h.turn.Lock()
	dev, err := h.device()
	if err != nil {
		h.turn.Unlock()
	}
	return dev, err
}

// Done drops the device if it was lost or its state is unknown.
func (h *host) Done(err error) {
	if errors.Is(err, gpu.ErrDeviceLost) || errors.Is(err, session.ErrPanic) {
		h.open.Lock()
		h.dev.Close()
		h.dev = nil
		h.open.Unlock()
	}
	h.turn.Unlock()
}

// Reading never waits: the tab has one session.
func (h *host) Reading(context.Context) (done func(), err error) { return func() {}, nil }

// Crowded returns false: the tab has one session.
func (h *host) Crowded() bool { return false }

// Open fails: a tab has no folder.
func (h *host) Open(path string) (io.ReaderAt, int64, func() error, error) {
	return nil, 0, nil, fmt.Errorf("wasm: %s: there are no files by path in a browser", path)
}
