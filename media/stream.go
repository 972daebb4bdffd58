//go:build !js

package media

import (
	"io"

	"tessera/temporary"
)

// destination receives the bytes of a format.
type destination interface {
	io.Writer
	io.WriterAt
	commit() error           // completes it, or removes it
	abort() error            // removes it
	discard(err error) error // aborts after err, and returns it or its cause
}

// opener opens the destination of an output of need bytes.
type opener func(path string, need int64) (destination, error)

// pendingFile is the opener for files.
func pendingFile(path string, need int64) (destination, error) {
	p, err := createPending(path, need)
	if err != nil {
		return nil, err // a nil *pending would be a non-nil destination
	}
	return p, nil
}

// opener returns the opener for an output: To, or a file.
func (o CreateOptions) opener() opener {
	if o.To == nil {
		return pendingFile
	}
	return func(path string, need int64) (destination, error) {
		s := &stream{w: o.To, name: path, need: need}
		if extension(path) == ".y4m" {
			return s, nil
		}
		var err error
		if s.kept, err = temporary.Open("output"); err != nil {
			return nil, outputError(path, 0, err)
		}
		return s, nil
	}
}

// stream is a destination that cannot take bytes back.
type stream struct {
	w    io.Writer
	name string
	need int64           // bytes in all
	kept *temporary.File // holds what is not written in order, else nil
}

func (s *stream) Write(b []byte) (int, error) {
	if s.kept != nil {
		n, err := s.kept.Write(b)
		return n, outputError(s.name, 0, err)
	}
	n, err := s.w.Write(b)
	return n, outputError(s.name, 0, err)
}

func (s *stream) WriteAt(b []byte, offset int64) (int, error) {
	n, err := s.kept.WriteAt(b, offset)
	return n, outputError(s.name, 0, err)
}

func (s *stream) commit() error {
	if s.kept == nil {
		return nil
	}
	defer s.kept.Close()
	if _, err := s.kept.Seek(0, io.SeekStart); err != nil {
		return outputError(s.name, 0, err)
	}
	_, err := io.Copy(s.w, s.kept)
	return outputError(s.name, 0, err)
}

func (s *stream) abort() error {
	if s.kept == nil {
		return nil
	}
	return s.kept.Close()
}

func (s *stream) discard(err error) error {
	s.abort() // err is the error to report
	return err
}
