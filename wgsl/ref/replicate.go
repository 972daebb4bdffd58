package ref

// Replicate is h x w pixels of frames [T, H, W, C] from row y0 and column x0 on. Pixels
// outside are copies of the closest one inside.
func Replicate(x []float64, T, H, W, C, y0, x0, h, w int) []float64 {
	y := make([]float64, 0, T*h*w*C)
	for t := range T {
		for r := range h {
			for s := range w {
				row, column := min(max(y0+r, 0), H-1), min(max(x0+s, 0), W-1)
				y = append(y, x[((t*H+row)*W+column)*C:][:C]...)
			}
		}
	}
	return y
}

// Mirror is frames [T, H, W, C] with one more pixel at each edge: a copy of the one
// next to the edge pixel, or of the only pixel.
func Mirror(x []float64, T, H, W, C int) []float64 {
	inner := func(i, n int) int {
		switch {
		case i < 0:
			return min(1, n-1)
		case i == n:
			return max(n-2, 0)
		}
		return i
	}
	var y []float64
	for t := range T {
		for r := -1; r <= H; r++ {
			for s := -1; s <= W; s++ {
				y = append(y, x[((t*H+inner(r, H))*W+inner(s, W))*C:][:C]...)
			}
		}
	}
	return y
}
