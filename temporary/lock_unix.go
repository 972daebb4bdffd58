//go:build unix

package temporary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// errLocked: another process has the lock.
var errLocked = syscall.EWOULDBLOCK

// lock locks a file for this process until the file is closed.
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

// release does nothing: a lock ends with its process.
func release(string) error { return nil }

// abandoned calls remove if path belongs to this user and no process has it locked.
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

// Publish closes a file of Create and gives it its final name, atomically. The file stays
// locked until then. The name is on the disk when Publish returns; of the content, what
// the writer flushed.
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

// FlushNames writes the names in a folder to the disk. Without it, files may have their
// former names, or none, after a power failure.
func FlushNames(folder string) error {
	f, err := os.Open(folder)
	if errors.Is(err, fs.ErrPermission) { // the folder may be writable but not readable
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) { // some file systems cannot
		return err
	}
	return nil
}
