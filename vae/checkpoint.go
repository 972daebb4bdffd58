package vae

import (
	"fmt"
	"slices"
	"strings"

	"tessera/format"
	"tessera/format/safetensors"
)

// tensors are a checkpoint's tensors under the layers' names.
type tensors struct {
	file format.File
	name func(string) string // converts a layer's name to the file's
	flat string              // part of the names of weights that are matrices: trailing dimensions of 1 are dropped
	// thick selects weights [O, I, h, w] that layers read as [O, I, 1, h, w]; nil: none.
	thick func(name string) bool
}

func (t tensors) find(name string) (safetensors.Tensor, bool) {
	x, ok := t.file.Tensor(t.name(name))
	if t.flat != "" && strings.Contains(name, t.flat) {
		for len(x.Shape) > 2 && x.Shape[len(x.Shape)-1] == 1 {
			x.Shape = x.Shape[:len(x.Shape)-1]
		}
	}
	if t.thick != nil && len(x.Shape) == 4 && t.thick(name) {
		x.Shape = slices.Insert(slices.Clone(x.Shape), 2, 1)
	}
	return x, ok
}

func (t tensors) has(name string) bool {
	_, ok := t.find(name)
	return ok
}

// maxDim limits the sizes that a shape may give a model: a file of a kilobyte can claim a
// tensor of no elements and 2^60 channels.
const maxDim = 1 << 16

// dim returns a tensor's size along an axis, from 1 to maxDim. The tensor must have rank
// axes.
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

// count returns how many tensors exist with the names that format makes of values and 0,
// 1, 2 ...
func (t tensors) count(format string, values ...any) int {
	n := 0
	for t.has(fmt.Sprintf(format, append(slices.Clip(values), n)...)) {
		n++
	}
	return n
}

// stages is count for the stages of a network; it requires 1 to maxStages.
func (t tensors) stages(format string) (int, error) {
	n := t.count(format)
	if n < 1 || n > maxStages {
		return n, fmt.Errorf("vae: %s: found %d tensors such as %s, expected 1 to %d", t.file.Name(), n, t.name(fmt.Sprintf(format, 0)), maxStages)
	}
	return n, nil
}

// widths returns the output channels of each stage's first convolution, a tensor of rank
// axes. format makes its name from a stage and a block.
func (t tensors) widths(format string, rank int) (widths []int, err error) {
	for i := 0; t.has(fmt.Sprintf(format, i, 0)); i++ {
		w, err := t.dim(fmt.Sprintf(format, i, 0), 0, rank)
		if err != nil {
			return nil, err
		}
		widths = append(widths, w)
	}
	return widths, nil
}

// hasTensor reports whether a file has any of the tensors.
func hasTensor(f format.File, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := f.Tensor(name)
		return ok
	})
}
