package ref

// Pad is frames x [T, H, W, C] with margin pixels around each: the nearest ones again, or
// mirrored at the edge, which itself is not repeated.
func Pad(x []float64, T, H, W, C, margin int, mirror bool) []float64 {
	inner := func(i, n int) int {
		if mirror && i < 0 {
			i = -i
		}
		if mirror && i >= n {
			i = 2*(n-1) - i
		}
		return max(0, min(i, n-1))
	}
	var y []float64
	for t := range T {
		for r := -margin; r < H+margin; r++ {
			for s := -margin; s < W+margin; s++ {
				y = append(y, x[((t*H+inner(r, H))*W+inner(s, W))*C:][:C]...)
			}
		}
	}
	return y
}
