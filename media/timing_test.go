//go:build !js

package media

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"tessera/latent"
)

// TestSimplest compares with a search through all denominators.
func TestSimplest(t *testing.T) {
	for _, c := range [][2]float64{
		{4.9, 5.1}, {5, 5.1}, {4.9, 5}, {0.3, 0.35}, {0.9, 7}, {23.97, 23.98}, {3.1415, 3.1416}, {40 / 8.001, 40 / 7.999}, {29.9695, 29.9705}, {0.0101, 0.0102},
	} {
		var want latent.Rational
		for d := 1.0; !want.Known(); d++ {
			if n := math.Ceil(c[0] * d); n <= c[1]*d {
				want = latent.Rational{Num: int(n), Den: int(d)}
			}
		}
		assert.Equal(t, want, simplest(c[0], c[1]), "%v", c)
	}
}
