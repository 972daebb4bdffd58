// Package format opens files of named tensors, in whichever of its packages'
// formats they are.
package format

import (
	"bytes"
	"errors"
	"io"
	"os"

	"tessera/format/file"
	"tessera/format/known"
	"tessera/format/pth"
	"tessera/format/safetensors"
)

// File is an open file of named tensors. Its header is read and checked once,
// when it is opened.
type File interface {
	// Name is the path or name the file was opened with.
	Name() string
	// Size is the length of the whole file in bytes.
	Size() int64
	// Names lists the tensors in the file's order.
	Names() []string
	// Tensor finds a tensor by name.
	Tensor(name string) (safetensors.Tensor, bool)
	// Metadata is a copy of what the file says besides, never nil.
	Metadata() map[string]string
	// Close is idempotent; no tensor can be read after it.
	Close() error
}

// Shapes are a file's tensors as package known reads them.
type Shapes struct{ File }

// Shape of a tensor, nil where there is none.
func (s Shapes) Shape(name string) []int {
	t, _ := s.Tensor(name)
	return t.Shape
}

// zipMagic begins a torch zip.
const zipMagic = "PK\x03\x04"

// Open opens a file of either format, told by how it begins, or the files that an
// index beside them names.
func Open(path string) (File, error) {
	f, size, err := file.Open(path)
	if err != nil {
		return nil, inside(path, err)
	}
	if !isIndex(f) {
		return take(f, size, path)
	}
	defer f.Close()
	return openIndex(f, path)
}

// take opens f, which is open already and of one of the formats. It takes f over, and
// closes it where it fails.
func take(f *os.File, size int64, path string) (File, error) {
	if isTorch(f) {
		return orCut(size, f.Name())(orNil(pth.Take(f, size)))
	}
	if err := foreign(f, path); err != nil {
		f.Close()
		return nil, err
	}
	return orCut(size, f.Name())(orNil(safetensors.Take(f, size)))
}

// Read is Open of the size bytes behind r; name stands for them in errors. r
// stays in use until Close, and is not closed by it.
func Read(r io.ReaderAt, size int64, name string) (File, error) {
	if isTorch(r) {
		return orCut(size, name)(orNil(pth.Read(r, size, name)))
	}
	if err := foreign(r, name); err != nil {
		return nil, err
	}
	return orCut(size, name)(orNil(safetensors.Read(r, size, name)))
}

// isTorch tells a torch zip, and what torch saved before it made zips: package pth
// says what to do about that.
func isTorch(r io.ReaderAt) bool {
	head := make([]byte, max(len(zipMagic), len(pth.LegacyMagic)))
	n, _ := r.ReadAt(head, 0) // what can't be read is told when it is opened
	return bytes.HasPrefix(head[:n], []byte(zipMagic)) || bytes.HasPrefix(head[:n], []byte(pth.LegacyMagic))
}

// orNil keeps a failed open from being an interface that is not nil.
func orNil[F File](f F, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// orCut has the error of a file that is cut short say how much of it is missing.
func orCut(size int64, name string) func(File, error) (File, error) {
	return func(f File, err error) (File, error) {
		wants := int64(0)
		if cut, ok := errors.AsType[*safetensors.Truncated](err); ok {
			wants = cut.Wants
		}
		_, one := errors.AsType[*safetensors.FormatError](err)
		_, other := errors.AsType[*pth.FormatError](err)
		if !one && !other {
			return f, err
		}
		if m := known.Cut(name, size, wants); m != nil {
			m.Detail, m.Err = err.Error(), err
			return nil, &ForeignError{name, m}
		}
		return f, err
	}
}
