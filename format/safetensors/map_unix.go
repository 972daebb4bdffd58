//go:build linux || darwin

package safetensors

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"syscall"
)

// mapFile maps the file, or reads it by range, for example on file systems that cannot
// map. It takes ownership of the file: release closes it.
func mapFile(file *os.File, size int64) (source io.ReaderAt, release func() error) {
	if size <= 0 {
		return file, file.Close
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return file, file.Close
	}
	return mapping(data), func() error {
		return errors.Join(syscall.Munmap(data), file.Close())
	}
}

type mapping []byte

// ReadAt copies from the map. If another program truncates the file, the access faults;
// ReadAt then returns an error.
func (m mapping) ReadAt(dst []byte, offset int64) (n int, err error) {
	if offset < 0 || offset > int64(len(m)) {
		return 0, io.EOF
	}
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if r := recover(); r != nil {
			n, err = 0, fmt.Errorf("mapped file unreadable at byte %d (was it truncated?): %v", offset, r)
		}
	}()
	n = copy(dst, m[offset:])
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}
