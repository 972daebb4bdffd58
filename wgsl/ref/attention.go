package ref

import "math"

// Attention is softmax(q k^T / sqrt(C)) v for each of T frames of N tokens. qkv is [T,
// N, 3*C]: query, key and value of a token. With past, a frame's tokens also attend to
// those of earlier frames. The result is [T, N, C].
func Attention(qkv []float64, T, N, C int, past bool) []float64 {
	o := make([]float64, T*N*C)
	weights := make([]float64, T*N)
	for t := range T {
		from := t * N
		if past {
			from = 0
		}
		token := func(n, part int) []float64 { return qkv[(n*3+part)*C:][:C] }
		for i := t * N; i < (t+1)*N; i++ {
			q := token(i, 0)
			largest := math.Inf(-1)
			for j := from; j < (t+1)*N; j++ {
				dot := 0.0
				for c, k := range token(j, 1) {
					dot += q[c] * k
				}
				weights[j] = dot / math.Sqrt(float64(C))
				largest = max(largest, weights[j])
			}
			sum := 0.0
			for j := from; j < (t+1)*N; j++ {
				weights[j] = math.Exp(weights[j] - largest)
				sum += weights[j]
			}
			out := o[i*C:][:C]
			for j := from; j < (t+1)*N; j++ {
				for c, v := range token(j, 2) {
					out[c] += weights[j] / sum * v
				}
			}
		}
	}
	return o
}
