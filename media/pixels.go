package media

// byteFloat converts an 8-bit code to a pixel value: 0 is -1, 255 is 1.
func byteFloat(v byte) float32 { return float32(v)/127.5 - 1 }

// wordFloat converts a 16-bit code: 0 is -1, 65535 is 1.
func wordFloat(v uint16) float32 { return float32(float64(v)/32767.5 - 1) }

// floatByte rounds a pixel value to the nearest of 256 codes. Values outside
// [-1,1] are clamped.
func floatByte(v float32) byte {
	v = float32(v*127.5) + 127.5 // the conversion prevents a fused multiply-add: one result everywhere
	if v <= 0 {
		return 0
	}
	if v >= 255 {
		return 255
	}
	return byte(v + 0.5)
}

// ToRGBA converts the frame src, [H,W,channels] in [-1,1], to 8-bit pixels dst, [H,W,4],
// opaque if channels is 3. It clamps and rounds to the nearest code. channels is 3 or 4.
func ToRGBA(dst []byte, src []float32, channels int) {
	for i := range len(src) / channels {
		p, q := dst[4*i:4*i+4], src[channels*i:channels*(i+1)]
		p[0], p[1], p[2], p[3] = floatByte(q[0]), floatByte(q[1]), floatByte(q[2]), 255
		if channels == 4 {
			p[3] = floatByte(q[3])
		}
	}
}

// FromRGBA converts 8-bit pixels src, [H,W,4], to a frame dst, [H,W,channels] in [-1,1];
// for 3 channels it ignores alpha. ToRGBA is its exact inverse.
func FromRGBA(dst []float32, src []byte, channels int) {
	for i := range len(dst) / channels {
		for c := range channels {
			dst[channels*i+c] = byteFloat(src[4*i+c])
		}
	}
}

// setOpaque sets a frame's alpha, if [H,W,channels] has one, to opaque.
func setOpaque(frame []float32, channels int) {
	if channels < 4 {
		return
	}
	for i := 3; i < len(frame); i += 4 {
		frame[i] = 1
	}
}

// firstNonFinite returns the index of the first NaN or infinity, -1 without one.
func firstNonFinite(values []float32) int {
	for i, v := range values {
		if v-v != 0 {
			return i
		}
	}
	return -1
}

// clamp1 limits v to [-1,1].
func clamp1(v float32) float32 { return max(-1, min(1, v)) }
