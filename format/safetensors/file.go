// Package safetensors reads and writes the safetensors format: named tensors after a JSON
// header. Reading is as strict as the format's own library and works by range, so a file
// is never completely in memory; writing streams.
//
//	f, err := safetensors.Open("latent.safetensors")
//	...
//	defer f.Close()
//	t, ok := f.Tensor("latent")
//	values := make([]float32, t.Elements())
//	err = t.ReadF32(values, 0)
//
// Start at Open or Read, and at NewWriter. This package does not interpret the tensors.
package safetensors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"tessera/format/file"
	"tessera/format/quote"
)

// FormatError means that a file breaks the format. Read errors are other errors.
type FormatError struct {
	File string
	Err  error
}

func (e *FormatError) Error() string {
	return "safetensors: " + quote.Text(e.File) + ": " + e.Err.Error()
}
func (e *FormatError) Unwrap() error { return e.Err }

// File is an open file. Several goroutines may read tensors, but not while Close runs;
// afterwards no tensor can be read.
type File struct {
	name    string
	source  io.ReaderAt
	data    int64 // offset of the first tensor byte
	size    int64
	header  header
	byName  map[string]int
	release func() error
}

// Open opens the file at path, memory-mapped if the system supports it.
func Open(path string) (*File, error) {
	from, size, err := file.Open(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return Take(from, size)
}

// Truncated means that a file has fewer bytes than its header says.
type Truncated struct {
	Wants int64 // size of the whole file in bytes; 0 if the header is truncated
	text  string
}

func (e *Truncated) Error() string { return e.text }

// Take is Open for an open file of size bytes. It takes ownership of the file, and closes
// it if it fails.
func Take(from *os.File, size int64) (*File, error) {
	source, release := mapFile(from, size)
	f, err := Read(source, size, from.Name())
	if err != nil {
		release()
		return nil, err
	}
	f.release = release
	return f, nil
}

// Read opens size bytes of r; name stands for them in errors. It reads only the header. r
// stays in use until Close, which does not close it.
func Read(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{name: name, source: r, size: size, byName: map[string]int{}}
	bad := func(err error) (*File, error) { return nil, &FormatError{name, err} }
	if size < 8 {
		return bad(fmt.Errorf("%d bytes, expected at least the 8 of the header's length", size))
	}
	var prefix [8]byte
	if err := readFull(r, prefix[:], 0); err != nil {
		return nil, fmt.Errorf("safetensors: %s: header length: %w", name, err)
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if n > maxHeader {
		return bad(fmt.Errorf("header length %d, expected at most %d: not a safetensors file", n, maxHeader))
	}
	if int64(n) > size-8 {
		return bad(&Truncated{0, fmt.Sprintf("header length %d, but only %d bytes follow: truncated, or not a safetensors file", n, size-8)})
	}
	// ReadAll allocates as bytes arrive, in case size is wrong.
	text, err := io.ReadAll(io.NewSectionReader(r, 8, int64(n)))
	if err == nil && uint64(len(text)) != n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("safetensors: %s: header: %w", name, err)
	}
	f.data = 8 + int64(n)
	if f.header, err = parseHeader(text, size-f.data); err != nil {
		if cut, ok := errors.AsType[*Truncated](err); ok {
			cut.Wants += f.data
		}
		return bad(err)
	}
	for i, e := range f.header.entries {
		f.byName[e.name] = i
	}
	return f, nil
}

// Name returns the path or name that the file was opened with.
func (f *File) Name() string { return f.name }

// Size returns the length of the whole file in bytes.
func (f *File) Size() int64 { return f.size }

// Names lists the tensors in the order of their data.
func (f *File) Names() []string {
	names := make([]string, len(f.header.entries))
	for i, e := range f.header.entries {
		names[i] = e.name
	}
	return names
}

// Metadata returns a copy of the header's __metadata__, empty without one.
func (f *File) Metadata() map[string]string {
	if f.header.metadata == nil {
		return map[string]string{}
	}
	return maps.Clone(f.header.metadata)
}

// Tensor finds a tensor by name.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Tensor{}, false
	}
	e := f.header.entries[i]
	return Tensor{
		Name: e.name, DType: e.dtype, Shape: e.shape, where: "safetensors: " + f.name,
		source: (*current)(f), offset: f.data + e.begin, elements: e.elements, bytes: e.end - e.begin,
	}, true
}

// current reads from the file's current source, which Close replaces.
type current File

func (c *current) ReadAt(dst []byte, offset int64) (int, error) {
	return c.source.ReadAt(dst, offset)
}

// Close releases the map and closes a file that Open opened. It is idempotent.
func (f *File) Close() error {
	f.source = &closed{}
	if f.release == nil {
		return nil
	}
	release := f.release
	f.release = nil
	if err := release(); err != nil {
		return fmt.Errorf("safetensors: %s: %w", f.name, err)
	}
	return nil
}

// closed is the source after Close.
type closed struct{}

func (*closed) ReadAt([]byte, int64) (int, error) { return 0, os.ErrClosed }

// readFull reads len(dst) bytes; io.EOF together with them is not an error.
func readFull(r io.ReaderAt, dst []byte, offset int64) error {
	n, err := r.ReadAt(dst, offset)
	if n == len(dst) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
