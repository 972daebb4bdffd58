package driver

import (
	"context"
	"fmt"
)

// Port is what a driver does for Staging, a piece at a time. Ranges were
// checked.
type Port interface {
	// Put hands data to the queue, which copies it at once.
	Put(b Buffer, offset int64, data []byte) error
	// Drain blocks until the device has what was put.
	Drain() error
	// NewReadback makes a buffer that can be copied to and mapped.
	NewReadback(size int64) (Buffer, error)
	// Fetch copies len(dst) bytes of b at offset by way of readback.
	Fetch(ctx context.Context, dst []byte, b, readback Buffer, offset int64) error
}

// Staging takes transfers of any length apart into pieces, and keeps the buffer
// that reads go through.
type Staging struct {
	port     Port
	chunks   Chunks
	most     int64 // bytes a buffer may have
	readback Buffer
	size     int64 // of readback
	unsent   int64 // bytes put since the queue was last known to take them
}

// Chunks are a driver's lengths of pieces, in bytes.
type Chunks struct {
	Put   int // one call of Put
	Fetch int // one call of Fetch, and so the readback buffer's most
}

// MostUnsent is how much may be put before the device must have it: WebGPU
// copies what is put into memory of its own until then.
const MostUnsent = 32 << 20

// smallestReadback is what the readback buffer begins with.
const smallestReadback = 64 << 10

// NewStaging is for a device whose buffers have at most the bytes most.
func NewStaging(p Port, c Chunks, most int64) Staging {
	return Staging{port: p, chunks: c, most: most}
}

// Write puts data at offset.
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

// Submitted says that the queue has taken all that was put.
func (s *Staging) Submitted() { s.unsent = 0 }

// Read fetches len(dst) bytes at offset. After a failure the readback buffer,
// which may be half mapped, is not used again.
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

// grow makes the readback buffer hold n bytes, rounded up to a power of two.
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

// Drop releases the readback buffer; the next read makes another.
func (s *Staging) Drop() {
	if s.readback != nil {
		s.readback.Release()
		s.readback, s.size = nil, 0
	}
}

// CheckSize is for a buffer to be made.
func CheckSize(size int64, l Limits) error {
	if size <= 0 || size%4 != 0 {
		return fmt.Errorf("a buffer of %d bytes: want a positive multiple of 4", size)
	}
	if size > l.MaxBuffer {
		return fmt.Errorf("%w: %d bytes, device allows %d in a buffer", ErrTooLarge, size, l.MaxBuffer)
	}
	return nil
}

// CheckRange is for n bytes at offset of a buffer of size bytes, 0 once it is
// released.
func CheckRange(what string, offset int64, n int, size int64) error {
	if offset < 0 || offset%4 != 0 || n%4 != 0 || offset+int64(n) > size {
		return fmt.Errorf("%s of %d bytes at %d: want multiples of 4 within %d bytes", what, n, offset, size)
	}
	return nil
}
