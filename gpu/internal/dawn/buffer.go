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
	size   int64
}

// Release frees the memory once the work that uses it is done.
func (b *buffer) Release() {
	if b.handle != 0 {
		call(b.d.BufferDestroy, b.handle)
		call(b.d.BufferRelease, b.handle)
		b.handle = 0
	}
}

// NewBuffer makes a zeroed buffer.
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
	if size <= 0 || size%4 != 0 {
		return nil, fmt.Errorf("dawn: %s: a buffer of %d bytes: want a positive multiple of 4", label, size)
	}
	if size > d.info.Limits.MaxBuffer {
		return nil, fmt.Errorf("dawn: %s: %w: %d bytes, device allows %d in a buffer", label, driver.ErrTooLarge, size, d.info.Limits.MaxBuffer)
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

// writeChunk is how much is written before the queue must have taken it:
// Dawn copies what is written into memory of its own until then.
const writeChunk = 32 << 20

// Write puts data at offset, in queue order.
func (d *device) Write(to driver.Buffer, offset int64, data []byte) error {
	b := to.(*buffer)
	if err := b.within("write", offset, len(data)); err != nil {
		return err
	}
	for len(data) > 0 {
		n := min(len(data), writeChunk)
		if d.unsent > 0 && d.unsent+int64(n) > writeChunk {
			if err := d.flush(); err != nil {
				return err
			}
		}
		call(d.QueueWriteBuffer, d.queue, b.handle, uintptr(offset), uintptr(unsafe.Pointer(&data[0])), uintptr(n))
		d.unsent += int64(n)
		data, offset = data[n:], offset+int64(n)
	}
	return d.failure()
}

// flush submits what was written and waits until the device has it.
func (d *device) flush() error {
	call(d.QueueSubmit, d.queue, 0, 0)
	d.unsent = 0
	return d.settle(context.Background())
}

// within checks the device and a range of the buffer's bytes.
func (b *buffer) within(what string, offset int64, n int) error {
	if err := b.d.failure(); err != nil {
		return err
	}
	if offset < 0 || offset%4 != 0 || n%4 != 0 || offset+int64(n) > b.size || b.handle == 0 {
		return fmt.Errorf("dawn: %s: %s of %d bytes at %d: want multiples of 4 within %d bytes", b.label, what, n, offset, b.size)
	}
	return nil
}

// readChunk bounds the staging buffer of Read.
const readChunk = 64 << 20

// Read waits for everything submitted and copies len(dst) bytes at offset.
func (d *device) Read(ctx context.Context, dst []byte, from driver.Buffer, offset int64) error {
	b := from.(*buffer)
	if err := b.within("read", offset, len(dst)); err != nil {
		return err
	}
	for len(dst) > 0 {
		n := min(len(dst), readChunk)
		if err := d.readPart(ctx, dst[:n], b, offset); err != nil {
			return fmt.Errorf("dawn: %s: read: %w", b.label, err)
		}
		dst, offset = dst[n:], offset+int64(n)
	}
	return d.poll()
}

func (d *device) readPart(ctx context.Context, dst []byte, b *buffer, offset int64) error {
	n := int64(len(dst))
	if err := d.growStaging(n); err != nil {
		return err
	}
	err := d.submit("read "+b.label, []driver.Command{{
		Src: driver.Binding{Buffer: b, Offset: offset, Size: n},
		Dst: driver.Binding{Buffer: d.staging, Size: n},
	}})
	if err != nil {
		return err
	}
	mapped := d.request(d.callbacks.message, func(info *callbackInfo) uintptr {
		return callInfo(d.BufferMapAsync, info, d.staging.handle, mapRead, 0, uintptr(n))
	})
	err = d.wait(ctx, mapped, d.poll)
	if err == nil && mapped.reply.status != statusSuccess {
		if err = d.poll(); err == nil {
			err = fmt.Errorf("not mapped: %s", oneLine(mapped.reply.message))
		}
	}
	if err != nil {
		d.dropStaging()
		return err
	}
	addr := call(d.BufferGetConstMappedRange, d.staging.handle, 0, uintptr(n))
	if addr == 0 {
		d.dropStaging()
		return errors.New("not mapped")
	}
	copy(dst, unsafe.Slice((*byte)(pointer(addr)), n))
	call(d.BufferUnmap, d.staging.handle)
	return nil
}

// growStaging makes the staging buffer hold n bytes, rounded up to a power of
// two.
func (d *device) growStaging(n int64) error {
	if d.staging != nil && d.staging.size >= n {
		return nil
	}
	d.dropStaging()
	size := int64(64 << 10)
	for size < n {
		size *= 2
	}
	b, err := d.newBuffer("staging", min(size, d.info.Limits.MaxBuffer), usageMapRead|usageCopyDst)
	if err != nil {
		return err
	}
	d.staging = b
	return nil
}

func (d *device) dropStaging() {
	if d.staging != nil {
		d.staging.Release()
		d.staging = nil
	}
}
