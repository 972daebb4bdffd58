package wgsl

import "fmt"

// Shape of a convolution's weight, [O, I, KT, KS, KS].
type Shape struct {
	O, I, KT, KS int
	Phases       int // of time, among the outputs of a ConvUpShape
}

// Packing is the order of a weight in memory for the kernels that read it: [O/out, KT,
// KS, I/in, KS, in, out], which keeps together what a block of outputs needs of a row
// of taps, or [O/out, KT, I/in, KS, KS, out, in]. A packing is identified by its
// pointer; a Set returns the one for a weight.
type Packing struct {
	in, out int
	rows    bool // the second order
}

// blocked returns a packing in matrices of this many input and output channels.
func blocked(in, out int) *Packing { return &Packing{in: in, out: out} }

// blocks4x8 is the packing for the plain kernels.
var blocks4x8 = blocked(4, 8)

// tiled4x8 is the packing for the tiled kernels, whose workgroups are square: as many
// blocks of channels deep as segments wide. They take weights that fill them. tiledF16
// is for those of halves: kernels that reject some shapes must not share a packing.
var tiled4x8, tiledF16 = blocked(4, 8), blocked(4, 8)

// String describes the packing for messages.
func (p *Packing) String() string {
	if p == nil {
		return "none"
	}
	if p.rows {
		return fmt.Sprintf("in blocks of %dx%d by rows", p.in, p.out)
	}
	return fmt.Sprintf("in blocks of %dx%d", p.in, p.out)
}

// Size returns the number of elements of a packed weight.
func (p *Packing) Size(s Shape) int { return (s.O + p.out - 1) / p.out * s.KT * p.tap(s.I, s.KS) }

// tap returns the number of elements of a temporal tap, for i inputs in a block of
// outputs.
func (p *Packing) tap(i, ks int) int { return ks * ks * ((i + p.in - 1) / p.in) * p.in * p.out }

// Pack writes src, a weight in PyTorch's order [O, I, KT, KS, KS], to dst in the order p.
// Output channel o is row order(o) of src, or zero if that is negative; a nil order is
// the identity. dst has p.Size(s) elements and is zeroed. Halves are stored as their bits.
func Pack[E float32 | uint16](p *Packing, dst, src []E, s Shape, order func(o int) int) {
	in, out := p.in, p.out
	matrix := in * out
	blocks := (s.I + in - 1) / in
	taps := s.KT * s.KS * s.KS
	// Distances between outputs, inputs, blocks of inputs and rows of taps.
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
