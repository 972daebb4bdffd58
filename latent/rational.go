package latent

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rational is a frame rate in frames per second, such as 30000/1001, Num frames
// in Den seconds. The zero value is an unknown rate.
type Rational struct{ Num, Den int }

// Known reports whether r is a usable rate.
func (r Rational) Known() bool { return r.Num > 0 && r.Den > 0 }

// Float returns the rate in frames per second, 0 if unknown.
func (r Rational) Float() float64 {
	if !r.Known() {
		return 0
	}
	return float64(r.Num) / float64(r.Den)
}

// String returns "30000/1001", "25" or, if unknown, "".
func (r Rational) String() string {
	switch {
	case !r.Known():
		return ""
	case r.Den == 1:
		return strconv.Itoa(r.Num)
	}
	return fmt.Sprintf("%d/%d", r.Num, r.Den)
}

// ParseRational reads "25", "30000/1001", "30000:1001" or "23.976", and returns lowest
// terms. A decimal within 0.001 of N·1000/1001 becomes that fraction. Anything but a
// positive number is an error.
func ParseRational(s string) (Rational, error) {
	bad := fmt.Errorf("frame rate %.80q, expected a number or a fraction such as 30000/1001", s)
	num, den, fraction := strings.Cut(strings.Replace(s, ":", "/", 1), "/")
	if fraction {
		n, err1 := strconv.Atoi(num)
		d, err2 := strconv.Atoi(den)
		if r := (Rational{n, d}); err1 == nil && err2 == nil && r.Known() {
			return r.reduced(), nil
		}
		return Rational{}, bad
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0 && v < 1e6) {
		return Rational{}, bad
	}
	if whole := math.Round(v); whole == v {
		return Rational{int(whole), 1}, nil
	}
	if ntsc := math.Ceil(v); math.Abs(ntsc*1000/1001-v) < 1e-3 {
		return Rational{int(ntsc) * 1000, 1001}, nil
	}
	return Rational{max(1, int(math.Round(v*1000))), 1000}.reduced(), nil
}

func (r Rational) reduced() Rational {
	a, b := r.Num, r.Den
	for b != 0 {
		a, b = b, a%b
	}
	return Rational{r.Num / a, r.Den / a}
}
