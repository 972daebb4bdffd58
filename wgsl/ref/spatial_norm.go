package ref

import "math"

// SpatialNorm is SiLU of v*times + plus. v [T, H, W, C] is normed; times and plus [t,
// h, w, C] are enlarged to its size by nearest neighbour: index i of n becomes i*m/n of
// m. If the number of frames is odd and above 1, the first frame uses the first one of
// times and plus, and the others use the rest (CogVideoXSpatialNorm3D of diffusers).
func SpatialNorm(v []float64, T, H, W, C int, times, plus []float64, t, h, w int) []float64 {
	y := make([]float64, len(v))
	for f := range T {
		from := f * t / T
		if T > 1 && T%2 == 1 {
			from = 0
			if f > 0 {
				from = 1 + (f-1)*(t-1)/(T-1)
			}
		}
		for r := range H {
			for q := range W {
				for c := range C {
					i := ((f*H+r)*W+q)*C + c
					j := ((from*h+r*h/H)*w+q*w/W)*C + c
					x := v[i]*times[j] + plus[j]
					y[i] = x / (1 + math.Exp(-x))
				}
			}
		}
	}
	return y
}
