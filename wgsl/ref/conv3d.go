// Package ref holds the float64 references of the operations in wgsl, written
// for clarity, on plain slices without padding.
package ref

// Conv3D is a convolution of x [T, H, W, C], whose T frames are those that the
// temporal taps read in order, with weight [O, C, KT, KS, KS] and bias [O].
// Space is padded with zeros: before rows and columns above and left, as many
// as the taps need below and right. y is [(T-KT)/step+1, H/stride, W/stride, O].
func Conv3D(x []float64, t, h, w, c int, weight, bias []float64, o, kt, ks, step, stride, before int) []float64 {
	frames, rows, columns := (t-kt)/step+1, h/stride, w/stride
	y := make([]float64, frames*rows*columns*o)
	at := 0
	for f := range frames {
		for r := range rows {
			for s := range columns {
				for out := range o {
					sum := bias[out]
					for k := range kt {
						for i := range ks {
							for j := range ks {
								yy, xx := r*stride+i-before, s*stride+j-before
								if yy < 0 || yy >= h || xx < 0 || xx >= w {
									continue
								}
								pixel := x[(((f*step+k)*h+yy)*w+xx)*c:]
								for ch := range c {
									sum += weight[(((out*c+ch)*kt+k)*ks+i)*ks+j] * pixel[ch]
								}
							}
						}
					}
					y[at] = sum
					at++
				}
			}
		}
	}
	return y
}

// PixelShuffle3D moves channels of u [T, H, W, 4*z*C] into pixels and frames:
// y[z*f+iz, 2r+ix, 2s+iy, c] = u[f, r, s, ((ix*2+iy)*z+iz)*C + c]. With head
// the second frame made of frame 0 is dropped.
func PixelShuffle3D(u []float64, t, h, w, c, z int, head bool) []float64 {
	y := make([]float64, z*t*4*h*w*c)
	for f := range t {
		for r := range h {
			for s := range w {
				pixel := u[((f*h+r)*w+s)*4*z*c:]
				for ix := range 2 {
					for iy := range 2 {
						for iz := range z {
							to := (((z*f+iz)*2*h+2*r+ix)*2*w + 2*s + iy) * c
							copy(y[to:to+c], pixel[((ix*2+iy)*z+iz)*c:])
						}
					}
				}
			}
		}
	}
	if head && z == 2 {
		frame := 4 * h * w * c
		y = append(y[:frame:frame], y[2*frame:]...)
	}
	return y
}
