//go:build !js

package media

import (
	"fmt"
	"math"
	"slices"

	"tessera/latent"
)

// unevenText describes how far frames at the given ordered times are from even ones; ""
// if they are even, up to rounding to milliseconds.
func unevenText(times []float64, rate latent.Rational) string {
	least, most := gaps(times)
	if least <= 0 || !uneven(least, most) {
		return ""
	}
	off := 0.0
	for i, t := range times {
		off = max(off, math.Abs(t-times[0]-float64(i)/rate.Float()))
	}
	return fmt.Sprintf("frames are %.0f to %.0f ms apart: read as %.4g ms apart (%s frames/s), which moves them by up to %.2g s",
		1000*least, 1000*most, 1000/rate.Float(), rate, off)
}

// gaps returns the smallest and the largest distance of consecutive times.
func gaps(times []float64) (least, most float64) {
	all := make([]float64, len(times)-1)
	for i := range all {
		all[i] = times[i+1] - times[i]
	}
	return slices.Min(all), slices.Max(all)
}

// uneven reports whether distances differ by more than rounding to milliseconds explains.
func uneven(least, most float64) bool { return most > 1.1*least+0.002 }

// simplest returns the rate with the smallest denominator from low to high, with 0 < low
// < high.
func simplest(low, high float64) latent.Rational {
	// It walks down the tree of fractions (Stern and Brocot), several steps at a time.
	whole := math.Floor(low)
	if whole+1 <= high || low == whole {
		if low > whole {
			whole++
		}
		return latent.Rational{Num: int(whole), Den: 1}
	}
	rest := simplest(1/(high-whole), 1/(low-whole))
	return latent.Rational{Num: int(whole)*rest.Num + rest.Den, Den: rest.Num}
}
