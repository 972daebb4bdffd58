// Package ref contains the float64 references of the operations in wgsl, written for
// clarity, on plain slices without padding of channels. Tests compare a kernel with the
// function of the same name:
//
//	want := ref.Conv3D(x, t, h, w, c, weight, bias, o, kt, ks, step, stride)
package ref

// Conv3D is a convolution of x [T, H, W, C] with weight [O, C, KT, KS, KS] and bias
// [O], at all positions where every tap is inside of x: the caller pads x. y is
// [(T-KT)/step+1, (H-KS)/stride+1, (W-KS)/stride+1, O].
func Conv3D(x []float64, t, h, w, c int, weight, bias []float64, o, kt, ks, step, stride int) []float64 {
	frames, rows, columns := (t-kt)/step+1, (h-ks)/stride+1, (w-ks)/stride+1
	y := make([]float64, 0, frames*rows*columns*o)
	for f := range frames {
		for r := range rows {
			for s := range columns {
				for out := range o {
					sum := bias[out]
					for k := range kt {
						for i := range ks {
							for j := range ks {
								pixel := x[(((f*step+k)*h+r*stride+i)*w+s*stride+j)*c:]
								for ch := range c {
									sum += weight[(((out*c+ch)*kt+k)*ks+i)*ks+j] * pixel[ch]
								}
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

// Window is rows x columns pixels of every frame of x [T, H, W, C], from row y0 and
// column x0 on, with zeros outside of x.
func Window(x []float64, t, h, w, c, y0, x0, rows, columns int) []float64 {
	y := make([]float64, t*rows*columns*c)
	for f := range t {
		for r := range rows {
			for s := range columns {
				if yy, xx := y0+r, x0+s; yy >= 0 && yy < h && xx >= 0 && xx < w {
					copy(y[((f*rows+r)*columns+s)*c:][:c], x[((f*h+yy)*w+xx)*c:])
				}
			}
		}
	}
	return y
}

// Enlarge repeats every pixel of x [T, H, W, C] twice in both directions:
// y[t, r, s] = x[t, r/2, s/2].
func Enlarge(x []float64, t, h, w, c int) []float64 {
	y := make([]float64, 0, 4*len(x))
	for f := range t {
		for r := range 2 * h {
			for s := range 2 * w {
				y = append(y, x[((f*h+r/2)*w+s/2)*c:][:c]...)
			}
		}
	}
	return y
}

// Interleave splits each frame of u [T, P, 2*C] into two, channels 0 to C-1 first.
func Interleave(u []float64, t, p, c int) []float64 {
	y := make([]float64, 0, len(u))
	for f := range 2 * t {
		for i := range p {
			y = append(y, u[((f/2*p+i)*2+f%2)*c:][:c]...)
		}
	}
	return y
}

// PixelShuffle3D moves channels of u [T, H, W, 4*z*C] into pixels and frames: y[z*f+iz,
// 2r+ix, 2s+iy, c] = u[f, r, s, ((ix*2+iy)*z+iz)*C + c]. With head, it drops the second
// frame made of frame 0.
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
