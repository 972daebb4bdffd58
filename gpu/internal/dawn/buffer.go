//go:build !js

package dawn

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"tessera/gpu/internal/driver"
)

// buffer is a WGPUBuffer.
type buffer struct {
	d      *device
	label  string
	handle uintptr
	size   int64 // 0 once released
}

// Release frees the memory once the work that uses it is done.
func (b *buffer) Release() {
	if b.handle != 0 {
		call(b.d.BufferDestroy, b.handle)
		call(b.d.BufferRelease, b.handle)
		b.handle, b.size = 0, 0
	}
}

// NewBuffer creates a zeroed buffer.
func (d *device) NewBuffer(label string, size int64, uniform bool) (driver.Buffer, error) {
	usage := uint64(usageStorage | usageCopySrc | usageCopyDst)
	if uniform {
		usage |= usageUniform
	}
	b, err := d.newBuffer(label, size, usage)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (d *device) newBuffer(label string, size int64, usage uint64) (*buffer, error) {
	if err := driver.CheckSize(size, d.info.Limits); err != nil {
		return nil, fmt.Errorf("dawn: %s: %w", label, err)
	}
	b := &buffer{d: d, label: label, size: size}
	err := d.guarded(func() {
		b.handle = call(d.DeviceCreateBuffer, d.handle, uintptr(unsafe.Pointer(&bufferDescriptor{
			label: view(label), usage: usage, size: uint64(size),
		})))
	})
	if err == nil && b.handle == 0 {
		err = driver.ErrOutOfMemory
	}
	if err != nil {
		b.Release()
		return nil, fmt.Errorf("dawn: %s: %d bytes: %w", label, size, err)
	}
	return b, nil
}

// chunks: Dawn accepts writes up to MostUnsent at once, and reads of this size hide the
// cost of mapping.
var chunks = driver.Chunks{Put: driver.MostUnsent, Fetch: 64 << 20}

// Write copies data to offset, in queue order.
func (d *device) Write(to driver.Buffer, offset int64, data []byte) error {
	b := to.(*buffer)
	if err := b.within("write", offset, len(data)); err != nil {
		return err
	}
	if err := d.staging.Write(b, offset, data); err != nil {
		return err
	}
	return d.failure()
}

// within checks the device and a range of the buffer's bytes.
func (b *buffer) within(what string, offset int64, n int) error {
	if err := b.d.failure(); err != nil {
		return err
	}
	if err := driver.CheckRange(what, offset, n, b.size); err != nil {
		return fmt.Errorf("dawn: %s: %w", b.label, err)
	}
	return nil
}

// Read waits for all submitted work and copies len(dst) bytes from offset.
func (d *device) Read(ctx context.Context, dst []byte, from driver.Buffer, offset int64) error {
	b := from.(*buffer)
	if err := b.within("read", offset, len(dst)); err != nil {
		return err
	}
	if err := d.staging.Read(ctx, dst, b, offset); err != nil {
		return fmt.Errorf("dawn: %s: read: %w", b.label, err)
	}
	return d.poll()
}

// port implements driver.Port for the device's staging.
type port struct{ d *device }

func (p *port) Put(to driver.Buffer, offset int64, data []byte) error {
	call(p.d.QueueWriteBuffer, p.d.queue, to.(*buffer).handle, uintptr(offset), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)))
	return nil
}

func (p *port) Drain() error {
	call(p.d.QueueSubmit, p.d.queue, 0, 0)
	return p.d.settle(context.Background())
}

func (p *port) NewReadback(size int64) (driver.Buffer, error) { return p.d.NewReadback(size) }

// NewReadback creates a buffer that can be copied to and read by Take.
func (d *device) NewReadback(size int64) (driver.Buffer, error) {
	b, err := d.newReadback(size)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// newReadback creates a buffer that can be copied to and mapped.
func (d *device) newReadback(size int64) (*buffer, error) {
	return d.newBuffer("staging", size, usageMapRead|usageCopyDst)
}

func (p *port) Fetch(ctx context.Context, dst []byte, from, readback driver.Buffer, offset int64) error {
	n := int64(len(dst))
	err := p.d.submit("read "+from.(*buffer).label, []driver.Command{{
		Src: driver.Binding{Buffer: from, Offset: offset, Size: n},
		Dst: driver.Binding{Buffer: readback, Size: n},
	}}, nil)
	if err != nil {
		return err
	}
	return p.d.take(ctx, dst, readback.(*buffer))
}

// Take waits for the copies to a readback buffer and reads its first bytes.
func (d *device) Take(ctx context.Context, dst []byte, from driver.Buffer) error {
	b := from.(*buffer)
	err := b.within("read", 0, len(dst))
	if err == nil {
		err = d.take(ctx, dst, b)
	}
	if err != nil {
		return fmt.Errorf("dawn: %s: read: %w", b.label, err)
	}
	return nil
}

// take waits for the copies to a readback buffer and reads its first bytes.
func (d *device) take(ctx context.Context, dst []byte, b *buffer) error {
	mapped := d.request(d.callbacks.message, func(info *callbackInfo) uintptr {
		return callInfo(d.BufferMapAsync, info, b.handle, mapRead, 0, uintptr(len(dst)))
	})
	err := d.wait(ctx, mapped, d.poll)
	if err == nil && mapped.reply.status != statusSuccess {
		if err = d.poll(); err == nil {
			err = fmt.Errorf("not mapped: %s", oneLine(mapped.reply.message))
		}
	}
	if err != nil {
		return err
	}
	addr := call(d.BufferGetConstMappedRange, b.handle, 0, uintptr(len(dst)))
	if addr == 0 {
		return errors.New("not mapped")
	}
	copy(dst, unsafe.Slice((*byte)(pointer(addr)), len(dst)))
	call(d.BufferUnmap, b.handle)
	return nil
}
