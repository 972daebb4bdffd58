// Package format opens files of named tensors in any format of its subpackages:
// safetensors, torch's .pth, and a checkpoint in several files with its index.
//
//	f, err := format.Open("wan.safetensors")
//	...
//	defer f.Close()
//	for _, name := range f.Names() {
//		t, _ := f.Tensor(name)
//		fmt.Println(name, t.DType, t.Shape)
//	}
//
// Start at Open, or at Read for bytes that are not a file.
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
	// Name returns the path or name that the file was opened with.
	Name() string
	// Size returns the length of the whole file in bytes.
	Size() int64
	// Names lists the tensors in the file's order.
	Names() []string
	// Tensor finds a tensor by name.
	Tensor(name string) (safetensors.Tensor, bool)
	// Metadata returns a copy of the file's other texts, never nil.
	Metadata() map[string]string
	// Close is idempotent; afterwards no tensor can be read.
	Close() error
}

// Shapes adapts a file's tensors to package known.
type Shapes struct{ File }

// Shape returns a tensor's shape, nil if there is no such tensor.
func (s Shapes) Shape(name string) []int {
	t, _ := s.Tensor(name)
	return t.Shape
}

// zipMagic begins a torch zip.
const zipMagic = "PK\x03\x04"

// Open opens a file in either format, which its first bytes identify, or the files that
// an index names.
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

// take opens f, an open file in one of the formats. It takes ownership of f, and closes
// it if it fails.
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

// Read is Open for size bytes of r; name stands for them in errors. r stays in use until
// Close, which does not close it.
func Read(r io.ReaderAt, size int64, name string) (File, error) {
	if isTorch(r) {
		return orCut(size, name)(orNil(pth.Read(r, size, name)))
	}
	if err := foreign(r, name); err != nil {
		return nil, err
	}
	return orCut(size, name)(orNil(safetensors.Read(r, size, name)))
}

// isTorch recognises a torch zip, and files of older torch versions: package pth says
// what to do about those.
func isTorch(r io.ReaderAt) bool {
	head := make([]byte, max(len(zipMagic), len(pth.LegacyMagic)))
	n, _ := r.ReadAt(head, 0) // opening the file reports a read error
	return bytes.HasPrefix(head[:n], []byte(zipMagic)) || bytes.HasPrefix(head[:n], []byte(pth.LegacyMagic))
}

// orNil returns a nil interface for a failed open.
func orNil[F File](f F, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// orCut adds to the error of a truncated file how many bytes are missing.
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
