package ref

// Unpatchify moves channels into pixels, "(c r q) h w -> c (h q) (w r)" of
// every frame: x [T, H, W, C*p*p] becomes [T, p*H, p*W, C]. With rows it is
// "(c q r) h w", PyTorch's pixel_shuffle.
func Unpatchify(x []float64, T, H, W, C, p int, rows bool) []float64 {
	y := make([]float64, len(x))
	i := 0
	for t := range T {
		for h := range H {
			for w := range W {
				for c := range C {
					for r := range p {
						for q := range p {
							row, column := q, r
							if rows {
								row, column = r, q
							}
							y[((t*p*H+p*h+row)*p*W+p*w+column)*C+c] = x[i]
							i++
						}
					}
				}
			}
		}
	}
	return y
}
