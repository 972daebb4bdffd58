package gpu

import (
	"fmt"

	"tessera/gpu/internal/driver"
)

// The pool keeps freed memory of up to maxPooled bytes for the next buffer of exactly
// the same kind, maxPool bytes in all. A job that runs again then allocates nothing.
const (
	maxPooled = 16 << 20
	maxPool   = 64 << 20
)

// memory is the device memory of a buffer.
type memory struct {
	id     uint64
	handle driver.Buffer
	size   int64
	groups map[*bindGroup]struct{} // those that use it

	readback bool
	copied   uint64 // of readbacks: number of the last piece that copies to it
	spoiled  bool   // may be half mapped
}

// bindGroup is a bind group that the device keeps, and the memory that it uses.
type bindGroup struct {
	handle driver.BindGroup
	key    string // in Device.groups
	uses   []*memory
}

// kind is what memory and a buffer must have in common.
type kind struct {
	size     int64
	readback bool
}

// pool holds the memory that no buffer uses.
type pool struct {
	of    map[kind][]*memory
	bytes int64
}

// put keeps m, if there is room.
func (p *pool) put(m *memory) bool {
	if m.size > maxPooled || p.bytes+m.size > maxPool || m.spoiled {
		return false
	}
	k := kind{m.size, m.readback}
	p.of[k] = append(p.of[k], m)
	p.bytes += m.size
	return true
}

// get returns memory of a kind, the most recently put first, or nil.
func (p *pool) get(k kind) *memory {
	all := p.of[k]
	if len(all) == 0 {
		return nil
	}
	m := all[len(all)-1]
	p.of[k] = all[:len(all)-1]
	p.bytes -= m.size
	return m
}

// pooled takes memory of b's size from the pool, nil if the pool lacks it. It is not
// zeroed.
func (d *Device) pooled(b *Buffer) *memory {
	if b.Size <= 0 || b.Size%4 != 0 {
		panic(fmt.Sprintf("gpu: buffer %q: size %d", b.Label, b.Size))
	}
	return d.pool.get(kind{b.Size, b.Readback})
}

// newMemory allocates memory for b.
func (d *Device) newMemory(b *Buffer) (*memory, error) {
	if b.Size > d.limits.MaxBuffer {
		return nil, fmt.Errorf("gpu: buffer %q: %d bytes, device allows %d: %w", b.Label, b.Size, d.limits.MaxBuffer, ErrTooLarge)
	}
	if err := d.injectedFault(b.Size); err != nil {
		return nil, err
	}
	var handle driver.Buffer
	var err error
	if b.Readback {
		handle, err = d.drv.NewReadback(b.Size)
	} else {
		handle, err = d.drv.NewBuffer(b.Label, b.Size, false)
	}
	if err != nil {
		return nil, d.note(err)
	}
	d.lastID++
	d.stats.Buffers++
	return &memory{id: d.lastID, handle: handle, size: b.Size, readback: b.Readback}, nil
}

// release returns memory to the driver, with the bind groups that use it.
func (d *Device) release(m *memory) {
	for g := range m.groups {
		d.drop(g)
	}
	m.handle.Release()
}

// drain empties the pool.
func (d *Device) drain() {
	for k, all := range d.pool.of {
		for _, m := range all {
			d.release(m)
		}
		delete(d.pool.of, k)
	}
	d.pool.bytes = 0
}
