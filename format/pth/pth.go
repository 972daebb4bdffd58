// Package pth reads the checkpoints that torch.save writes: a zip of stored
// entries, one of them a pickle that names the tensors, the others their
// storages. Only the pickle is read into memory; tensors are read by range.
//
// A pickle is a program. This one may name tensors and containers and nothing
// else, no code of it runs, and all of its instructions are checked before the
// first is carried out: see walk and known.
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

// FormatError says that a file breaks the format, or holds what this package
// refuses, rather than that it could not be read.
type FormatError struct {
	File string
	Err  error
}

func (e *FormatError) Error() string { return "pth: " + quote.Text(e.File) + ": " + e.Err.Error() }
func (e *FormatError) Unwrap() error { return e.Err }

// File is an open file. Reading tensors is safe from several goroutines;
// Close is not safe beside them, and no tensor can be read after it.
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

// Take is Open of a file that is open already, of size bytes. It takes the file
// over, and closes it where it fails.
func Take(from *os.File, size int64) (*File, error) {
	f, err := Read(from, size, from.Name())
	if err != nil {
		from.Close()
		return nil, err
	}
	f.release = from.Close
	return f, nil
}

// Read opens the size bytes behind r; name stands for them in errors. It reads
// the zip's directory and the pickle only. r stays in use until Close, and is
// not closed by it.
func Read(r io.ReaderAt, size int64, name string) (*File, error) {
	return read(r, size, name, unpickle)
}

// read is Read by way of an unpickler.
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

// load fills the tensors in.
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

// Name is the path or name the file was opened with.
func (f *File) Name() string { return f.name }

// Size is the length of the whole file in bytes.
func (f *File) Size() int64 { return f.size }

// Names lists the tensors in the order of the pickle.
func (f *File) Names() []string { return slices.Clone(f.names) }

// Metadata is a copy of the whole numbers that lie among the tensors, by their names.
func (f *File) Metadata() map[string]string { return maps.Clone(f.numbers) }

// Tensor finds a tensor by name.
func (f *File) Tensor(name string) (safetensors.Tensor, bool) {
	t, ok := f.tensors[name]
	return t, ok
}

// Close releases the file that Open made. It is idempotent.
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

// current reads from what the file has at the time, which Close takes away.
type current File

func (c *current) ReadAt(dst []byte, offset int64) (int, error) {
	return c.source.ReadAt(dst, offset)
}

// closed is what is left to read from after Close.
type closed struct{}

func (*closed) ReadAt([]byte, int64) (int, error) { return 0, os.ErrClosed }
