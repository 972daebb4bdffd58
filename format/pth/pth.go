// Package pth reads the checkpoints that torch.save writes: a zip of stored entries. One
// entry is a pickle that names the tensors, the others are their storages. Only the
// pickle is read into memory; tensors are read by range.
//
// A pickle is a program. This package accepts only pickles that name tensors and
// containers. None of the file's code runs, and all instructions are checked before the
// first one is executed: see walk and known.
//
// Start at Open or Read. Tensors are those of package safetensors.
package pth

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"tessera/format/file"
	"tessera/format/quote"
	"tessera/format/safetensors"
)

// FormatError means that a file breaks the format or contains something that this package
// refuses. Read errors are other errors.
type FormatError struct {
	File string
	Err  error
}

func (e *FormatError) Error() string { return "pth: " + quote.Text(e.File) + ": " + e.Err.Error() }
func (e *FormatError) Unwrap() error { return e.Err }

// File is an open file. Several goroutines may read tensors, but not while Close runs;
// afterwards no tensor can be read.
type File struct {
	name    string
	source  io.ReaderAt
	size    int64
	names   []string
	tensors map[string]safetensors.Tensor
	numbers map[string]string
	release func() error
}

// Open opens the file at path.
func Open(path string) (*File, error) {
	from, size, err := file.Open(path)
	if err != nil {
		return nil, fmt.Errorf("pth: %w", err)
	}
	return Take(from, size)
}

// Take is Open for an open file of size bytes. It takes ownership of the file, and closes
// it if it fails.
func Take(from *os.File, size int64) (*File, error) {
	f, err := Read(from, size, from.Name())
	if err != nil {
		from.Close()
		return nil, err
	}
	f.release = from.Close
	return f, nil
}

// Read opens size bytes of r; name stands for them in errors. It reads only the zip's
// directory and the pickle. r stays in use until Close, which does not close it.
func Read(r io.ReaderAt, size int64, name string) (*File, error) {
	return read(r, size, name, unpickle)
}

// read is Read with an unpickler.
func read(r io.ReaderAt, size int64, name string, unpickle unpickler) (*File, error) {
	f := &File{name: name, source: r, size: size, tensors: map[string]safetensors.Tensor{}}
	a := &archive{r: r, size: size, entries: map[string]zipEntry{}}
	err := a.open()
	if err == nil {
		err = f.load(a, unpickle)
	}
	if a.failed {
		return nil, fmt.Errorf("pth: %s: %w", name, err)
	}
	if err != nil {
		return nil, &FormatError{name, err}
	}
	return f, nil
}

// load fills in the tensors.
func (f *File) load(a *archive, unpickle unpickler) error {
	data, err := a.pickle()
	if err != nil {
		return err
	}
	root, err := unpickle(data)
	if err != nil {
		return fmt.Errorf("data.pkl: %w", err)
	}
	state, items, err := stateDict(root)
	if err != nil {
		return err
	}
	f.numbers = numbers(items)
	for _, item := range state {
		t, err := f.place(a, item.name, item.tensor)
		if err != nil {
			return fmt.Errorf("tensor %s: %w", quote.Name(item.name), err)
		}
		f.names = append(f.names, item.name)
		f.tensors[item.name] = t
	}
	return nil
}

// Name returns the path or name that the file was opened with.
func (f *File) Name() string { return f.name }

// Size returns the length of the whole file in bytes.
func (f *File) Size() int64 { return f.size }

// Names lists the tensors in the order of the pickle.
func (f *File) Names() []string { return slices.Clone(f.names) }

// Metadata returns a copy of the integers among the tensors, by name.
func (f *File) Metadata() map[string]string { return maps.Clone(f.numbers) }

// Tensor finds a tensor by name.
func (f *File) Tensor(name string) (safetensors.Tensor, bool) {
	t, ok := f.tensors[name]
	return t, ok
}

// Close closes a file that Open opened. It is idempotent.
func (f *File) Close() error {
	f.source = &closed{}
	if f.release == nil {
		return nil
	}
	release := f.release
	f.release = nil
	if err := release(); err != nil {
		return fmt.Errorf("pth: %s: %w", f.name, err)
	}
	return nil
}

// current reads from the file's current source, which Close replaces.
type current File

func (c *current) ReadAt(dst []byte, offset int64) (int, error) {
	return c.source.ReadAt(dst, offset)
}

// closed is the source after Close.
type closed struct{}

func (*closed) ReadAt([]byte, int64) (int, error) { return 0, os.ErrClosed }
