package gputest

import (
	"fmt"
	"math"
)

// loosest is the largest bound that Compare accepts: a looser comparison shows nothing.
const loosest = 1e-4

// NMSE returns sum((got-want)^2) / sum(want^2), or 0 if both are 0.
func NMSE(got, want []float64) float64 {
	num, den := 0.0, 0.0
	for i := range want {
		num += (got[i] - want[i]) * (got[i] - want[i])
		den += want[i] * want[i]
	}
	if num == 0 {
		return 0
	}
	return num / den
}

// Compare describes how got differs from want. NaN, infinities and exact zeros must be
// at the same places, and the NMSE of all other numbers at most bound. A bound of 0
// demands exactly equal values.
func Compare(got, want []float64, bound float64) error {
	if bound > loosest || bound < 0 || math.IsNaN(bound) {
		return fmt.Errorf("bound %g is not in [0, %g]", bound, loosest)
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d numbers, want %d", len(got), len(want))
	}
	var finiteGot, finiteWant []float64
	for i, w := range want {
		g := got[i]
		special := math.IsNaN(w) || math.IsInf(w, 0) || w == 0 || bound == 0
		switch {
		case special && !same(g, w), !special && (math.IsNaN(g) || math.IsInf(g, 0)):
			return fmt.Errorf("first bad index %d: got %g, want %g", i, g, w)
		case !special:
			finiteGot, finiteWant = append(finiteGot, g), append(finiteWant, w)
		}
	}
	nmse := NMSE(finiteGot, finiteWant)
	if nmse <= bound {
		return nil
	}
	i, worst := firstBad(got, want, bound)
	return fmt.Errorf("NMSE %.3g, bound %.3g; largest error %.3g; first bad index %d: got %.9g, want %.9g",
		nmse, bound, worst, i, got[i], want[i])
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// firstBad returns the first index whose error exceeds each number's share of the
// bound, or half of the largest error.
func firstBad(got, want []float64, bound float64) (index int, worst float64) {
	sum := 0.0
	for i, w := range want {
		if !math.IsNaN(w) && !math.IsInf(w, 0) {
			sum += w * w
			worst = max(worst, math.Abs(got[i]-w))
		}
	}
	limit := min(math.Sqrt(bound*sum/float64(len(want))), worst/2)
	for i, w := range want {
		if math.Abs(got[i]-w) > limit {
			return i, worst
		}
	}
	return 0, worst
}
