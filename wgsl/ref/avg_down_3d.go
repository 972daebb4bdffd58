package ref

// AvgDown3D is the parameter-free downsampling of a whole clip x [T, H, W, in] to
// [ceil(T/ft), H/fs, W/fs, out]. It prepends zero frames, or copies of the first one if
// repeat is set, up to a multiple of ft; moves every ft x fs x fs block into the
// channels; and takes means of g = in*ft*fs*fs/out consecutive ones.
func AvgDown3D(x []float64, T, H, W, in, out, ft, fs int, repeat bool) []float64 {
	front := (ft - T%ft) % ft
	g := in * ft * fs * fs / out
	var y []float64
	for t := range (front + T) / ft {
		for r := range H / fs {
			for s := range W / fs {
				var block []float64
				for c := range in {
					for dt := range ft {
						for dh := range fs {
							for dw := range fs {
								frame := ft*t + dt - front
								if repeat {
									frame = max(frame, 0)
								}
								if frame < 0 {
									block = append(block, 0)
									continue
								}
								block = append(block, x[((frame*H+fs*r+dh)*W+fs*s+dw)*in+c])
							}
						}
					}
				}
				for o := range out {
					sum := 0.0
					for _, v := range block[o*g : (o+1)*g] {
						sum += v
					}
					y = append(y, sum/float64(g))
				}
			}
		}
	}
	return y
}
