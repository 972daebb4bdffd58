package safetensors

import (
	"fmt"
	"math"
	"math/bits"

	"tessera/format/quote"
)

// DType is the element type, spelled as in the header.
type DType string

// The element types of the format.
const (
	BOOL       DType = "BOOL"
	F4         DType = "F4"
	F6E2M3     DType = "F6_E2M3"
	F6E3M2     DType = "F6_E3M2"
	U8         DType = "U8"
	I8         DType = "I8"
	F8E5M2     DType = "F8_E5M2"
	F8E4M3     DType = "F8_E4M3"
	F8E8M0     DType = "F8_E8M0"
	F8E4M3FNUZ DType = "F8_E4M3FNUZ"
	F8E5M2FNUZ DType = "F8_E5M2FNUZ"
	I16        DType = "I16"
	U16        DType = "U16"
	F16        DType = "F16"
	BF16       DType = "BF16"
	I32        DType = "I32"
	U32        DType = "U32"
	F32        DType = "F32"
	C64        DType = "C64"
	I64        DType = "I64"
	U64        DType = "U64"
	F64        DType = "F64"
)

// Bits returns the size of one element, 0 for an unknown type.
func (d DType) Bits() int {
	switch d {
	case F4:
		return 4
	case F6E2M3, F6E3M2:
		return 6
	case BOOL, U8, I8, F8E5M2, F8E4M3, F8E8M0, F8E4M3FNUZ, F8E5M2FNUZ:
		return 8
	case I16, U16, F16, BF16:
		return 16
	case I32, U32, F32:
		return 32
	case C64, I64, U64, F64:
		return 64
	}
	return 0
}

// Float reports whether ReadF32 and WriteF32 convert the type.
func (d DType) Float() bool {
	return d == F16 || d == BF16 || d == F32 || d == F64
}

// extent returns the number of elements of shape and their bytes. It multiplies in the
// order of the format's own library, so it also refuses an overflow before a zero
// dimension.
func extent(d DType, shape []int) (elements, bytes int64, err error) {
	size := d.Bits()
	if size == 0 {
		return 0, 0, fmt.Errorf("dtype %s is unknown, expected one such as F16, BF16, F32 or F64", quote.Name(string(d)))
	}
	n := uint64(1)
	for _, dim := range shape {
		if dim < 0 {
			return 0, 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		high, low := bits.Mul64(n, uint64(dim))
		if high != 0 {
			return 0, 0, fmt.Errorf("shape %v has more than 2^64 elements", shape)
		}
		n = low
	}
	high, total := bits.Mul64(n, uint64(size))
	if high != 0 || total > math.MaxInt64 {
		return 0, 0, fmt.Errorf("shape %v of %s is beyond 2^63 bits", shape, d)
	}
	if total%8 != 0 {
		return 0, 0, fmt.Errorf("shape %v of %s is %d bits, expected whole bytes", shape, d, total)
	}
	return int64(n), int64(total / 8), nil
}
