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

// disk counts the bytes in files.
type disk struct {
	mu   sync.Mutex
	most int64            // limit of one client
	free int64            // bytes left for all
	of   map[string]int64 // bytes of each client
	// finished jobs of a client that may be removed, the oldest first; may be nil
	old func(client string) []removable
}

// removable is a stored result that can be removed to free its bytes.
type removable struct {
	bytes  int64
	remove func()
}

// newDisk manages size bytes. One client may use three quarters of them: the rest is for
// others.
func newDisk(size int64) *disk {
	return &disk{most: max(1, size/4*3), free: size, of: map[string]int64{}}
}

// fits refuses files that together exceed a client's limit.
func (d *disk) fits(n int64) error {
	if n <= d.most {
		return nil
	}
	return tooLarge("%s, and the server keeps at most %s for one client", engine.Bytes(n), engine.Bytes(d.most))
}

// take reserves bytes for a client. If they are not free, it removes the client's own old
// results, provided that this frees enough.
func (d *disk) take(client string, n int64) error {
	if err := d.room(client, n, true); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.short(client, n) > 0 { // another request took it meanwhile
		return d.full(n)
	}
	d.free -= n
	if d.of[client] += n; d.of[client] == 0 {
		delete(d.of, client)
	}
	return nil
}

// room refuses bytes that do not fit. With remove it first removes the client's old
// results.
func (d *disk) room(client string, n int64, remove bool) error {
	d.mu.Lock()
	short := d.short(client, n)
	d.mu.Unlock()
	if short <= 0 {
		return nil
	}
	var old []removable
	if d.old != nil {
		old = d.old(client)
	}
	enough, sum := 0, int64(0)
	for enough < len(old) && sum < short {
		sum += old[enough].bytes
		enough++
	}
	if sum < short {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.full(n)
	}
	for _, o := range old[:enough] {
		if remove {
			o.remove()
		}
	}
	return nil
}

// short returns how many of n bytes are missing for a client. Callers hold mu.
func (d *disk) short(client string, n int64) int64 {
	return max(n-d.free, d.of[client]+n-d.most)
}

// full is the error of a full disk. Callers hold mu.
func (d *disk) full(n int64) error {
	err := fmt.Errorf("%s exceed the server's disk space, %s are free now", engine.Bytes(n), engine.Bytes(d.free))
	return &problem{status: http.StatusInsufficientStorage, code: "no_room", err: err, wait: 30 * time.Second}
}

func (d *disk) give(client string, n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free += n
	if d.of[client] -= n; d.of[client] == 0 {
		delete(d.of, client)
	}
}

// left returns the free bytes.
func (d *disk) left() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.free
}

// little is the largest spool in memory, in bytes.
const little = 256 << 10

// spool stores a fixed number of bytes for a request: in memory if they are few, else in
// a file that Close removes. Only one goroutine may use it at a time.
type spool struct {
	size   int64
	memory []byte
	file   *temporary.File
	disk   *disk
	client string
}

func (d *disk) spool(client string, size int64) (*spool, error) {
	s := &spool{size: size, disk: d, client: client}
	if size <= little {
		s.memory = make([]byte, size)
		return s, nil
	}
	err := d.fits(size)
	if err == nil {
		err = d.take(client, size)
	}
	if err != nil {
		return nil, err
	}
	if s.file, err = temporary.Open("serve"); err != nil {
		d.give(client, size)
		return nil, fmt.Errorf("api: %w", err)
	}
	return s, nil
}

// keep stores size bytes of r in a new spool.
func (d *disk) keep(client string, r io.Reader, size int64) (*spool, error) {
	s, err := d.spool(client, size)
	if err != nil {
		return nil, err
	}
	if err := s.fill(r); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// fill copies r to the spool; r must have exactly its size.
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

func (s *spool) WriteAt(b []byte, offset int64) (int, error) {
	if s.file == nil {
		return copy(s.memory[offset:], b), nil
	}
	return s.file.WriteAt(b, offset)
}

func (s *spool) ReadAt(b []byte, offset int64) (int, error) {
	if s.file == nil {
		if n := copy(b, s.memory[offset:]); n < len(b) {
			return n, io.EOF
		}
		return len(b), nil
	}
	return s.file.ReadAt(b, offset)
}

// Close releases the spool's storage.
func (s *spool) Close() error {
	s.memory = nil
	if s.file == nil {
		return nil
	}
	s.disk.give(s.client, s.size)
	return s.file.Close()
}
