//go:build js

package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall/js"
	"time"

	"tessera/gpu/internal/driver"
)

// device is a GPUDevice and its queue. Its JS callbacks run between Go's goroutines,
// never in parallel, so its fields need no lock.
type device struct {
	handle js.Value
	info   driver.Info
	bound  methods
	closed bool

	lostNow    chan struct{} // closed when the device is lost
	lost       error
	captured   []error // uncaptured errors since the last failure
	onCaptured js.Func

	staging driver.Staging
	scratch scratch
}

var errClosed = errors.New("browser: the device is closed")

// openDevice opens a with all its features and limits.
func openDevice(a *adapter) (*device, error) {
	handle, err := a.requestDevice()
	if err != nil {
		return nil, err
	}
	d := &device{handle: handle, info: a.info, bound: bind(handle), lostNow: make(chan struct{})}
	d.info.Limits = limits(handle.Get("limits"))
	d.staging = driver.NewStaging(&port{d}, chunks, d.info.Limits.MaxBuffer)
	d.onCaptured = js.FuncOf(func(_ js.Value, args []js.Value) any {
		d.captured = append(d.captured, gpuError(args[0].Get("error")))
		return nil
	})
	handle.Call("addEventListener", "uncapturederror", d.onCaptured)
	lost := watch(handle.Get("lost"))
	go func() {
		<-lost.done
		d.onLost(lost.value)
	}()
	return d, nil
}

// Info describes the adapter. It has the device's limits.
func (d *device) Info() driver.Info { return d.info }

// Kept returns zeros: the browser's cache is not visible.
func (*device) Kept() (found, missed int) { return 0, 0 }

// Close ends pending work and releases the device. Buffers, pipelines and bind groups
// may be released later.
func (d *device) Close() error {
	if d.closed {
		return nil
	}
	d.staging.Drop()
	d.closed = true
	d.handle.Call("removeEventListener", "uncapturederror", d.onCaptured)
	d.onCaptured.Release()
	d.handle.Call("destroy")
	select {
	case <-d.lostNow: // the last event from JS
	case <-time.After(lossGrace):
	}
	d.bound, d.scratch = methods{}, scratch{}
	return nil
}

func (d *device) onLost(info js.Value) {
	if d.lost == nil {
		d.lost = fmt.Errorf("browser: %s: %w: %s", d.info.Name, driver.ErrDeviceLost, oneLine(info.Get("message").String()))
		close(d.lostNow)
	}
}

// failure returns the loss of the device, or else the uncaptured errors since the last
// call.
func (d *device) failure() error {
	if d.closed {
		return errClosed
	}
	if d.lost != nil {
		return d.lost
	}
	err := errors.Join(d.captured...)
	d.captured = nil
	return err
}

// lossGrace is how long after a refusal the report of the device's loss may take to
// arrive.
const lossGrace = time.Second

// settled blocks until p settles, ctx ends or the device is lost.
func (d *device) settled(ctx context.Context, p *promise) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-d.lostNow:
		return d.lost
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait waits like settled. It returns the rejection of p, or the device's failure if
// that explains the rejection.
func (d *device) wait(ctx context.Context, p *promise) error {
	if err := d.settled(ctx, p); err != nil || p.err == nil {
		return err
	}
	select {
	case <-d.lostNow:
	case <-time.After(lossGrace):
	}
	if err := d.failure(); err != nil {
		return err
	}
	return p.err
}

// scope is a popped error scope: its promises, innermost filter first.
type scope []*promise

// scoped runs f inside error scopes with the given filters, outermost first.
func (d *device) scoped(f func(), filters ...string) (scope, error) {
	for _, filter := range filters {
		d.bound.pushErrorScope.Invoke(filter)
	}
	err := try(f)
	var s scope
	for range filters {
		s = append(s, watch(d.bound.popErrorScope.Invoke()))
	}
	return s, err
}

// first waits for the scope's errors and returns the first one; if ctx ends earlier, it
// returns ctx.Err.
func (d *device) first(ctx context.Context, s scope) error {
	var first error
	for _, p := range s {
		if err := d.wait(ctx, p); err != nil {
			return err
		}
		if first == nil && p.value.Truthy() {
			first = gpuError(p.value)
		}
	}
	return first
}

// guarded runs f and returns the first error of its calls, or the device's failure.
func (d *device) guarded(f func()) error {
	if err := d.failure(); err != nil {
		return err
	}
	s, thrown := d.scoped(f, "validation", "internal", "out-of-memory")
	err := d.first(context.Background(), s)
	if failure := d.failure(); failure != nil {
		return failure
	}
	if thrown != nil {
		return thrown
	}
	return err
}

// gpuError converts a GPUError.
func gpuError(v js.Value) error {
	message := strings.TrimSpace(text(v, "message"))
	switch v.Get("constructor").Get("name").String() {
	case "GPUOutOfMemoryError":
		return fmt.Errorf("%w: %s", driver.ErrOutOfMemory, oneLine(message))
	case "GPUInternalError":
		return fmt.Errorf("the driver failed: %s", message)
	}
	return errors.New(message)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// settle waits until the queue is empty.
func (d *device) settle(ctx context.Context) error {
	return d.wait(ctx, watch(d.bound.onSubmittedWorkDone.Invoke()))
}
