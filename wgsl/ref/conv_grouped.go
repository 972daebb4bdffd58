package ref

// ConvGrouped is Conv3D of separate frames in groups: x [T, H, W, C], weight [C, G, KS,
// KS] and bias [C]; each output reads only the G inputs of its group. y is [T, H-KS+1,
// W-KS+1, C]: the caller pads x.
func ConvGrouped(x []float64, t, h, w, c int, weight, bias []float64, g, ks int) []float64 {
	var y []float64
	for f := range t {
		for r := range h - ks + 1 {
			for s := range w - ks + 1 {
				for o := range c {
					sum := bias[o]
					for i := range ks {
						for j := range ks {
							for k := range g {
								sum += weight[((o*g+k)*ks+i)*ks+j] * x[((f*h+r+i)*w+s+j)*c+o/g*g+k]
							}
						}
					}
					y = append(y, sum)
				}
			}
		}
	}
	return y
}
