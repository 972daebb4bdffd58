package safetensors

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/x448/float16"

	"tessera/format/quote"
)

// chunk is how many elements are decoded at a time.
const chunk = 16 << 10

// Tensor is one tensor of an open file. Shape belongs to the file: do not
// change it. A rank of 0 is a single element.
type Tensor struct {
	Name  string
	DType DType
	Shape []int

	where    string // start of errors
	source   io.ReaderAt
	offset   int64 // in source
	elements int64
	bytes    int64
}

// NewTensor returns a tensor of a file in another format, with data as in this format:
// row-major and little-endian, from offset of r on. where begins the errors of reading
// it, such as "pth: model.pth". The caller must check that r contains the data.
func NewTensor(where, name string, d DType, shape []int, r io.ReaderAt, offset int64) (Tensor, error) {
	t := Tensor{Name: name, DType: d, Shape: shape, where: where, source: r, offset: offset}
	var err error
	if t.elements, t.bytes, err = extent(d, shape); err != nil {
		return Tensor{}, err
	}
	if offset < 0 || t.bytes > math.MaxInt64-offset {
		return Tensor{}, fmt.Errorf("%d bytes at offset %d, expected both within 2^63", t.bytes, offset)
	}
	return t, nil
}

// Elements returns the product of the shape.
func (t Tensor) Elements() int { return int(t.elements) }

// Bytes returns the size of the data in the file.
func (t Tensor) Bytes() int64 { return t.bytes }

// ReadRaw fills dst with the tensor's bytes, little-endian as in the file,
// from the byte offset on.
func (t Tensor) ReadRaw(dst []byte, offset int64) error {
	if offset < 0 || offset > t.Bytes() || int64(len(dst)) > t.Bytes()-offset {
		return t.errorf("bytes %d to %d requested, it has %d", offset, offset+int64(len(dst)), t.Bytes())
	}
	if len(dst) == 0 {
		return nil
	}
	if err := readFull(t.source, dst, t.offset+offset); err != nil {
		return t.errorf("%w", err)
	}
	return nil
}

// ReadF32 fills dst with the elements from start on, row-major, converted from F16, BF16,
// F32 or F64. It uses a small buffer, so any part of a large tensor can be read without
// the rest.
func (t Tensor) ReadF32(dst []float32, start int) error {
	if !t.DType.Float() {
		return t.errorf("dtype is %s, expected F16, BF16, F32 or F64", t.DType)
	}
	if start < 0 || start > t.Elements() || len(dst) > t.Elements()-start {
		return t.errorf("elements %d to %d requested, it has %d", start, start+len(dst), t.Elements())
	}
	size := t.DType.Bits() / 8
	buffer := make([]byte, min(chunk, len(dst))*size)
	for len(dst) > 0 {
		n := min(chunk, len(dst))
		if err := t.ReadRaw(buffer[:n*size], int64(start)*int64(size)); err != nil {
			return err
		}
		decode(dst[:n], buffer, t.DType)
		dst, start = dst[n:], start+n
	}
	return nil
}

func (t Tensor) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: tensor %s: "+format, append([]any{t.where, quote.Name(t.Name)}, args...)...)
}

// decode converts len(dst) elements of src. It combines bytes without encoding/binary,
// because calls in this package are not inlined in the page's engine.
func decode(dst []float32, src []byte, d DType) {
	switch d {
	case F16:
		for i := range dst {
			at := src[2*i:][:2]
			dst[i] = float16.Frombits(uint16(at[0]) | uint16(at[1])<<8).Float32()
		}
	case BF16:
		for i := range dst {
			at := src[2*i:][:2]
			dst[i] = math.Float32frombits(uint32(at[0])<<16 | uint32(at[1])<<24)
		}
	case F32:
		for i := range dst {
			at := src[4*i:][:4]
			dst[i] = math.Float32frombits(uint32(at[0]) | uint32(at[1])<<8 | uint32(at[2])<<16 | uint32(at[3])<<24)
		}
	case F64:
		for i := range dst {
			dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
		}
	default:
		panic("safetensors: decode of " + string(d))
	}
}

// encode is the inverse of decode; it rounds to nearest even.
func encode(dst []byte, src []float32, d DType) {
	switch d {
	case F16:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], float16.Fromfloat32(v).Bits())
		}
	case BF16:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], bfloat16(v))
		}
	case F32:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	case F64:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(float64(v)))
		}
	default:
		panic("safetensors: encode of " + string(d))
	}
}

func bfloat16(v float32) uint16 {
	b := math.Float32bits(v)
	if v != v {
		return uint16(b>>16) | 0x40 // keep a NaN a NaN when its low bits are dropped
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
