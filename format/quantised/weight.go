//go:build !js

package quantised

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"tessera/format/quote"
	"tessera/format/safetensors"
)

// chunk is how many elements are dequantised at a time.
const chunk = 16 << 10

// weight reads as the bytes of an F32 tensor.
type weight struct {
	from    safetensors.Tensor
	elem    safetensors.DType // from's type, unless something says otherwise
	marked  bool              // a marker says how it is stored
	reason  string            // why it cannot be read
	divisor float64           // of the products

	scales  []safetensors.Tensor // and, with one scale, the scale of that scale
	formats []safetensors.Tensor // bytes that must be zero
	blocks  blocks

	once   sync.Once
	values []float32 // the scales
	err    error
}

// blocks are the parts of a weight [O, K] with one scale each; K is the product of all
// dimensions but the first.
type blocks struct{ k, rows, columns, across int } // across: scales in a row

// fit finds the blocks for scales of a shape, if there are any: the whole weight, rows,
// equal groups within rows, or squares whose side is a power of two. The last squares may
// be cut.
func (w *weight) fit(shape []int) bool {
	n, all := 1, w.from.Elements()
	for _, d := range shape {
		n *= d
	}
	if all == 0 || len(w.from.Shape) == 0 {
		return n == 1
	}
	o := w.from.Shape[0]
	b := &w.blocks
	*b = blocks{k: all / o, rows: o, columns: all / o, across: 1}
	if n == 1 {
		return true
	}
	s := slices.Clone(shape)
	for len(s) > 2 && s[len(s)-1] == 1 {
		s = s[:len(s)-1]
	}
	if len(s) == 1 || len(s) == 2 && s[1] == 1 {
		b.rows = 1
		if s[0] == o {
			return true
		}
	}
	if len(s) != 2 || len(w.from.Shape) != 2 {
		return false
	}
	if b.across = s[1]; s[0] == o { // groups within a row
		b.rows, b.columns = 1, b.k/max(1, s[1])
		return s[1] > 0 && b.k%s[1] == 0
	}
	for side := 16; side <= 1024; side *= 2 { // at most one side fits if there are several blocks
		if (o+side-1)/side == s[0] && (b.k+side-1)/side == s[1] {
			b.rows, b.columns = side, side
			return true
		}
	}
	return false
}

// scale returns the index of an element's scale.
func (b blocks) scale(i int) int {
	return i/b.k/b.rows*b.across + i%b.k/b.columns
}

// table returns the values of a byte, nil for a type without a table.
func (w *weight) table() *[256]float32 {
	switch w.elem {
	case safetensors.F8E4M3:
		return e4m3()
	case safetensors.F8E5M2:
		return e5m2()
	case safetensors.I8:
		return int8s()
	}
	return nil
}

// load reads the scales, once.
func (w *weight) load() error {
	w.once.Do(func() {
		for _, t := range w.formats {
			raw := make([]byte, t.Bytes())
			if w.err = t.ReadRaw(raw, 0); w.err != nil {
				return
			}
			if slices.ContainsFunc(raw, func(b byte) bool { return b != 0 }) {
				w.err = fmt.Errorf("%s is not zero: weights that are stored in another order, or around another number than zero, can't be read", quote.Name(t.Name))
				return
			}
		}
		for i, t := range w.scales {
			values := make([]float32, t.Elements())
			if w.err = t.ReadF32(values, 0); w.err != nil {
				return
			}
			if i == 0 {
				w.values = values
				continue
			}
			for j := range w.values {
				w.values[j] *= values[0]
			}
		}
	})
	return w.err
}

// ReadAt returns bytes of the dequantised float32 values.
func (w *weight) ReadAt(p []byte, offset int64) (int, error) {
	if err := w.load(); err != nil {
		return 0, err
	}
	values := make([]float32, min(chunk, len(p)/4+2))
	raw := make([]byte, len(values))
	text := make([]byte, 4*len(values))
	done := 0
	for done < len(p) {
		at := int((offset + int64(done)) / 4)
		skip := int((offset + int64(done)) % 4)
		n := min(len(values), w.from.Elements()-at, (skip+len(p)-done+3)/4)
		if n <= 0 {
			return done, fmt.Errorf("bytes %d to %d, expected at most %d", offset, offset+int64(len(p)), 4*w.from.Elements())
		}
		if err := w.read(values[:n], raw, at); err != nil {
			return done, err
		}
		for i, v := range values[:n] {
			binary.LittleEndian.PutUint32(text[4*i:], math.Float32bits(v))
		}
		done += copy(p[done:], text[skip:4*n])
	}
	return done, nil
}

// read dequantises elements from start on. raw must be at least as long as dst.
func (w *weight) read(dst []float32, raw []byte, start int) error {
	if table := w.table(); table != nil {
		if err := w.from.ReadRaw(raw[:len(dst)], int64(start)); err != nil {
			return err
		}
		for i := range dst {
			dst[i] = table[raw[i]]
		}
	} else if err := w.from.ReadF32(dst, start); err != nil {
		return err
	}
	if w.values == nil {
		return nil
	}
	for i, v := range dst {
		// The product of two float32 is exact in float64, so it is rounded only once.
		dst[i] = float32(float64(v) * float64(w.values[w.blocks.scale(start+i)]) / w.divisor)
	}
	return nil
}
