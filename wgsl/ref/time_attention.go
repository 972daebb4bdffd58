package ref

import "math"

// TimeAttention is softmax(q k^T / sqrt(D)) v over the frames up to the query's, for
// each of N pixels and each head of D = C/heads channels. qkv is [T, N, 3*C]: query,
// key and value of a pixel. With unit, queries and keys are divided by their lengths,
// at least 1e-5. The result is [T, N, C].
func TimeAttention(qkv []float64, T, N, C, heads int, unit bool) []float64 {
	o := make([]float64, T*N*C)
	D := C / heads
	for n := range N {
		for h := range heads {
			vector := func(t, part int) []float64 {
				v := append([]float64(nil), qkv[((t*N+n)*3+part)*C+h*D:][:D]...)
				if !unit || part == 2 {
					return v
				}
				length := 0.0
				for _, x := range v {
					length += x * x
				}
				for i := range v {
					v[i] /= max(math.Sqrt(length), 1e-5)
				}
				return v
			}
			for t := range T {
				scores, largest := make([]float64, t+1), math.Inf(-1)
				for s := range scores {
					for i, k := range vector(s, 1) {
						scores[s] += vector(t, 0)[i] * k / math.Sqrt(float64(D))
					}
					largest = max(largest, scores[s])
				}
				sum := 0.0
				for s := range scores {
					scores[s] = math.Exp(scores[s] - largest)
					sum += scores[s]
				}
				for s, w := range scores {
					for i, v := range vector(s, 2) {
						o[(t*N+n)*C+h*D+i] += w / sum * v
					}
				}
			}
		}
	}
	return o
}
