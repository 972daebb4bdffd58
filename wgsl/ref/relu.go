package ref

// ReLU is x with 0 in place of what is below it.
func ReLU(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = max(v, 0)
	}
	return y
}
