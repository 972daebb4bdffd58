package ref

// LeakyReLU is x with a fifth of what is below zero.
func LeakyReLU(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = max(v, 0.2*v)
	}
	return y
}

// ReLU is x with 0 in place of what is below it.
func ReLU(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = max(v, 0)
	}
	return y
}
