package wgsl

// Shape of a convolution's weight, [O, I, KT, KS, KS].
type Shape struct{ O, I, KT, KS int }

// Packed counts the elements PackConv writes.
func (s Shape) Packed() int {
	return (s.O + 7) / 8 * s.KT * s.KS * s.KS * Pad4(s.I) * 8
}

// PackConv lays a weight out for the convolution kernels,
// [O/8, KT, KS, I/4, KS, 4, 8], from src in PyTorch's order [O, I, KT, KS, KS].
// Output channel o is row order(o) of src, or zero where that is negative; nil
// is the identity. dst has Packed() elements, zeroed.
func PackConv[E float32 | uint16](dst, src []E, s Shape, order func(o int) int) {
	in4 := Pad4(s.I) / 4
	taps := s.KT * s.KS * s.KS
	for o := range s.O {
		from := o
		if order != nil {
			from = order(o)
		}
		if from < 0 {
			continue
		}
		for i := range s.I {
			row := src[(from*s.I+i)*taps:][:taps]
			for k := range s.KT {
				for y := range s.KS {
					for x := range s.KS {
						at := ((o/8*s.KT+k)*s.KS+y)*in4 + i/4
						at = (at*s.KS+x)*32 + i%4*8 + o%8
						dst[at] = row[(k*s.KS+y)*s.KS+x]
					}
				}
			}
		}
	}
}
