package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"tessera/app/api"
	"tessera/app/session"
	"tessera/gpu"
)

// engine is the device that all pages share, and the folder that they may read.
type engine struct {
	turns   turns // for the device
	headers turns // for reading files' headers
	pages   atomic.Int32
	api     *api.API
	root    *os.Root // nil: no folder

	opening sync.Mutex
	options gpu.Options
	dev     *gpu.Device // nil until needed, and after it was lost
	info    gpu.Info
	known   bool // info is set
}

// device opens the device if it is not open.
func (e *engine) device() (*gpu.Device, error) {
	e.opening.Lock()
	defer e.opening.Unlock()
	if e.dev != nil {
		return e.dev, nil
	}
	dev, err := gpu.Open(e.options)
	if err != nil {
		return nil, err
	}
	e.dev, e.info, e.known = dev, dev.Info(), true
	return dev, nil
}

// close releases the device. No session may use it any more.
func (e *engine) close() error {
	e.opening.Lock()
	defer e.opening.Unlock()
	var err error
	if e.api != nil {
		err = e.api.Close()
	}
	if e.dev != nil {
		err = errors.Join(err, e.api.Forget(e.dev), e.dev.Close())
		e.dev = nil
	}
	if e.root != nil {
		err = errors.Join(err, e.root.Close())
	}
	return err
}

// desk is the engine as package session's Host.
type desk struct{ *engine }

var _ session.Host = desk{}

func (d desk) Info(context.Context) (gpu.Info, error) {
	d.opening.Lock()
	info, known := d.info, d.known
	d.opening.Unlock()
	if known {
		return info, nil
	}
	_, err := d.device()
	return d.info, err
}

// Turn waits for the device and returns it.
func (d desk) Turn(ctx context.Context, queued func(position int)) (*gpu.Device, error) {
	dev, err := d.turn(ctx, "", queued)
	if err == nil {
		d.api.PutAway(dev) // a page's model may need all its memory
	}
	return dev, err
}

// turn waits for the device.
func (e *engine) turn(ctx context.Context, client string, queued func(position int)) (*gpu.Device, error) {
	if err := e.turns.take(ctx, client, queued); err != nil {
		return nil, err
	}
	dev, err := e.device()
	if err != nil {
		e.turns.done()
		return nil, err
	}
	return dev, nil
}

// Done ends a turn.
func (e *engine) Done(err error) {
	defer e.turns.done()
	if errors.Is(err, gpu.ErrDeviceLost) || errors.Is(err, session.ErrPanic) || errors.Is(err, api.ErrPanic) {
		e.drop()
	}
}

// programs is the engine as package api's Host.
type programs struct{ *engine }

var _ api.Host = programs{}

// Turn waits for the device and returns it.
func (p programs) Turn(ctx context.Context, client string) (*gpu.Device, error) {
	return p.turn(ctx, client, func(int) {})
}

// drop closes an unusable device; the next turn opens another.
func (e *engine) drop() {
	e.opening.Lock()
	defer e.opening.Unlock()
	if dev := e.dev; dev != nil {
		e.dev = nil
		_ = e.api.Forget(dev) // the device is unusable anyway
		dev.Close()
	}
}

// Reading waits for the turn to read headers, which may have many megabytes.
func (d desk) Reading(ctx context.Context) (done func(), err error) {
	if err := d.headers.take(ctx, "", func(int) {}); err != nil {
		return nil, err
	}
	return d.headers.done, nil
}

func (d desk) Crowded() bool { return d.pages.Load() > 1 || d.api.Loaded() > 0 }

// Open opens a file below the folder. os.Root refuses paths that lead out of it: absolute
// paths, dots and links.
func (d desk) Open(path string) (io.ReaderAt, int64, func() error, error) {
	if d.root == nil {
		return nil, 0, nil, fmt.Errorf("serve: %.200q: no folder is served, expected tessera serve --folder", path)
	}
	info, err := d.root.Stat(path)
	if err != nil {
		return nil, 0, nil, fmt.Errorf("serve: %w", plain(err))
	}
	if !info.Mode().IsRegular() {
		return nil, 0, nil, fmt.Errorf("serve: %.200q: not a file", path)
	}
	f, err := d.root.Open(path)
	if err != nil {
		return nil, 0, nil, fmt.Errorf("serve: %w", plain(err))
	}
	return f, info.Size(), f.Close, nil
}

// plain removes the folder's path from an error.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%.200q: %w", e.Path, e.Err)
	}
	return err
}
