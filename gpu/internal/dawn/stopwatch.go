//go:build !js

package dawn

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"tessera/gpu/internal/driver"
)

// stopwatch is a WGPUQuerySet with the buffers that its results pass through.
type stopwatch struct {
	d        *device
	set      uintptr
	resolved *buffer
	readback *buffer
	commands int // of the submission that it times
}

func (w *stopwatch) Release() {
	if w.set != 0 {
		call(w.d.QuerySetDestroy, w.set)
		call(w.d.QuerySetRelease, w.set)
		w.set = 0
	}
	for _, b := range []*buffer{w.resolved, w.readback} {
		if b != nil {
			b.Release()
		}
	}
}

// NewStopwatch makes a stopwatch.
func (d *device) NewStopwatch() (driver.Stopwatch, error) {
	w := &stopwatch{d: d}
	err := d.guarded(func() {
		w.set = call(d.DeviceCreateQuerySet, d.handle, uintptr(unsafe.Pointer(&querySetDescriptor{
			label: view("stopwatch"), kind: queryTimestamp, count: 2 * driver.MaxTimed,
		})))
	})
	if err == nil && w.set == 0 {
		err = errors.New("no query set")
	}
	if err == nil {
		w.resolved, err = d.newBuffer("stopwatch", driver.SpanBytes*driver.MaxTimed, usageResolve|usageCopySrc)
	}
	if err == nil {
		w.readback, err = d.newReadback(driver.SpanBytes * driver.MaxTimed)
	}
	if err != nil {
		w.Release()
		return nil, fmt.Errorf("dawn: stopwatch: %w", err)
	}
	return w, nil
}

// resolve ends a timed submission.
func (w *stopwatch) resolve(encoder uintptr, commands int) {
	if w.commands = commands; commands == 0 {
		return
	}
	call(w.d.CommandEncoderResolveQuerySet, encoder, w.set, 0, uintptr(2*commands), w.resolved.handle, 0)
	call(w.d.CommandEncoderCopyBufferToBuffer, encoder,
		w.resolved.handle, 0, w.readback.handle, 0, uintptr(driver.SpanBytes*commands))
}

// Times waits for the submission and returns when its commands ran.
func (d *device) Times(ctx context.Context, of driver.Stopwatch) ([]driver.Span, error) {
	w := of.(*stopwatch)
	if err := d.failure(); err != nil || w.commands == 0 {
		return nil, err
	}
	raw := make([]byte, driver.SpanBytes*w.commands)
	if err := d.take(ctx, raw, w.readback); err != nil {
		return nil, fmt.Errorf("dawn: stopwatch: %w", err)
	}
	return driver.Spans(raw), nil
}
