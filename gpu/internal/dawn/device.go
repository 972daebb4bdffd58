//go:build !js

package dawn

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"tessera/gpu/internal/driver"
)

// device is a WGPUDevice and its queue.
type device struct {
	*instance
	adapter *adapter
	handle  uintptr
	queue   uintptr
	info    driver.Info
	keys    []uintptr // of the permanent callbacks
	cache   *cache    // nil if compiled shaders are not stored
	cacheID uintptr

	mu       sync.Mutex // Dawn may report from its own threads
	lost     error
	captured []error // uncaptured errors since the last failure

	staging driver.Staging
	scratch scratch
}

// scratch holds what C reads during a call on the hot path, so that recording a command
// does not allocate.
type scratch struct {
	descriptor commandEncoderDescriptor
	encoder    encoder
	offset     uint32
	command    uintptr
}

var errClosed = errors.New("dawn: the device is closed")

// openDevice opens a with all its features and limits; the device then owns a and its
// instance.
func openDevice(a *adapter, noCache bool) (*device, error) {
	_, raw, err := a.limits(a.AdapterGetLimits, a.handle)
	if err != nil {
		return nil, err
	}
	raw.nextInChain = nil
	d := &device{instance: a.instance, adapter: a, info: a.info}
	d.keys = []uintptr{register(d.onLost), register(d.onUncaptured)}
	var features []uint32
	for _, f := range []uint32{a.featureF16, a.featureSubgroups, a.featureTimestamps, a.featureMatrices, a.featureSubgroupSize} {
		if a.has(f) {
			features = append(features, f)
		}
	}
	chain := a.deviceToggles()
	if !noCache {
		d.cache = newCache(a.info)
	}
	if d.cache != nil {
		d.cacheID = d.cache.register()
		chain.chain.next = a.cacheDescriptor(d.cacheID)
	}
	descriptor := &deviceDescriptor{
		nextInChain:                 unsafe.Pointer(chain),
		label:                       view("tessera"),
		requiredFeatureCount:        uintptr(len(features)),
		requiredFeatures:            unsafe.Pointer(unsafe.SliceData(features)),
		requiredLimits:              unsafe.Pointer(raw),
		deviceLostCallbackInfo:      callbackInfo{mode: modeAllowProcessEvents, callback: a.callbacks.lost, userdata1: d.keys[0]},
		uncapturedErrorCallbackInfo: uncapturedErrorCallbackInfo{callback: a.callbacks.captured, userdata1: d.keys[1]},
	}
	r, err := a.await(a.request(a.callbacks.handle, func(info *callbackInfo) uintptr {
		return callInfo(a.AdapterRequestDevice, info, a.handle, uintptr(unsafe.Pointer(descriptor)))
	}))
	if err == nil && (r.status != statusSuccess || r.handle == 0) {
		err = fmt.Errorf("dawn: adapter %d, %s: %w: no device: %s", a.info.Index, a.info.Name, driver.ErrNoAdapter, oneLine(r.message))
	}
	if err != nil {
		d.forget()
		return nil, err
	}
	d.handle = r.handle
	d.queue = call(d.DeviceGetQueue, d.handle)
	if d.info.Limits, _, err = d.limits(d.DeviceGetLimits, d.handle); err != nil {
		d.destroy()
		return nil, err
	}
	d.staging = driver.NewStaging(&port{d}, chunks, d.info.Limits.MaxBuffer)
	return d, nil
}

// Info describes the adapter. It has the device's limits.
func (d *device) Info() driver.Info { return d.info }

// Close ends pending work and releases the device. Buffers, pipelines and bind groups
// may be released later.
func (d *device) Close() error {
	if d.handle == 0 {
		return nil
	}
	d.staging.Drop()
	d.destroy()
	d.adapter.release()
	d.release()
	return nil
}

func (d *device) destroy() {
	d.forget()
	call(d.DeviceDestroy, d.handle)
	call(d.QueueRelease, d.queue)
	call(d.DeviceRelease, d.handle)
	d.handle = 0
}

// Kept returns how many compilations were found in the cache, and how many were not.
func (d *device) Kept() (found, missed int) {
	if d.cache == nil {
		return 0, 0
	}
	return d.cache.folder.Counts()
}

// forget disconnects Dawn's reports about this device.
func (d *device) forget() {
	for _, key := range d.keys {
		unregister(key)
	}
	d.keys = nil
	forgetCache(d.cacheID)
}

func (d *device) onLost(r reply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == nil {
		d.lost = fmt.Errorf("dawn: %s (%s): %w: %s; %s", d.info.Name, d.info.Backend, driver.ErrDeviceLost, oneLine(r.message), adviceLost())
	}
}

func adviceLost() string {
	advice := "the driver stopped or was reset: try again with less at once (--tile, --memory), without other programs on the card, or with a newer driver"
	if runtime.GOOS == "windows" {
		advice += ", or with the other --backend"
	}
	return advice
}

func (d *device) onUncaptured(r reply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.captured = append(d.captured, scopeError(r))
}

// failure returns the loss of the device, or else the uncaptured errors since the last
// call.
func (d *device) failure() error {
	if d.handle == 0 {
		return errClosed
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost != nil {
		return d.lost
	}
	err := errors.Join(d.captured...)
	d.captured = nil
	return err
}

// poll lets Dawn deliver pending reports, then returns failure.
func (d *device) poll() error {
	if d.handle != 0 {
		call(d.InstanceProcessEvents, d.instance.handle)
	}
	return d.failure()
}

// guarded runs f inside error scopes and returns the first error of f's calls,
// innermost scope first; or the device's failure. Dawn keeps scopes per thread, so
// guarded locks this goroutine to its thread.
func (d *device) guarded(f func()) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := d.failure(); err != nil {
		return err
	}
	filters := []uintptr{filterValidation, filterInternal, filterOutOfMemory}
	for _, filter := range filters {
		call(d.DevicePushErrorScope, d.handle, filter)
	}
	f()
	var first error
	for range filters {
		r, err := d.await(d.request(d.callbacks.scope, func(info *callbackInfo) uintptr {
			return callInfo(d.DevicePopErrorScope, info, d.handle)
		}))
		switch {
		case first != nil:
		case err != nil:
			first = err
		case r.status != statusSuccess:
			first = fmt.Errorf("dawn: error scope: status %d: %s", r.status, oneLine(r.message))
		case r.kind > errorNone:
			first = scopeError(r)
		}
	}
	if err := d.poll(); err != nil {
		return err
	}
	return first
}

// scopeError converts an error that Dawn reported.
func scopeError(r reply) error {
	text := strings.TrimSpace(r.message)
	switch r.kind {
	case errorOutOfMemory:
		return fmt.Errorf("%w: %s", driver.ErrOutOfMemory, oneLine(text))
	case errorInternal:
		return fmt.Errorf("the driver failed: %s", text)
	}
	return errors.New(text)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// settle waits until the queue is empty.
func (d *device) settle(ctx context.Context) error {
	return d.Wait(ctx, d.fence())
}
