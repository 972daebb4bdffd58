package ref

// Fade is a*(1-weight) + b*weight.
func Fade(a, b []float64, weight float64) []float64 {
	y := make([]float64, len(a))
	for i := range y {
		y[i] = a[i]*(1-weight) + b[i]*weight
	}
	return y
}
