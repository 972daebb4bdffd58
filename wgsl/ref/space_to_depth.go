package ref

// SpaceToDepth is frames [T*ft, H*fs, W*fs, in] as [T, H, W, out]. Each output is the
// mean of g consecutive numbers of its block, channel fastest; the sequence repeats to
// fill all outputs.
func SpaceToDepth(x []float64, T, H, W, in, out, ft, fs, g int) []float64 {
	var y []float64
	for p := range T * H * W {
		t, h, w := p/(H*W), p/W%H, p%W
		var all []float64
		for dt := range ft {
			for dh := range fs {
				for dw := range fs {
					at := ((t*ft+dt)*H*fs+h*fs+dh)*W*fs + w*fs + dw
					all = append(all, x[at*in:][:in]...)
				}
			}
		}
		for o := range out {
			sum := 0.0
			for i := range g {
				sum += all[(o*g+i)%len(all)]
			}
			y = append(y, sum/float64(g))
		}
	}
	return y
}
