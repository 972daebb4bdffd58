package ref

import "math"

// GroupNorm is the group norm of separate frames [T, P, C]: for every group of C/groups
// channels (x-mean)/sqrt(variance+eps)*gamma + beta with the biased variance, followed
// by SiLU if silu is set.
func GroupNorm(x []float64, T, P, C, groups int, gamma, beta []float64, eps float64, silu bool) []float64 {
	y := make([]float64, len(x))
	size := C / groups
	for t := range T {
		for g := range groups {
			sum := 0.0
			for p := range P {
				for c := g * size; c < (g+1)*size; c++ {
					sum += x[(t*P+p)*C+c]
				}
			}
			mean := sum / float64(P*size)
			squares := 0.0
			for p := range P {
				for c := g * size; c < (g+1)*size; c++ {
					d := x[(t*P+p)*C+c] - mean
					squares += d * d
				}
			}
			inverse := 1 / math.Sqrt(squares/float64(P*size)+eps)
			for p := range P {
				for c := g * size; c < (g+1)*size; c++ {
					i := (t*P+p)*C + c
					y[i] = (x[i]-mean)*inverse*gamma[c] + beta[c]
					if silu {
						y[i] /= 1 + math.Exp(-y[i])
					}
				}
			}
		}
	}
	return y
}
