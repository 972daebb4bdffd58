package wgsl

import "fmt"

// Shape of a convolution's weight, [O, I, KT, KS, KS].
type Shape struct {
	O, I, KT, KS int
	Phases       int // of time, among the outputs of a ConvUpShape
}

// Packing is how a weight lies in memory, for the kernels that read it so:
// [O/out, KT, KS, I/in, KS, in, out], so that for a block of outputs all that a
// row of taps needs lies together, or [O/out, KT, I/in, KS, KS, out, in]. Identity is
// the pointer; a Set says which one a weight takes.
type Packing struct {
	in, out int
	rows    bool // the second of these
}

// blocked is matrices of so many input and output channels.
func blocked(in, out int) *Packing { return &Packing{in: in, out: out} }

// blocks4x8 is what the plain kernels read.
var blocks4x8 = blocked(4, 8)

// tiled4x8 is what the tiled kernels read, whose workgroups are square: as many blocks of
// channels deep as segments wide. They take what fills them. tiledF16 is the same for those
// of halves, since no two kernels that don't take all shapes share one.
var tiled4x8, tiledF16 = blocked(4, 8), blocked(4, 8)

// String says it for messages.
func (p *Packing) String() string {
	if p == nil {
		return "none"
	}
	if p.rows {
		return fmt.Sprintf("in blocks of %dx%d by rows", p.in, p.out)
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
	blocks := (s.I + in - 1) / in
	taps := s.KT * s.KS * s.KS
	// From an output, an input, a block of inputs and a row of taps to the next.
	toOut, toIn, toBlock, toRow := 1, out, s.KS*matrix, blocks*s.KS*matrix
	if p.rows {
		toOut, toIn, toBlock, toRow = in, 1, s.KS*s.KS*matrix, s.KS*matrix
	}
	toTap := blocks * s.KS * s.KS * matrix
	for o := range s.O {
		from := o
		if order != nil {
			from = order(o)
		}
		if from < 0 {
			continue
		}
		row := src[from*s.I*taps:][:s.I*taps]
		first := o/out*s.KT*toTap + o%out*toOut
		for i := range s.I {
			at := first + i/in*toBlock + i%in*toIn
			for tap := at; tap < at+s.KT*toTap; tap += toTap {
				for to := tap; to < tap+s.KS*toRow; to += toRow {
					for x := range s.KS {
						dst[to+x*matrix] = row[x]
					}
					row = row[s.KS:]
				}
			}
		}
	}
}
