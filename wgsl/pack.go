package wgsl

import "fmt"

// Shape of a convolution's weight, [O, I, KT, KS, KS].
type Shape struct{ O, I, KT, KS int }

// Packing is how a weight lies in memory, for the kernels that read it so.
// Identity is the pointer; a Set says which one a weight takes.
type Packing struct {
	name   string
	size   func(s Shape) int   // elements of a weight
	tap    func(i, ks int) int // elements of a temporal tap in a block of outputs
	pack32 func(dst, src []float32, s Shape, order func(o int) int)
	pack16 func(dst, src []uint16, s Shape, order func(o int) int)
}

func (p *Packing) String() string {
	if p == nil {
		return "not at all"
	}
	return p.name
}

// Size is the number of elements of a packed weight.
func (p *Packing) Size(s Shape) int { return p.size(s) }

// Pack lays a weight out as p, from src in PyTorch's order [O, I, KT, KS, KS].
// Output channel o is row order(o) of src, or zero where that is negative; nil
// is the identity. dst has p.Size(s) elements, zeroed. Halves are their bits.
func Pack[E float32 | uint16](p *Packing, dst, src []E, s Shape, order func(o int) int) {
	switch dst := any(dst).(type) {
	case []float32:
		p.pack32(dst, any(src).([]float32), s, order)
	case []uint16:
		p.pack16(dst, any(src).([]uint16), s, order)
	}
}

// blocks4x8 are matrices of four input and eight output channels.
var blocks4x8 = blocked(4, 8)

// blocked is [O/out, KT, KS, I/in, KS, in, out]: for a block of outputs, all
// that a row of taps needs lies together.
func blocked(in, out int) *Packing {
	inputs := func(i int) int { return (i + in - 1) / in }
	return &Packing{
		name: fmt.Sprintf("in blocks of %dx%d", in, out),
		size: func(s Shape) int {
			return (s.O + out - 1) / out * s.KT * s.KS * s.KS * inputs(s.I) * in * out
		},
		tap:    func(i, ks int) int { return ks * ks * inputs(i) * in * out },
		pack32: func(dst, src []float32, s Shape, order func(int) int) { packBlocks(dst, src, s, in, out, order) },
		pack16: func(dst, src []uint16, s Shape, order func(int) int) { packBlocks(dst, src, s, in, out, order) },
	}
}

func packBlocks[E float32 | uint16](dst, src []E, s Shape, in, out int, order func(o int) int) {
	matrix := in * out
	tile := s.KS * matrix              // a row of taps
	line := (s.I + in - 1) / in * tile // that of all inputs
	taps := s.KT * s.KS * s.KS
	for o := range s.O {
		from := o
		if order != nil {
			from = order(o)
		}
		if from < 0 {
			continue
		}
		row := src[from*s.I*taps:][:s.I*taps]
		first := o/out*s.KT*s.KS*line + o%out
		for i := 0; i < s.I; i += in {
			for at := first; at < first+min(in, s.I-i)*out; at += out {
				for to := at; to < at+s.KT*s.KS*line; to += line {
					for x := range s.KS {
						dst[to+x*matrix] = row[x]
					}
					row = row[s.KS:]
				}
			}
			first += tile
		}
	}
}
