package ref

// FeatherBlend adds wy*wx*tile to a canvas [T, H, W, C] at (y0, x0). It takes the first
// len(wy) rows and len(wx) columns of the tile [T, tileH, tileW, C].
func FeatherBlend(canvas []float64, T, H, W, C int, tile []float64, tileH, tileW int, wy, wx []float64, y0, x0 int) {
	for t := range T {
		for y := range wy {
			for x := range wx {
				for c := range C {
					canvas[((t*H+y0+y)*W+x0+x)*C+c] += wy[y] * wx[x] * tile[((t*tileH+y)*tileW+x)*C+c]
				}
			}
		}
	}
}

// FeatherNormalise is a canvas [T, P, C] divided by count [P], at least 1e-6.
func FeatherNormalise(canvas []float64, T, P, C int, count []float64) []float64 {
	y := make([]float64, len(canvas))
	for i, v := range canvas {
		y[i] = v / max(count[i/C%P], 1e-6)
	}
	return y
}
