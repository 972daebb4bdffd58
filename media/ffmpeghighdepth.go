//go:build !js

package media

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// highDepthFrames are frames of more than 8 bits per channel in the form that ffmpeg
// receives: planes of RGB, or of BT.709 in limited range with full chroma. The conversion
// is done here because ffmpeg 5.1's scaler makes Y of 10-bit RGB 1.1 codes too bright on
// average, with errors up to 3.1.
type highDepthFrames struct {
	bits int
	rgb  bool
}

// highDepthFor returns the form for an output pixel format; nil for one of 8 bits.
func highDepthFor(pixels string) *highDepthFrames {
	bits := ffprobeStream{PixelFormat: pixels}.bits()
	if bits <= 8 {
		return nil
	}
	if !slices.Contains([]int{9, 10, 12, 14}, bits) {
		bits = 16
	}
	return &highDepthFrames{bits, isRGBName.MatchString(pixels)}
}

// name is ffmpeg's name of the form.
func (d *highDepthFrames) name() string {
	if d.rgb {
		return fmt.Sprintf("gbrp%dle", d.bits)
	}
	return fmt.Sprintf("yuv444p%dle", d.bits)
}

// pack sets dst, three planes with two bytes per pixel, to a frame, [H,W,3].
func (d *highDepthFrames) pack(dst []byte, frame []float32) {
	plane := len(frame) / 3
	put := func(p, i int, code float64) {
		binary.LittleEndian.PutUint16(dst[2*(p*plane+i):], uint16(math.Floor(code+0.5)))
	}
	most, step := float64(int(1)<<d.bits-1), float64(int(1)<<(d.bits-8))
	for i := range plane {
		var u [3]float64
		for c := range u {
			u[c] = (float64(clamp1(frame[3*i+c])) + 1) / 2
		}
		r, g, b := u[0], u[1], u[2]
		if d.rgb {
			put(0, i, g*most)
			put(1, i, b*most)
			put(2, i, r*most)
			continue
		}
		y := 0.2126*r + 0.7152*g + 0.0722*b
		put(0, i, step*(16+219*y))
		put(1, i, step*(128+224*(b-y)/1.8556))
		put(2, i, step*(128+224*(r-y)/1.5748))
	}
}
