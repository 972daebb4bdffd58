package ref

// ConvUp is rows x columns pixels, from (y0, x0) on, of a convolution that enlarges x
// [T, H, W, C] twice. Pixel (R, S) of parity p = 2*(R%2) + S%2 reads 2x2 cells of kt
// frames, from row floor((R-1)/2) and column floor((S-1)/2) on, with weight [z, 4, O,
// C, kt, 2, 2]. For each cell inside of x it adds cell [z, 4, 2, 2, O], and bias [z, 4,
// O] once. Frame f becomes z frames from f*z on.
func ConvUp(x []float64, t, h, w, c int, weight, bias, cell []float64, o, kt, z, y0, x0, rows, columns int) []float64 {
	var y []float64
	for f := range t - kt + 1 {
		for iz := range z {
			for r := y0; r < y0+rows; r++ {
				for s := x0; s < x0+columns; s++ {
					p := 4*iz + 2*(r&1) + s&1
					for out := range o {
						sum := bias[p*o+out]
						for i := range 2 {
							for j := range 2 {
								yy, xx := (r-1)>>1+i, (s-1)>>1+j
								if yy < 0 || yy >= h || xx < 0 || xx >= w {
									continue
								}
								sum += cell[((p*2+i)*2+j)*o+out]
								for k := range kt {
									for ch := range c {
										sum += weight[((((p*o+out)*c+ch)*kt+k)*2+i)*2+j] * x[(((f+k)*h+yy)*w+xx)*c+ch]
									}
								}
							}
						}
						y = append(y, sum)
					}
				}
			}
		}
	}
	return y
}

// FoldUp is the weight [4, O, I, 2, 2] of ConvUp for a 3x3 convolution [O, C, 3, 3] of
// frames whose pixel (R, S) is the matrix shuffle[R%2, S%2] of [2, 2, C, I] times cell
// (R/2, S/2).
func FoldUp(weight, shuffle []float64, o, c, in int) []float64 {
	y := make([]float64, 4*o*in*4)
	for p := range 4 {
		for i := range 3 {
			for j := range 3 {
				r, s := p/2+i-1, p%2+j-1              // upsampled, relative to the first row and column of the pixel's cell
				row, column := r>>1, s>>1             // cells, relative to the pixel's
				row, column = row+1-p/2, column+1-p%2 // within the 2x2 cells
				for out := range o {
					for from := range in {
						for ch := range c {
							y[(((p*o+out)*in+from)*2+row)*2+column] += weight[((out*c+ch)*3+i)*3+j] * shuffle[((r&1*2+s&1)*c+ch)*in+from]
						}
					}
				}
			}
		}
	}
	return y
}
