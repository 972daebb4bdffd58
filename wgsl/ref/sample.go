package ref

import "math"

// Sample is the latent [P, Z] of moments [P, 2*Z], mean then log-variance: mean +
// exp(logvar/2)*noise with logvar clamped to [-30, 20].
func Sample(moments, noise []float64, P, Z int) []float64 {
	z := make([]float64, P*Z)
	for p := range P {
		for c := range Z {
			logvar := min(max(moments[p*2*Z+Z+c], -30), 20)
			z[p*Z+c] = moments[p*2*Z+c] + math.Exp(logvar/2)*noise[p*Z+c]
		}
	}
	return z
}
