package synthetic

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"

	"tessera/format/safetensors"
)

// create creates a file with the output of fill.
func create(path string, fill func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("synthetic: %w", err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	if err := errors.Join(fill(out), out.Flush(), file.Close()); err != nil {
		return fmt.Errorf("synthetic: %s: %w", path, err)
	}
	return nil
}

// stream writes tensors to a new file at path; see write.
func stream(path string, tensors []Spec, dtype safetensors.DType, name func(string) string) error {
	return create(path, func(out io.Writer) error { return write(out, tensors, dtype, name, nil) })
}

// layout returns a file's header in its order, and the tensors in that order. name maps
// a tensor's name to the one in the file.
func layout(tensors []Spec, dtype safetensors.DType, name func(string) string) ([]safetensors.Spec, []Spec) {
	tensors = slices.Clone(tensors)
	slices.SortFunc(tensors, func(a, b Spec) int { return cmp.Compare(name(a.Name), name(b.Name)) })
	var specs []safetensors.Spec
	for _, s := range tensors {
		specs = append(specs, safetensors.Spec{Name: name(s.Name), DType: dtype, Shape: s.Shape})
	}
	return specs, tensors
}

// write streams tensors by name, with values from their original names. An empty dtype
// means F16, a nil name keeps the original names.
func write(out io.Writer, tensors []Spec, dtype safetensors.DType, name func(string) string, metadata map[string]string) error {
	if name == nil {
		name = func(name string) string { return name }
	}
	specs, tensors := layout(tensors, cmp.Or(dtype, safetensors.F16), name)
	w, err := safetensors.NewWriter(out, specs, metadata)
	if err != nil {
		return err
	}
	buffer := make([]float32, 1<<20)
	for i, s := range tensors {
		if err := w.Begin(specs[i].Name); err != nil {
			return err
		}
		n := elements(s.Shape)
		for start := 0; start < n; start += len(buffer) {
			part := buffer[:min(len(buffer), n-start)]
			fillParallel(s.Name, s.Shape, start, part)
			if err := w.WriteF32(part); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

func fillParallel(key string, shape []int, start int, dst []float32) {
	part := max(1<<14, (len(dst)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for at := 0; at < len(dst); at += part {
		wait.Go(func() {
			FillWeight(key, shape, start+at, dst[at:min(at+part, len(dst))])
		})
	}
	wait.Wait()
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
