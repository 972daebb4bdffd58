// Package pthtest writes .pth files as torch.save does, for tests. Create writes a
// checkpoint; Pickle and Zip write the parts of deliberately broken ones.
package pthtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"

	"tessera/format/safetensors"
)

// Tensor is a tensor of a checkpoint.
type Tensor struct {
	Name  string
	DType safetensors.DType
	Shape []int
	// Data writes the elements, row-major and little-endian.
	Data func(io.Writer) error
}

// Bytes returns a Tensor's Data that writes b.
func Bytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// Options choose what surrounds the tensors.
type Options struct {
	Ordered bool   // an OrderedDict with _metadata, as state_dict() makes it, instead of a dict
	Key     string // if set, the dict is under this key of another dict
	// Numbers and Tuples are stored among the tensors, by name.
	Numbers map[string]int
	Tuples  map[string][]int
}

// Create writes a checkpoint to a new file at path.
func Create(path string, tensors []Tensor, o Options) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("pthtest: %w", err)
	}
	if err := errors.Join(Write(file, tensors, o), file.Close()); err != nil {
		return fmt.Errorf("pthtest: %s: %w", path, err)
	}
	return nil
}

// Convert writes the tensors of an open safetensors file to a new file at path, with one
// tensor at a time in memory.
func Convert(path string, from *safetensors.File, o Options) error {
	var tensors []Tensor
	for _, name := range from.Names() {
		t, _ := from.Tensor(name)
		tensors = append(tensors, Tensor{name, t.DType, t.Shape, func(w io.Writer) error {
			b := make([]byte, t.Bytes())
			if err := t.ReadRaw(b, 0); err != nil {
				return err
			}
			_, err := w.Write(b)
			return err
		}})
	}
	return Create(path, tensors, o)
}

// Write is Create to w.
func Write(w io.Writer, tensors []Tensor, o Options) error {
	entries := []Entry{{Name: "archive/data.pkl", Data: Bytes(Dump(tensors, o))}}
	for _, e := range [][2]string{{".format_version", "1"}, {".storage_alignment", "64"}, {"byteorder", "little"}} {
		entries = append(entries, Entry{Name: "archive/" + e[0], Data: Bytes([]byte(e[1]))})
	}
	for i, t := range tensors {
		entries = append(entries, Entry{Name: "archive/data/" + strconv.Itoa(i), Data: t.Data})
	}
	for _, e := range [][2]string{{"version", "3\n"}, {".data/serialization_id", "0000000000000000000000000000000000000000"}} {
		entries = append(entries, Entry{Name: "archive/" + e[0], Data: Bytes([]byte(e[1]))})
	}
	return Zip(w, entries...)
}

// Dump returns the pickle of a checkpoint whose i-th tensor has storage i.
func Dump(tensors []Tensor, o Options) []byte {
	p := NewPickle()
	if o.Key != "" {
		p.Raw("}").Put().String("epoch").Int(3).Raw("s").String(o.Key)
	}
	if o.Ordered {
		p.OrderedDict()
	} else {
		p.Raw("}").Put()
	}
	p.Raw("(")
	for i, t := range tensors {
		p.String(t.Name)
		p.Tensor(Storage{Class(t.DType), strconv.Itoa(i), product(t.Shape)}, 0, t.Shape, Strides(t.Shape))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Numbers)) {
		p.String(name).Int(o.Numbers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(o.Tuples)) {
		p.String(name).Ints(o.Tuples[name])
	}
	p.Raw("u")
	if o.Ordered {
		p.Raw("}").Put().String("_metadata").OrderedDict()
		p.Raw("(").String("").Raw("}").Put().String("version").Int(1).Raw("s").Raw("u").Raw("sb")
	}
	if o.Key != "" {
		p.Raw("s")
	}
	return p.Raw(".").Bytes()
}

// Class returns torch's name of the storage class for a type.
func Class(d safetensors.DType) string {
	names := map[safetensors.DType]string{
		safetensors.F32: "Float", safetensors.F16: "Half", safetensors.BF16: "BFloat16", safetensors.F64: "Double",
		safetensors.I64: "Long", safetensors.I32: "Int", safetensors.I16: "Short", safetensors.I8: "Char",
		safetensors.U8: "Byte", safetensors.BOOL: "Bool",
	}
	if names[d] == "" {
		panic("pthtest: no storage of " + string(d))
	}
	return names[d] + "Storage"
}

// Strides returns the strides of contiguous rows, in elements.
func Strides(shape []int) []int {
	strides := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= max(1, shape[i])
	}
	return strides
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Zipped returns a file of the entries.
func Zipped(entries ...Entry) []byte {
	var b bytes.Buffer
	if err := Zip(&b, entries...); err != nil {
		panic(err) // a Buffer never fails, so a test's Data did
	}
	return b.Bytes()
}
