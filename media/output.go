package media

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unicode/utf8"

	"tessera/temporary"
)

// pending is an output file in progress, beside its final name, so that the final rename
// is atomic.
type pending struct {
	path   string // final name, as the user gave it
	target string // absolute, links followed
	temp   string // beside target
	file   *os.File
	old    fs.FileInfo // the file to replace, nil without one
	need   int64       // bytes of the whole file, 0 if unknown
	err    error       // the first failed write, for libraries that wrap errors
}

// createPending opens a temporary file for path. It fails early if path cannot become a
// file: its folder is missing or read-only, or a folder or similar has the name.
func createPending(path string, need int64) (*pending, error) {
	target, err := Target(path)
	if err != nil {
		return nil, err
	}
	dir, base := filepath.Split(target)
	if runtime.GOOS == "windows" && utf8.RuneCountInString(base) > 255 { // Wine reports this at the rename, as a missing file
		return nil, tempError(path, syscall.ENAMETOOLONG)
	}
	p := &pending{path: path, target: target, need: need}
	mode := fs.FileMode(0o666) // os.CreateTemp's 0600 would stay on the result
	info, err := os.Stat(target)
	switch {
	case err == nil && !info.Mode().IsRegular():
		kind := "not a regular file"
		if info.IsDir() {
			kind = "a folder"
		}
		return nil, badOutput("media: %s: exists and is %s, expected a file or nothing", path, kind)
	case err == nil:
		p.old, mode = info, info.Mode().Perm()|0o600 // readable only by those who may read the result
	case !errors.Is(err, fs.ErrNotExist): // a name that is too long, which the temporary one may not be
		return nil, tempError(path, err)
	}
	if p.file, err = temporary.Create(dir, "."+base, mode); err != nil {
		return nil, tempError(path, err)
	}
	p.temp = p.file.Name()
	return p, nil
}

// WriteFile writes a whole file like an output: it gets its name, and replaces an
// existing file, once it is complete.
func WriteFile(path string, data []byte) error {
	p, err := createPending(path, int64(len(data)))
	if err != nil {
		return err
	}
	if _, err := p.Write(data); err != nil {
		return p.discard(err)
	}
	return p.commit()
}

// tempError explains why no file can be created beside the output at path.
func tempError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return badOutput("media: %s: folder %s doesn't exist", path, filepath.Dir(path))
	}
	return Lasting(outputError(path, 0, err))
}

// ErrOutput marks an error that every attempt would meet: the output's folder is missing
// or not writable, something else has its name, or a format of one frame would get
// several. A full disk does not have it.
var ErrOutput = errors.New("media: bad output")

// lastingError is an ErrOutput with its text.
type lastingError struct{ error }

func (e *lastingError) Unwrap() []error { return []error{e.error, ErrOutput} }

func badOutput(format string, args ...any) error { return &lastingError{fmt.Errorf(format, args...)} }

// Lasting makes an error of creating a file or folder an ErrOutput if its cause is
// permanent.
func Lasting(err error) error {
	var windows []error
	if runtime.GOOS == "windows" { // write-protected, and invalid names
		windows = []error{syscall.Errno(19), syscall.Errno(123), syscall.Errno(161), syscall.Errno(206), syscall.Errno(267)}
	}
	for _, reason := range append(windows, fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, syscall.ENOTDIR, syscall.EROFS, syscall.ENAMETOOLONG, syscall.ELOOP) {
		if errors.Is(err, reason) {
			return &lastingError{err}
		}
	}
	return err
}

// Write appends to the file.
func (p *pending) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	return n, p.failed(err)
}

// WriteAt writes at an offset.
func (p *pending) WriteAt(b []byte, offset int64) (int, error) {
	n, err := p.file.WriteAt(b, offset)
	return n, p.failed(err)
}

func (p *pending) failed(err error) error {
	err = outputError(p.path, p.need, err)
	if p.err == nil {
		p.err = err
	}
	return err
}

// discard aborts after err, and returns err or its cause.
func (p *pending) discard(err error) error {
	p.abort() // err is the error to report
	if p.err != nil {
		return p.err
	}
	return err
}

// commit gives the file its final name, replaces an existing file and keeps that file's
// mode. It flushes the data first, because a disk may report only then that it is full.
func (p *pending) commit() error {
	if p.old != nil {
		p.file.Chmod(p.old.Mode().Perm()) // if this fails, the mode stays narrower, which is no reason to lose the file
	}
	err := p.file.Sync()
	if err == nil {
		err = temporary.Publish(p.file, p.target)
	} else {
		p.file.Close()
	}
	if err != nil {
		os.Remove(p.temp)
	}
	return outputError(p.path, p.need, err)
}

// abort removes the file.
func (p *pending) abort() error {
	p.file.Close()
	if err := os.Remove(p.temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return outputError(p.path, 0, err)
	}
	return nil
}

// outputError names the output instead of the temporary file, and says how many bytes a
// full disk lacks. need is 0 if unknown.
func outputError(path string, need int64, err error) error {
	if err == nil {
		return nil
	}
	full := temporary.IsFull(err)
	if perr, ok := errors.AsType[*os.PathError](err); ok {
		err = perr.Err
	}
	if lerr, ok := errors.AsType[*os.LinkError](err); ok {
		err = lerr.Err
	}
	switch {
	case full && need > 0:
		size := fmt.Sprintf("%.1f MiB", float64(need)/(1<<20))
		if need < 100<<10 {
			size = fmt.Sprintf("%d bytes", need)
		}
		return fmt.Errorf("media: %s: disk full, the file needs %s: %w", path, size, err)
	case full:
		return fmt.Errorf("media: %s: disk full: %w", path, err)
	}
	return fmt.Errorf("media: %s: cannot write: %w", path, err)
}
