package ref

import "math"

// ToRGBA8 is the rectangle [h, w] at (y0, x0) of frames x [T, H, W, 3] in [-1, 1], as r
// | g<<8 | b<<16 | 255<<24 with levels rounded half up. A pixel with a NaN or an
// infinity is 0.
func ToRGBA8(x []float64, T, H, W, y0, x0, h, w int) []uint32 {
	level := func(v float64) uint32 {
		return uint32(math.Floor(min(max(v/2+0.5, 0), 1)*255 + 0.5))
	}
	out := make([]uint32, 0, T*h*w)
	for t := range T {
		for y := y0; y < y0+h; y++ {
			for c := x0; c < x0+w; c++ {
				v := x[((t*H+y)*W+c)*3:]
				if sum := v[0] + v[1] + v[2]; sum-sum != 0 {
					out = append(out, 0)
					continue
				}
				out = append(out, level(v[0])|level(v[1])<<8|level(v[2])<<16|255<<24)
			}
		}
	}
	return out
}
