package temporary

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// Flush has what a file holds on the disk.
func Flush(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // to which Windows flushes
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// IsFull reports whether err is of a file that could not be written since its disk is
// full.
func IsFull(err error) bool {
	const windowsDiskFull = syscall.Errno(112)
	return errors.Is(err, syscall.ENOSPC) || runtime.GOOS == "windows" && errors.Is(err, windowsDiskFull)
}
