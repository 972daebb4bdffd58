package ref

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two rows of three pixels of two channels. By hand: the first channel's largest is
// 254, so a step is 2, and three and a half steps round up; the second's is 127, a step
// of 1, and -0.5 rounds up to 0. The second row has other scales, one of which is zero.
func TestQuantise(t *testing.T) {
	x := []float64{254, -127, 7, -0.5, -254, 0.49, 1, 0, -1, 0, 0.5, 0}
	q, m := Quantise(x, 2, 3, 2)
	require.Equal(t, []float64{254, 127, 1, 0}, m)
	require.Equal(t, []int8{127, -127, 4, 0, -127, 0, 127, 0, -127, 0, 64, 0}, q)
	near(t, Dequantise(q, m, 2, 3, 2), []float64{254, -127, 8, 0, -254, 0, 1, 0, -1, 0, 64. / 127, 0})
	_, m = Quantise([]float64{1e-31}, 1, 1, 1)
	require.Equal(t, []float64{1e-31}, m)
}
