//go:build !js

package media

import (
	"fmt"

	"tessera/latent"
)

// y4mSink writes 4:4:4, which loses no colour and supports odd sizes, in BT.709 and
// limited range. The format has no field for the matrix: this package's reader finds its
// own field, other programs assume BT.601.
type y4mSink struct {
	pending destination
	buffer  []byte // FRAME line and three planes
	pixels  int
}

const y4mFrameLine = "FRAME\n"

func createY4M(open opener, path string, f Format) (backend, error) {
	fps := f.rate()
	aspect := latent.Rational{Num: 1, Den: 1}
	if f.Aspect.Known() {
		aspect = f.Aspect
	}
	header := fmt.Sprintf("YUV4MPEG2 W%d H%d F%d:%d Ip A%d:%d C444 XCOLORRANGE=LIMITED XCOLORMATRIX=BT709\n",
		f.Width, f.Height, fps.Num, fps.Den, aspect.Num, aspect.Den)
	pixels := f.Height * f.Width
	frame := int64(len(y4mFrameLine) + 3*pixels)
	p, err := open(path, int64(len(header))+int64(f.Frames)*frame)
	if err != nil {
		return nil, err
	}
	if _, err := p.Write([]byte(header)); err != nil {
		return nil, p.discard(err)
	}
	s := &y4mSink{pending: p, buffer: make([]byte, frame), pixels: pixels}
	copy(s.buffer, y4mFrameLine)
	return s, nil
}

func (s *y4mSink) needsFloat() bool { return false }

func (s *y4mSink) frame(_ int, _ []float32, rgba []byte) error {
	planes := s.buffer[len(y4mFrameLine):]
	for i := range s.pixels {
		p := rgba[4*i : 4*i+3]
		planes[i], planes[s.pixels+i], planes[2*s.pixels+i] = rgbToYUV(p[0], p[1], p[2])
	}
	_, err := s.pending.Write(s.buffer)
	return err
}

func (s *y4mSink) commit() error { return s.pending.commit() }
func (s *y4mSink) abort() error  { return s.pending.abort() }

// rgbToYUV converts to BT.709 in limited range, rounded: luma 16 to 235, chroma 128 plus
// or minus 112.
func rgbToYUV(red, green, blue byte) (y, cb, cr byte) {
	r, g, b := float64(red)/255, float64(green)/255, float64(blue)/255
	luma := 0.2126*r + 0.7152*g + 0.0722*b
	return byte(16 + 219*luma + 0.5),
		byte(128 + 224*(b-luma)/1.8556 + 0.5),
		byte(128 + 224*(r-luma)/1.5748 + 0.5)
}
