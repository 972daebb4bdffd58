package ref

// WinogradWeights is a weight [n, 3, size], n for outputs and inputs, transformed for
// F(2,3) in pairs of frames, [n, 4, size]: W0, (W0+W1+W2)/2, (W0-W1+W2)/2, W2.
func WinogradWeights(w []float64, n, size int) []float64 {
	y := make([]float64, 4*n*size)
	for i := range n {
		from, to := w[3*i*size:], y[4*i*size:]
		for j := range size {
			w0, w1, w2 := from[j], from[size+j], from[2*size+j]
			to[j], to[size+j], to[2*size+j], to[3*size+j] = w0, (w0+w1+w2)/2, (w0-w1+w2)/2, w2
		}
	}
	return y
}
