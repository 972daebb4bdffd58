package gputest

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"
)

// Format is the storage format of a number.
type Format uint8

const (
	Float32 Format = iota
	Float16
	Uint32
)

// Bytes returns the size of one number.
func (f Format) Bytes() int {
	if f == Float16 {
		return 2
	}
	return 4
}

// Array is the contents of one buffer.
type Array struct {
	Label  string
	Format Format
	Data   []float32 // nil for an output that is fully written
	Len    int       // count of numbers if Data is nil
	Guard  int       // count of NaN guard numbers on each side, which must stay untouched
}

func (a *Array) len() int {
	if a.Data != nil {
		return len(a.Data)
	}
	return a.Len
}

func (a *Array) bytes() int { return (a.len() + 2*a.Guard) * a.Format.Bytes() }

// Bit patterns of guards and of unwritten outputs: NaN both as a half and, in pairs, as
// f32.
const (
	guardBits  = 0x7fed
	poisonBits = 0xfff1
)

// encode returns the array's bytes with guards on both sides.
func (a *Array) encode() []byte {
	out := make([]byte, a.bytes())
	fill(out, guardBits)
	inner := out[a.Guard*a.Format.Bytes():][:a.len()*a.Format.Bytes()]
	if a.Data == nil {
		fill(inner, poisonBits)
		return out
	}
	for i, v := range a.Data {
		switch a.Format {
		case Float32:
			binary.LittleEndian.PutUint32(inner[4*i:], math.Float32bits(v))
		case Float16:
			binary.LittleEndian.PutUint16(inner[2*i:], float16.Fromfloat32(v).Bits())
		case Uint32:
			binary.LittleEndian.PutUint32(inner[4*i:], uint32(v))
		}
	}
	return out
}

// fill fills b with one half.
func fill(b []byte, half uint16) {
	for i := range b {
		b[i] = byte(half >> (8 * (i % 2)))
	}
}

// guarded splits the bytes of encode into the content and the two guards.
func (a *Array) guarded(b []byte) (inner, before, after []byte) {
	g := a.Guard * a.Format.Bytes()
	return b[g : len(b)-g], b[:g], b[len(b)-g:]
}

// decode reads numbers of a format.
func decode(b []byte, f Format) []float64 {
	out := make([]float64, len(b)/f.Bytes())
	for i := range out {
		switch f {
		case Float32:
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		case Float16:
			out[i] = float64(float16.Frombits(binary.LittleEndian.Uint16(b[2*i:])).Float32())
		case Uint32:
			out[i] = float64(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
	return out
}

// Round rounds data to a storage format, as the input for the reference.
func Round(data []float32, f Format) []float32 {
	if f != Float16 {
		return data
	}
	out := make([]float32, len(data))
	for i, v := range data {
		out[i] = float16.Fromfloat32(v).Float32()
	}
	return out
}
