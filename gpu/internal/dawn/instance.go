//go:build !js

package dawn

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"
)

// instance is a WGPUInstance, the root of adapters and the object to wait on.
type instance struct {
	*library
	handle uintptr
}

func newInstance(l *library) (*instance, error) {
	var descriptor unsafe.Pointer
	if l.capabilities {
		descriptor = unsafe.Pointer(&instanceDescriptor2025{timedWaitAnyEnable: 1, timedWaitAnyMaxCount: 1})
	} else {
		feature := new(uint32)
		*feature = instanceTimedWaitAny
		d := &instanceDescriptor{requiredFeatureCount: 1, requiredFeatures: unsafe.Pointer(feature)}
		if l.hidden {
			d.nextInChain = searchPaths(l.path)
		}
		descriptor = unsafe.Pointer(d)
	}
	handle := call(l.CreateInstance, uintptr(descriptor))
	if handle == 0 {
		return nil, fmt.Errorf("dawn: %s: no instance", l.path)
	}
	return &instance{l, handle}, nil
}

// release is idempotent.
func (in *instance) release() {
	if in.handle != 0 {
		call(in.InstanceRelease, in.handle)
		in.handle = 0
	}
}

// request starts an asynchronous call: it passes info, with callback and key filled in,
// to start, which returns the future. Dawn delivers the reply only while somebody waits
// for it.
func (in *instance) request(callback uintptr, start func(info *callbackInfo) uintptr) *future {
	f := &future{}
	f.key = register(func(r reply) {
		unregister(f.key)
		f.reply, f.done = r, true
	})
	f.id = uint64(start(&callbackInfo{mode: modeWaitAnyOnly, callback: callback, userdata1: f.key}))
	return f
}

// future is a pending asynchronous call.
type future struct {
	id    uint64
	key   uintptr
	done  bool
	reply reply
}

// slice is the longest single wait before the context is checked.
const slice = 50 * time.Millisecond

// wait blocks until f has its reply or ctx ends. It calls between after each slice and
// returns its error.
func (in *instance) wait(ctx context.Context, f *future, between func() error) error {
	for !f.done {
		if err := ctx.Err(); err != nil {
			return err
		}
		info := &futureWaitInfo{future: f.id}
		switch status := uint32(call(in.InstanceWaitAny, in.handle, 1, uintptr(unsafe.Pointer(info)), uintptr(slice))); {
		case f.done:
		case status == waitSuccess:
			return errors.New("dawn: a future completed without its callback")
		case status != waitTimedOut:
			return fmt.Errorf("dawn: waiting failed with status %d", status)
		}
		if between != nil && !f.done {
			if err := between(); err != nil {
				return err
			}
		}
	}
	return nil
}

// await waits for a reply that comes soon.
func (in *instance) await(f *future) (reply, error) {
	err := in.wait(context.Background(), f, nil)
	return f.reply, err
}
