package ref

// SumTaps is a weight [n, kt, size], n for outputs and inputs, with its first taps
// replaced by their sum: [n, kt-first+1, size].
func SumTaps(w []float64, n, kt, size, first int) []float64 {
	var y []float64
	for i := range n {
		taps := w[i*kt*size:][:kt*size]
		for j := range size {
			sum := 0.0
			for k := range first {
				sum += taps[k*size+j]
			}
			y = append(y, sum)
		}
		y = append(y, taps[first*size:]...)
	}
	return y
}
