package wgsl

import "fmt"

// Shape of a convolution's weight, [O, I, KT, KS, KS].
type Shape struct{ O, I, KT, KS int }

// Packing is how a weight lies in memory, for the kernels that read it so:
// [O/out, KT, KS, I/in, KS, in, out], so that for a block of outputs all that a
// row of taps needs lies together. Identity is the pointer; a Set says which one
// a weight takes.
type Packing struct{ in, out int }

// blocked is matrices of so many input and output channels.
func blocked(in, out int) *Packing { return &Packing{in, out} }

// blocks4x8 is what the plain kernels read.
var blocks4x8 = blocked(4, 8)

// String says it for messages.
func (p *Packing) String() string {
	if p == nil {
		return "none"
	}
	return fmt.Sprintf("in blocks of %dx%d", p.in, p.out)
}

// Size is the number of elements of a packed weight.
func (p *Packing) Size(s Shape) int { return (s.O + p.out - 1) / p.out * s.KT * p.tap(s.I, s.KS) }

// tap is the number of elements of a temporal tap, of i inputs in a block of
// outputs.
func (p *Packing) tap(i, ks int) int { return ks * ks * ((i + p.in - 1) / p.in) * p.in * p.out }

// Pack lays a weight out as p, from src in PyTorch's order [O, I, KT, KS, KS].
// Output channel o is row order(o) of src, or zero where that is negative; nil
// is the identity. dst has p.Size(s) elements, zeroed. Halves are their bits.
func Pack[E float32 | uint16](p *Packing, dst, src []E, s Shape, order func(o int) int) {
	in, out := p.in, p.out
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
