package ref

import "math"

// Sample is the latent [P, Z] of moments [P, 2*Z], mean then log-variance:
// mean + exp(logvar/2)*noise with logvar clamped to [-30, 20], or the mean
// alone where noise is nil.
func Sample(moments, noise []float64, P, Z int) []float64 {
	z := make([]float64, P*Z)
	for p := range P {
		for c := range Z {
			v := moments[p*2*Z+c]
			if noise != nil {
				logvar := min(max(moments[p*2*Z+Z+c], -30), 20)
				v += math.Exp(logvar/2) * noise[p*Z+c]
			}
			z[p*Z+c] = v
		}
	}
	return z
}
