//go:build js

package browser

import (
	"context"
	"fmt"
	"syscall/js"

	"tessera/gpu/internal/driver"
)

// stopwatch is a GPUQuerySet with the buffers that its results pass through.
type stopwatch struct {
	d        *device
	set      js.Value // undefined once released
	resolved *buffer
	readback *buffer
	commands int // of the submission that it times
}

func (w *stopwatch) Release() {
	if w.set.Truthy() {
		w.set.Call("destroy")
		w.set = js.Undefined()
	}
	for _, b := range []*buffer{w.resolved, w.readback} {
		if b != nil {
			b.Release()
		}
	}
}

// NewStopwatch creates a stopwatch. Chromium rounds its times to 0.1 ms unless it runs
// with --enable-webgpu-developer-features.
func (d *device) NewStopwatch() (driver.Stopwatch, error) {
	w := &stopwatch{d: d}
	err := d.guarded(func() {
		w.set = d.bound.createQuerySet.Invoke(map[string]any{"label": "stopwatch", "type": "timestamp", "count": 2 * driver.MaxTimed})
	})
	if err == nil {
		w.resolved, err = d.newBuffer("stopwatch", driver.SpanBytes*driver.MaxTimed, usageResolve|usageCopySrc)
	}
	if err == nil {
		w.readback, err = d.newReadback(driver.SpanBytes * driver.MaxTimed)
	}
	if err != nil {
		w.Release()
		return nil, fmt.Errorf("browser: stopwatch: %w", err)
	}
	return w, nil
}

// resolve ends a timed submission.
func (w *stopwatch) resolve(encoder js.Value, commands int) {
	if w.commands = commands; commands == 0 {
		return
	}
	w.d.bound.resolveQuerySet.Invoke(encoder, w.set, 0, 2*commands, w.resolved.handle, 0)
	w.d.bound.copyBufferToBuffer.Invoke(encoder, w.resolved.handle, 0, w.readback.handle, 0, driver.SpanBytes*commands)
}

// Times waits for the submission and returns when its commands ran.
func (d *device) Times(ctx context.Context, of driver.Stopwatch) ([]driver.Span, error) {
	w := of.(*stopwatch)
	if err := d.failure(); err != nil || w.commands == 0 {
		return nil, err
	}
	raw := make([]byte, driver.SpanBytes*w.commands)
	if err := d.take(ctx, raw, w.readback, nil); err != nil {
		return nil, fmt.Errorf("browser: stopwatch: %w", err)
	}
	return driver.Spans(raw), nil
}
