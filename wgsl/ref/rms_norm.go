package ref

import "math"

// RMSNorm divides each of P pixels [P, C] by its length over the channels, at least
// 1e-12, and multiplies it by sqrt(C) and gamma, followed by SiLU if silu is set. eps
// is added to the mean of squares.
func RMSNorm(x []float64, P, C int, gamma []float64, eps float64, silu bool) []float64 {
	y := make([]float64, P*C)
	for p := range P {
		length := math.Sqrt(float64(C) * eps)
		for _, v := range x[p*C : (p+1)*C] {
			length = math.Hypot(length, v)
		}
		for c := range C {
			v := x[p*C+c] / max(length, 1e-12) * math.Sqrt(float64(C)) * gamma[c]
			if silu {
				v /= 1 + math.Exp(-v)
			}
			y[p*C+c] = v
		}
	}
	return y
}
