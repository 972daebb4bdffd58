//go:build !unix && !js

package temporary

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// errLocked: somebody else has it open, ERROR_SHARING_VIOLATION.
var errLocked = syscall.Errno(32)

// lock has nothing to do: what is open can be neither removed nor renamed.
func lock(*os.File) error { return nil }

// release removes a file that nobody has open, and fails where somebody has.
func release(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// settled is how long a file must have been as it is. Those that are closed to
// be renamed were written a moment ago.
const settled = 10 * time.Second

// abandoned calls remove where nobody has path open.
func abandoned(path string, remove func()) {
	info, err := os.Lstat(path)
	if err != nil || time.Since(info.ModTime()) < settled {
		return
	}
	// Nothing is renamed that is open, though a folder would lose its files.
	if os.Rename(path, path+"0") == nil && os.Rename(path+"0", path) == nil {
		remove()
	}
}

// Publish closes a file made by Create and gives it its name.
func Publish(f *os.File, target string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), target)
}

// FlushNames has nothing to do: a folder can't be flushed.
func FlushNames(string) error { return nil }
