//go:build !js

package quantised

import (
	"math"
	"sync"
)

// The values of 8-bit floats by their codes: OCP 8-bit Floating Point Specification 1.0,
// section 5. E4M3 has no infinity and one NaN per sign; E5M2 follows IEEE 754.
var (
	e4m3 = sync.OnceValue(func() *[256]float32 { return float8(4, false) })
	e5m2 = sync.OnceValue(func() *[256]float32 { return float8(5, true) })
)

// float8 returns the table of a float with the given exponent bits. With ieee the largest
// exponent means infinity and NaN.
func float8(exponent int, ieee bool) *[256]float32 {
	var table [256]float32
	mantissa := 7 - exponent
	bias, last := 1<<(exponent-1)-1, 1<<exponent-1
	for code := range 128 {
		e, m := code>>mantissa, code&(1<<mantissa-1)
		fraction := float64(m) / float64(int(1)<<mantissa)
		v := math.Ldexp(1+fraction, e-bias)
		switch {
		case e == 0:
			v = math.Ldexp(fraction, 1-bias)
		case ieee && e == last && m == 0:
			v = math.Inf(1)
		case ieee && e == last, !ieee && code == 127:
			v = math.NaN()
		}
		table[code], table[code|128] = float32(v), float32(math.Copysign(v, -1))
	}
	return &table
}

// int8s returns the values of two's complement.
var int8s = sync.OnceValue(func() *[256]float32 {
	var table [256]float32
	for code := range table {
		table[code] = float32(int8(code))
	}
	return &table
})
