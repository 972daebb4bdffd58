package ref

import "math"

// Attention is softmax(q k^T / sqrt(C)) v for every one of T frames of N
// tokens. qkv is [T, N, 3*C]: query, key and value of a token. The result is
// [T, N, C].
func Attention(qkv []float64, T, N, C int) []float64 {
	o := make([]float64, T*N*C)
	weights := make([]float64, N)
	for t := range T {
		token := func(n, part int) []float64 { return qkv[((t*N+n)*3+part)*C:][:C] }
		for i := range N {
			q := token(i, 0)
			largest := math.Inf(-1)
			for j := range N {
				dot := 0.0
				for c, k := range token(j, 1) {
					dot += q[c] * k
				}
				weights[j] = dot / math.Sqrt(float64(C))
				largest = max(largest, weights[j])
			}
			sum := 0.0
			for j := range N {
				weights[j] = math.Exp(weights[j] - largest)
				sum += weights[j]
			}
			out := o[(t*N+i)*C:][:C]
			for j := range N {
				for c, v := range token(j, 2) {
					out[c] += weights[j] / sum * v
				}
			}
		}
	}
	return o
}
