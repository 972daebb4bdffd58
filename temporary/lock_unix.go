//go:build unix

package temporary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// errLocked: somebody else has the lock.
var errLocked = syscall.EWOULDBLOCK

// lock takes a file for this process, until it is closed.
func lock(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lerr error
	err = conn.Control(func(fd uintptr) { lerr = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) })
	if err != nil {
		return err
	}
	return lerr
}

// release has nothing to do: a lock ends with who had it.
func release(string) error { return nil }

// abandoned calls remove where path is this user's and nobody has it locked.
func abandoned(path string, remove func()) {
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Getuid() {
		return
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if lock(f) == nil && still(f) {
		remove()
	}
}

// Publish closes a file made by Create and gives it its name, in one step as
// others see it. It stays locked until it has it. The name is on the disk then; what
// the file holds is what its writer flushed.
func Publish(f *os.File, target string) error {
	if err := os.Rename(f.Name(), target); err != nil {
		f.Close()
		return err
	}
	err := FlushNames(filepath.Dir(target))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// FlushNames has the names in a folder on the disk, as they are: without it files may
// have their former names, or none, after the power was lost.
func FlushNames(folder string) error {
	f, err := os.Open(folder)
	if errors.Is(err, fs.ErrPermission) { // may be written to and not read
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) { // of file systems that can't
		return err
	}
	return nil
}
