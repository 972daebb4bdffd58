package temporary

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// Flush writes a file's content to the disk.
func Flush(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // Windows flushes only writable files
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// IsFull reports whether err is of a write to a full disk.
func IsFull(err error) bool {
	const windowsDiskFull = syscall.Errno(112)
	return errors.Is(err, syscall.ENOSPC) || runtime.GOOS == "windows" && errors.Is(err, windowsDiskFull)
}
