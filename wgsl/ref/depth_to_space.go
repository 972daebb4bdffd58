package ref

// DepthToSpace is frames [T, H, W, in] as [T*ft, H*fs, W*fs, out]. The phases, ordered
// by time, then rows, then columns, have `stride` channels each; all channels are
// repeated rep times, and each phase keeps the first ones.
func DepthToSpace(x []float64, T, H, W, in, out, ft, fs, stride, rep int) []float64 {
	y := make([]float64, T*ft*H*fs*W*fs*out)
	for p := range T * H * W {
		t, h, w := p/(H*W), p/W%H, p%W
		var all []float64
		for _, v := range x[p*in:][:in] {
			for range rep {
				all = append(all, v)
			}
		}
		for phase := range ft * fs * fs {
			dt, dh, dw := phase/(fs*fs), phase/fs%fs, phase%fs
			at := ((t*ft+dt)*H*fs+h*fs+dh)*W*fs + w*fs + dw
			copy(y[at*out:][:out], all[phase*stride:])
		}
	}
	return y
}
