package api

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"tessera/engine"
	"tessera/temporary"
)

// disk counts what lies in files.
type disk struct {
	mu   sync.Mutex
	free int64
	more func() bool // makes room, if it can; may be nil
}

// take reserves bytes.
func (d *disk) take(n int64) error {
	for n > d.left() && d.more != nil && d.more() {
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if n > d.free {
		err := fmt.Errorf("%s more than the server keeps at a time, %s are free now", engine.Bytes(n), engine.Bytes(d.free))
		return &problem{status: http.StatusInsufficientStorage, code: "no_room", err: err, wait: 30 * time.Second}
	}
	d.free -= n
	return nil
}

func (d *disk) give(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free += n
}

// left is how much is free.
func (d *disk) left() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.free
}

// little is what is kept in memory.
const little = 256 << 10

// spool holds so many bytes for a request: in memory where they are few, else in a
// file that is gone with it. It is for one goroutine at a time.
type spool struct {
	size   int64
	memory []byte
	file   *temporary.File
	disk   *disk
}

func (d *disk) spool(size int64) (*spool, error) {
	s := &spool{size: size, disk: d}
	if size <= little {
		s.memory = make([]byte, size)
		return s, nil
	}
	if err := d.take(size); err != nil {
		return nil, err
	}
	var err error
	if s.file, err = temporary.Open("serve"); err != nil {
		d.give(size)
		return nil, fmt.Errorf("api: %w", err)
	}
	return s, nil
}

// keep makes one of what r has, so many bytes.
func (d *disk) keep(r io.Reader, size int64) (*spool, error) {
	s, err := d.spool(size)
	if err != nil {
		return nil, err
	}
	if err := s.fill(r); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// fill takes what r has, which must be as much as the spool is for.
func (s *spool) fill(r io.Reader) error {
	var n int64
	var err error
	if s.file == nil {
		var m int
		m, err = io.ReadFull(r, s.memory)
		n = int64(m)
	} else {
		n, err = io.Copy(s.file, io.LimitReader(r, s.size))
	}
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if n < s.size {
		return bad("the body has %d bytes, expected %d", n, s.size)
	}
	if m, _ := r.Read(make([]byte, 1)); m > 0 {
		return bad("the body has more than the expected %d bytes", s.size)
	}
	return nil
}

// WriteAt writes at an offset.
func (s *spool) WriteAt(b []byte, offset int64) (int, error) {
	if s.file == nil {
		return copy(s.memory[offset:], b), nil
	}
	return s.file.WriteAt(b, offset)
}

// ReadAt reads at an offset.
func (s *spool) ReadAt(b []byte, offset int64) (int, error) {
	if s.file == nil {
		if n := copy(b, s.memory[offset:]); n < len(b) {
			return n, io.EOF
		}
		return len(b), nil
	}
	return s.file.ReadAt(b, offset)
}

// Close gives the room back.
func (s *spool) Close() error {
	s.memory = nil
	if s.file == nil {
		return nil
	}
	s.disk.give(s.size)
	return s.file.Close()
}
