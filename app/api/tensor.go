package api

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/x448/float16"

	"tessera/app/job"
	"tessera/media"
)

// Limits on what a request may ask for with a few numbers.
const (
	maxSide  = 1 << 17           // of a tensor's dimension
	maxPixel = job.MaxSide       // along a frame's side
	maxValue = job.MaxLatent / 4 // values of a latent
)

// dtype is torch's name for a number's storage, little-endian.
type dtype string

// The dtypes that diffusers names.
const (
	half  dtype = "float16"
	brain dtype = "bfloat16"
	float dtype = "float32"
	code  dtype = "uint8" // pixels of a picture: 0 to 255
)

func (d dtype) bytes() int {
	switch d {
	case float:
		return 4
	case code:
		return 1
	}
	return 2
}

// put stores numbers, rounded to the nearest representable one.
func (d dtype) put(dst []byte, src []float32) {
	switch d {
	case float:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	case half:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], float16.Fromfloat32(v).Bits())
		}
	case brain:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], brainBits(v))
		}
	}
}

// brainBits returns a float's upper half, rounded to even; NaN stays NaN.
func brainBits(v float32) uint16 {
	bits := math.Float32bits(v)
	if v != v {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// take reads numbers; uint8 codes become pixels in [-1,1].
func (d dtype) take(dst []float32, src []byte) {
	for i := range dst {
		switch d {
		case float:
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		case half:
			dst[i] = float16.Frombits(binary.LittleEndian.Uint16(src[2*i:])).Float32()
		case brain:
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		case code:
			dst[i] = float32(src[i])/127.5 - 1
		}
	}
}

// bytesOf returns the size of a tensor in bytes, at most 2^61.
func bytesOf(shape []int, d dtype) int64 {
	n := float64(d.bytes())
	for _, side := range shape {
		n *= float64(side)
	}
	return int64(math.Min(n, 1<<61))
}

// finite refuses NaN and infinity. values begin with number at of the tensor called what.
func finite(what string, at int, values []float32) error {
	for i, v := range values {
		if v-v != 0 {
			return job.BadInput("%s: value %d is %v, expected a finite number", what, at+i, v)
		}
	}
	return nil
}

// readFloats reads the first n values of a tensor.
func readFloats(r io.ReaderAt, d dtype, n int) ([]float32, error) {
	const part = 1 << 16
	values, raw := make([]float32, n), make([]byte, part*d.bytes())
	for at := 0; at < n; at += part {
		some := values[at:min(at+part, n)]
		b := raw[:len(some)*d.bytes()]
		if _, err := r.ReadAt(b, int64(at*d.bytes())); err != nil && err != io.EOF {
			return nil, err
		}
		d.take(some, b)
		if err := finite("the tensor", at, some); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// clip is one clip of a tensor [B,C,T,H,W].
type clip struct {
	media.Format
	from  io.ReaderAt
	dtype dtype
	first int  // index of its first value
	rgb   bool // it has no alpha: a model with alpha sees it opaque
	raw   []byte
	plane []float32
}

func (c *clip) Frames() int               { return c.Format.Frames }
func (c *clip) Size() (height, width int) { return c.Height, c.Width }
func (c *clip) Channels() int             { return c.Format.Channels }

// ReadFrame reads frame t, [H,W,C].
func (c *clip) ReadFrame(t int, dst []float32) error {
	pixels, channels := c.Height*c.Width, c.Format.Channels
	if c.raw == nil {
		c.raw, c.plane = make([]byte, pixels*c.dtype.bytes()), make([]float32, pixels)
	}
	stored := channels
	if c.rgb {
		stored = 3
	}
	for i := stored; i < len(dst); i += channels {
		for ch := range channels - stored {
			dst[i+ch] = 1
		}
	}
	for ch := range stored {
		at := c.first + (ch*c.Format.Frames+t)*pixels
		if _, err := c.from.ReadAt(c.raw, int64(at)*int64(c.dtype.bytes())); err != nil && err != io.EOF {
			return err
		}
		c.dtype.take(c.plane, c.raw)
		if err := finite("the tensor", at, c.plane); err != nil {
			return err
		}
		if err := media.RangeOf(c.plane).Check(); err != nil {
			return job.BadInput("the tensor: frame %d: %w", t, err)
		}
		for i, v := range c.plane {
			dst[i*channels+ch] = v
		}
	}
	return nil
}
