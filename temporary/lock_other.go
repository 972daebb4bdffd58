//go:build !unix && !js

package temporary

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// errLocked: another process has the file open, ERROR_SHARING_VIOLATION.
var errLocked = syscall.Errno(32)

// lock does nothing: an open file can be neither removed nor renamed.
func lock(*os.File) error { return nil }

// release removes a file, and fails if a process has it open.
func release(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// settled is the least age of an abandoned file. A file that was closed to be renamed
// has been written a moment ago.
const settled = 10 * time.Second

// abandoned calls remove if no process has path open.
func abandoned(path string, remove func()) {
	info, err := os.Lstat(path)
	if err != nil || time.Since(info.ModTime()) < settled {
		return
	}
	// Renaming fails for open files, and a folder would lose its files.
	if os.Rename(path, path+"0") == nil && os.Rename(path+"0", path) == nil {
		remove()
	}
}

// Publish closes a file of Create and gives it its final name.
func Publish(f *os.File, target string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), target)
}

// FlushNames does nothing: folders cannot be flushed.
func FlushNames(string) error { return nil }
