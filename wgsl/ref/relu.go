package ref

// LeakyReLU is x, with negative numbers divided by five.
func LeakyReLU(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = max(v, 0.2*v)
	}
	return y
}

// ReLU is x, with negative numbers replaced by 0.
func ReLU(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = max(v, 0)
	}
	return y
}
