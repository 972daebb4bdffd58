//go:build js

package browser

import (
	"context"
	"fmt"
	"syscall/js"

	"tessera/gpu/internal/driver"
)

// buffer is a GPUBuffer.
type buffer struct {
	d      *device
	label  string
	handle js.Value // undefined once released
	size   int64    // 0 once released
}

// Release frees the memory once the work that uses it is done.
func (b *buffer) Release() {
	if b.handle.Truthy() {
		b.handle.Call("destroy")
		b.handle, b.size = js.Undefined(), 0
	}
}

// GPUBufferUsage and GPUMapMode.
const (
	usageMapRead = 0x1
	usageCopySrc = 0x4
	usageCopyDst = 0x8
	usageUniform = 0x40
	usageStorage = 0x80
	usageResolve = 0x200

	mapRead = 1
)

// NewBuffer creates a zeroed buffer.
func (d *device) NewBuffer(label string, size int64, uniform bool) (driver.Buffer, error) {
	usage := usageStorage | usageCopySrc | usageCopyDst
	if uniform {
		usage |= usageUniform
	}
	b, err := d.newBuffer(label, size, usage)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (d *device) newBuffer(label string, size int64, usage int) (*buffer, error) {
	if err := driver.CheckSize(size, d.info.Limits); err != nil {
		return nil, fmt.Errorf("browser: %s: %w", label, err)
	}
	b := &buffer{d: d, label: label, size: size}
	err := d.guarded(func() {
		b.handle = d.bound.createBuffer.Invoke(map[string]any{"label": label, "size": size, "usage": usage})
	})
	if err != nil {
		b.Release()
		return nil, fmt.Errorf("browser: %s: %d bytes: %w", label, size, err)
	}
	return b, nil
}

// within checks the device and a range of the buffer's bytes.
func (b *buffer) within(what string, offset int64, n int) error {
	if err := b.d.failure(); err != nil {
		return err
	}
	if err := driver.CheckRange(what, offset, n, b.size); err != nil {
		return fmt.Errorf("browser: %s: %w", b.label, err)
	}
	return nil
}

// chunks: writes go through one scratch array, which the browser copies before the call
// returns; this reaches 2.5 GB/s on two cores. A view of Go's own memory would reach
// 3.2, but it is detached whenever that memory grows, and Go can't create one without
// the page's help. Smaller reads are slower, larger ones are not faster.
var chunks = driver.Chunks{Put: 4 << 20, Fetch: 16 << 20}

// Write copies data to offset, in queue order.
func (d *device) Write(to driver.Buffer, offset int64, data []byte) error {
	b := to.(*buffer)
	if err := b.within("write", offset, len(data)); err != nil {
		return err
	}
	if err := d.staging.Write(b, offset, data); err != nil {
		return fmt.Errorf("browser: %s: write: %w", b.label, err)
	}
	return d.failure()
}

// Read waits for all submitted work and copies len(dst) bytes from offset.
func (d *device) Read(ctx context.Context, dst []byte, from driver.Buffer, offset int64) error {
	b := from.(*buffer)
	if err := b.within("read", offset, len(dst)); err != nil {
		return err
	}
	if err := d.staging.Read(ctx, dst, b, offset); err != nil {
		return fmt.Errorf("browser: %s: read: %w", b.label, err)
	}
	return d.failure()
}

// port implements driver.Port for the device's staging.
type port struct{ d *device }

func (p *port) Put(to driver.Buffer, offset int64, data []byte) error {
	from := p.d.scratch.copy(data)
	return try(func() { p.d.bound.writeBuffer.Invoke(to.(*buffer).handle, offset, from, 0, len(data)) })
}

func (p *port) Drain() error {
	if err := p.d.settle(context.Background()); err != nil {
		return err
	}
	return p.d.failure()
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
	submitted, err := p.d.submit("read "+from.(*buffer).label, []driver.Command{{
		Src: driver.Binding{Buffer: from, Offset: offset, Size: n},
		Dst: driver.Binding{Buffer: readback, Size: n},
	}}, nil)
	if err != nil {
		return err
	}
	return p.d.take(ctx, dst, readback.(*buffer), submitted)
}

// Take waits for the copies to a readback buffer and reads its first bytes.
func (d *device) Take(ctx context.Context, dst []byte, from driver.Buffer) error {
	b := from.(*buffer)
	err := b.within("read", 0, len(dst))
	if err == nil {
		err = d.take(ctx, dst, b, nil)
	}
	if err != nil {
		return fmt.Errorf("browser: %s: read: %w", b.label, err)
	}
	return nil
}

// take waits for the copies to a readback buffer, which were submitted within scope s,
// and reads its first bytes.
func (d *device) take(ctx context.Context, dst []byte, b *buffer, s scope) error {
	mapped := watch(b.handle.Call("mapAsync", mapRead, 0, len(dst)))
	if err := d.wait(ctx, mapped); err != nil {
		return err
	}
	if err := d.first(ctx, s); err != nil {
		return err
	}
	return try(func() {
		view := js.Global().Get("Uint8Array").New(b.handle.Call("getMappedRange", 0, len(dst)))
		js.CopyBytesToGo(dst, view)
		b.handle.Call("unmap")
	})
}

// scratch is JS memory that Go's bytes are copied to. It grows to the requested size,
// rounded up to a power of two.
type scratch struct {
	bytes js.Value // Uint8Array
	words js.Value // Uint32Array over the same memory
	size  int
}

// copy returns the scratch array with data at its start.
func (s *scratch) copy(data []byte) js.Value {
	if len(data) > s.size {
		s.size = max(s.size, 64<<10)
		for s.size < len(data) {
			s.size *= 2
		}
		s.bytes = js.Global().Get("Uint8Array").New(s.size)
		s.words = js.Global().Get("Uint32Array").New(s.bytes.Get("buffer"))
	}
	js.CopyBytesToJS(s.bytes, data)
	return s.bytes
}
