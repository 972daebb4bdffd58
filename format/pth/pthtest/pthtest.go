// Package pthtest writes .pth files as torch.save does, for tests: Create for a
// checkpoint, Pickle and Zip for the parts of one that is broken on purpose.
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

// Tensor is one of a checkpoint.
type Tensor struct {
	Name  string
	DType safetensors.DType
	Shape []int
	// Data writes the elements, row-major and little-endian.
	Data func(io.Writer) error
}

// Bytes is a Tensor's Data.
func Bytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// Options say what surrounds the tensors.
type Options struct {
	Ordered bool   // an OrderedDict with _metadata, as state_dict() makes it, rather than a dict
	Key     string // where not empty, the dict is under this key of another
	// Numbers and Tuples lie among the tensors, by their names.
	Numbers map[string]int
	Tuples  map[string][]int
}

// Create writes a checkpoint into a new file at path.
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

// Convert writes the tensors of an open safetensors file into a new file at
// path. It has one of them at a time in memory.
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

// Dump is the pickle of a checkpoint whose i-th tensor has the storage i.
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

// Class is torch's name for storages of a type.
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

// Strides are those of rows without gaps, in elements.
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

// Zipped is a file of the entries.
func Zipped(entries ...Entry) []byte {
	var b bytes.Buffer
	if err := Zip(&b, entries...); err != nil {
		panic(err) // a Buffer takes all, so it is the test's
	}
	return b.Bytes()
}
