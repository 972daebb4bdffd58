package ref

// DupUp3D is the parameter-free upsampling of x [T, H, W, in] to [ft*T, fs*H, fs*W,
// out]: it repeats each channel out*ft*fs*fs/in times, and moves every ft*fs*fs of the
// resulting channels into a block of frames, rows and columns.
func DupUp3D(x []float64, T, H, W, in, out, ft, fs int) []float64 {
	rep := out * ft * fs * fs / in
	y := make([]float64, ft*T*fs*H*fs*W*out)
	for p := range T * H * W {
		t, h, w := p/(H*W), p/W%H, p%W
		var channels []float64
		for c := range in {
			for range rep {
				channels = append(channels, x[p*in+c])
			}
		}
		for o := range out {
			for dt := range ft {
				for dh := range fs {
					for dw := range fs {
						y[(((ft*t+dt)*fs*H+fs*h+dh)*fs*W+fs*w+dw)*out+o] = channels[0]
						channels = channels[1:]
					}
				}
			}
		}
	}
	return y
}

// Shuffle3D moves the channels of x [T, H, W, in] into blocks of ft frames and fs x fs
// pixels with n = in/(ft*fs*fs) channels, channel slowest. Output channel o is number
// o%n of those.
func Shuffle3D(x []float64, T, H, W, in, out, ft, fs int) []float64 {
	n := in / (ft * fs * fs)
	var y []float64
	for t := range ft * T {
		for r := range fs * H {
			for s := range fs * W {
				pixel := x[((t/ft*H+r/fs)*W+s/fs)*in:]
				for o := range out {
					y = append(y, pixel[((o%n*ft+t%ft)*fs+r%fs)*fs+s%fs])
				}
			}
		}
	}
	return y
}
