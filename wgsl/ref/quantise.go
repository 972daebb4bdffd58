package ref

import "math"

// Quantise converts rows x [rows, W, C] to 8 bits: q = floor(127 x / m + 1/2), where m
// [rows, C] is the largest |x| of a channel in each row. If m is less than 1e-30, q is
// 0.
func Quantise(x []float64, rows, W, C int) (q []int8, m []float64) {
	q, m = make([]int8, rows*W*C), make([]float64, rows*C)
	for row := range rows {
		for c := range C {
			most := 0.0
			for w := range W {
				most = math.Max(most, math.Abs(x[(row*W+w)*C+c]))
			}
			m[row*C+c] = most
			if most < 1e-30 {
				continue
			}
			for w := range W {
				at := (row*W+w)*C + c
				q[at] = int8(math.Floor(127*x[at]/most + 0.5))
			}
		}
	}
	return q, m
}

// Dequantise is the values of q: q m / 127.
func Dequantise(q []int8, m []float64, rows, W, C int) []float64 {
	x := make([]float64, rows*W*C)
	for i := range x {
		x[i] = float64(q[i]) * m[i/(W*C)*C+i%C] / 127
	}
	return x
}
