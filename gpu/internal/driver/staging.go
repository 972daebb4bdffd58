package driver

import (
	"context"
	"fmt"
)

// Port is the driver's part of Staging, one piece at a time. Staging has checked the
// ranges.
type Port interface {
	// Put hands data to the queue, which copies it at once.
	Put(b Buffer, offset int64, data []byte) error
	// Drain blocks until the device has all data from Put.
	Drain() error
	// NewReadback creates a buffer that can be copied to and mapped.
	NewReadback(size int64) (Buffer, error)
	// Fetch copies len(dst) bytes of b from offset through readback.
	Fetch(ctx context.Context, dst []byte, b, readback Buffer, offset int64) error
}

// Staging splits transfers of any length into pieces, and keeps the buffer that reads
// go through.
type Staging struct {
	port     Port
	chunks   Chunks
	most     int64 // largest buffer in bytes
	readback Buffer
	size     int64 // of readback
	unsent   int64 // bytes put since the queue was last known to have taken them
}

// Chunks are a driver's piece sizes, in bytes.
type Chunks struct {
	Put   int // one call of Put
	Fetch int // one call of Fetch, and so the largest readback buffer
}

// MostUnsent is how many bytes Put may queue before Drain: until the device has them,
// WebGPU keeps a copy.
const MostUnsent = 32 << 20

// smallestReadback is the initial size of the readback buffer.
const smallestReadback = 64 << 10

// NewStaging returns a Staging for a device whose largest buffer has most bytes.
func NewStaging(p Port, c Chunks, most int64) Staging {
	return Staging{port: p, chunks: c, most: most}
}

// Write copies data to offset.
func (s *Staging) Write(b Buffer, offset int64, data []byte) error {
	for len(data) > 0 {
		n := min(len(data), s.chunks.Put)
		if s.unsent > 0 && s.unsent+int64(n) > MostUnsent {
			s.unsent = 0
			if err := s.port.Drain(); err != nil {
				return err
			}
		}
		if err := s.port.Put(b, offset, data[:n]); err != nil {
			return err
		}
		s.unsent += int64(n)
		data, offset = data[n:], offset+int64(n)
	}
	return nil
}

// Submitted records that the queue has taken all data from Put.
func (s *Staging) Submitted() { s.unsent = 0 }

// Read fetches len(dst) bytes from offset. After a failure the readback buffer may be
// half mapped, so it is not used again.
func (s *Staging) Read(ctx context.Context, dst []byte, b Buffer, offset int64) error {
	for len(dst) > 0 {
		n := min(len(dst), s.chunks.Fetch)
		err := s.grow(int64(n))
		if err == nil {
			err = s.port.Fetch(ctx, dst[:n], b, s.readback, offset)
		}
		if err != nil {
			s.Drop()
			return err
		}
		dst, offset = dst[n:], offset+int64(n)
	}
	return nil
}

// grow enlarges the readback buffer to n bytes, rounded up to a power of two.
func (s *Staging) grow(n int64) error {
	if s.readback != nil && s.size >= n {
		return nil
	}
	s.Drop()
	size := int64(smallestReadback)
	for size < n {
		size *= 2
	}
	size = min(size, s.most)
	b, err := s.port.NewReadback(size)
	if err != nil {
		return err
	}
	s.readback, s.size = b, size
	return nil
}

// Drop releases the readback buffer; the next read creates another.
func (s *Staging) Drop() {
	if s.readback != nil {
		s.readback.Release()
		s.readback, s.size = nil, 0
	}
}

// CheckSize checks the size of a new buffer.
func CheckSize(size int64, l Limits) error {
	if size <= 0 || size%4 != 0 {
		return fmt.Errorf("a buffer of %d bytes: want a positive multiple of 4", size)
	}
	if size > l.MaxBuffer {
		return fmt.Errorf("%w: %d bytes, device allows %d in a buffer", ErrTooLarge, size, l.MaxBuffer)
	}
	return nil
}

// CheckRange checks a range of n bytes at offset in a buffer of size bytes; size is 0
// once the buffer is released.
func CheckRange(what string, offset int64, n int, size int64) error {
	if offset < 0 || offset%4 != 0 || n%4 != 0 || offset+int64(n) > size {
		return fmt.Errorf("%s of %d bytes at %d: want multiples of 4 within %d bytes", what, n, offset, size)
	}
	return nil
}
