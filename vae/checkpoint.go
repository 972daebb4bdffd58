package vae

import (
	"fmt"
	"io"

	"tessera/format/file"
	"tessera/format/pth"
	"tessera/format/safetensors"
)

// checkpoint is an open file of named tensors.
type checkpoint interface {
	Name() string
	Size() int64
	Names() []string
	Tensor(name string) (safetensors.Tensor, bool)
	Metadata() map[string]string
	Close() error
}

// zipMagic begins a torch zip.
const zipMagic = "PK\x03\x04"

// openCheckpoint opens a file of either format, told by how it begins.
func openCheckpoint(path string) (checkpoint, error) {
	f, size, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	if begins(f) == zipMagic {
		return orNil(pth.Take(f, size))
	}
	return orNil(safetensors.Take(f, size))
}

// readCheckpoint is openCheckpoint of the size bytes behind r.
func readCheckpoint(r io.ReaderAt, size int64, name string) (checkpoint, error) {
	if begins(r) == zipMagic {
		return orNil(pth.Read(r, size, name))
	}
	return orNil(safetensors.Read(r, size, name))
}

// begins are the first bytes, as many as there are.
func begins(r io.ReaderAt) string {
	head := make([]byte, len(zipMagic))
	n, _ := r.ReadAt(head, 0) // what can't be read is told when it is opened
	return string(head[:n])
}

// orNil keeps a failed open from being an interface that is not nil.
func orNil[F checkpoint](f F, err error) (checkpoint, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// tensors are a checkpoint's under the names that the layers use.
type tensors struct {
	file checkpoint
	name func(string) string // the file's for a layer's
}

func (t tensors) find(name string) (safetensors.Tensor, bool) { return t.file.Tensor(t.name(name)) }

func (t tensors) has(name string) bool {
	_, ok := t.find(name)
	return ok
}

// maxDim bounds what a shape may say of a model: a file of a kilobyte can claim a
// tensor of no elements and 2^60 channels.
const maxDim = 1 << 16

// dim is a tensor's size along an axis of rank axes, of 1 to maxDim.
func (t tensors) dim(name string, axis, rank int) (int, error) {
	x, ok := t.find(name)
	if !ok {
		return 0, fmt.Errorf("vae: %s: tensor %s is missing", t.file.Name(), t.name(name))
	}
	if len(x.Shape) != rank {
		return 0, fmt.Errorf("vae: %s: tensor %s has shape %v, expected %d dimensions", t.file.Name(), x.Name, x.Shape, rank)
	}
	if n := x.Shape[axis]; n < 1 || n > maxDim {
		return 0, fmt.Errorf("vae: %s: tensor %s has shape %v, expected 1 to %d along axis %d", t.file.Name(), x.Name, x.Shape, maxDim, axis)
	}
	return x.Shape[axis], nil
}

// count is how many of the names that format makes of 0, 1, 2 ... are there.
func (t tensors) count(format string) int {
	n := 0
	for t.has(fmt.Sprintf(format, n)) {
		n++
	}
	return n
}
