//go:build !js

package media

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"tessera/format/file"
	"tessera/latent"
)

// maxY4MLine limits the header line and the FRAME lines; real ones are under 100 bytes.
const maxY4MLine = 1024

// y4mClip reads YUV4MPEG2 files, 8 bits, progressive, 4:2:0, 4:2:2, 4:4:4 or mono. Y4M
// has no standard field for the matrix; this package writes XCOLORMATRIX. Without it
// y4mClip assumes BT.601, as ffmpeg and other tools that convert RGB to Y4M do, in
// limited range unless the header says XCOLORRANGE=FULL.
type y4mClip struct {
	path     string
	file     *os.File
	format   y4mFormat
	channels int
	frames   []int64      // offset of each frame's luma plane
	buffer   []byte       // a frame as in the file
	chroma   [2][]float32 // a row of Cb and of Cr, at luma resolution; zero for mono
}

// y4mFormat is the content of the header line.
type y4mFormat struct {
	height, width int
	fps           latent.Rational
	aspect        latent.Rational
	full          bool
	matrix        string // "" if not stated
	layout        y4mLayout
}

// lumaShares are the shares of red and blue in the luma of each of Matrices.
var lumaShares = map[string][2]float32{"bt601": {0.299, 0.114}, "bt709": {0.2126, 0.0722}, "bt2020": {0.2627, 0.0593}}

// y4mLayout is a chroma layout: how many luma samples a chroma sample spans in x and y,
// and where its centre lies among them.
type y4mLayout struct {
	mono         bool
	stepX, stepY int
	atX, atY     float32
}

// chromaSize returns the size of the two chroma planes, 0 for mono.
func (f y4mFormat) chromaSize() (height, width int) {
	if f.layout.mono {
		return 0, 0
	}
	sx, sy := f.layout.stepX, f.layout.stepY
	return (f.height + sy - 1) / sy, (f.width + sx - 1) / sx
}

// frameBytes returns the size of a frame in the file, without its FRAME line.
func (f y4mFormat) frameBytes() int {
	h, w := f.chromaSize()
	return f.height*f.width + 2*h*w
}

func openY4M(path string, channels int, o OpenOptions) (Clip, error) {
	f, size, err := file.Open(path)
	if err != nil {
		return nil, badInput(path, err)
	}
	c := &y4mClip{path: path, file: f, channels: channels}
	if err := c.index(size); err != nil {
		f.Close()
		return nil, badInput(path, err)
	}
	c.colour(o)
	c.buffer = make([]byte, c.format.frameBytes())
	c.chroma = [2][]float32{make([]float32, c.format.width), make([]float32, c.format.width)}
	return c, nil
}

// colour chooses the matrix.
func (c *y4mClip) colour(o OpenOptions) {
	f := &c.format
	switch {
	case f.layout.mono && o.Matrix != "":
		o.warn(fmt.Sprintf("%s: is gray: --matrix %s has no effect", c.path, o.Matrix))
	case o.Matrix == "" && f.matrix == "" && !f.layout.mono:
		o.warn(c.path + ": names no colour matrix: read as BT.601, which ffmpeg writes; --matrix bt709 reads it as HD video")
	}
	f.matrix = cmp.Or(o.Matrix, f.matrix, "bt601")
	if o.ToneMap {
		o.warn(c.path + ": is not HDR: --tone-map has no effect")
	}
}

// index reads the header and finds every frame of a file of all bytes.
func (c *y4mClip) index(all int64) error {
	line, next, err := y4mLine(c.file, 0)
	if err != nil {
		return err
	}
	if c.format, err = parseY4M(line); err != nil {
		return err
	}
	size := int64(c.format.frameBytes())
	for at := next; at < all; {
		line, start, err := y4mLine(c.file, at)
		if err != nil {
			return fmt.Errorf("frame %d: %w", len(c.frames), err)
		}
		if line != "FRAME" && !strings.HasPrefix(line, "FRAME ") {
			return fmt.Errorf("frame %d: line %.20q at byte %d, expected FRAME", len(c.frames), line, at)
		}
		if left := all - start; left < size {
			return fmt.Errorf("frame %d: truncated, %d bytes of %d", len(c.frames), left, size)
		}
		c.frames = append(c.frames, start)
		at = start + size
	}
	if len(c.frames) == 0 {
		return fmt.Errorf("no frames")
	}
	return nil
}

// y4mLine reads the line at an offset, and returns the offset after it.
func y4mLine(r io.ReaderAt, at int64) (line string, next int64, err error) {
	var buffer [maxY4MLine]byte
	n, err := r.ReadAt(buffer[:], at)
	if err != nil && err != io.EOF {
		return "", 0, err
	}
	end := bytes.IndexByte(buffer[:n], '\n')
	if end < 0 {
		return "", 0, fmt.Errorf("no end of line within %d bytes of byte %d: not Y4M or truncated", n, at)
	}
	return string(buffer[:end]), at + int64(end) + 1, nil
}

// parseY4M reads the header line.
func parseY4M(line string) (f y4mFormat, err error) {
	fields := strings.Fields(line)
	if len(fields) == 0 || fields[0] != "YUV4MPEG2" {
		return f, fmt.Errorf("header starts with %.20q, expected YUV4MPEG2", line)
	}
	colour := "420jpeg"
	for _, field := range fields[1:] {
		value := field[1:]
		switch field[0] {
		case 'W':
			f.width, err = strconv.Atoi(value)
		case 'H':
			f.height, err = strconv.Atoi(value)
		case 'F':
			f.fps, _ = latent.ParseRational(value) // 0:0 means unknown
		case 'I':
			if value != "p" && value != "?" {
				err = fmt.Errorf("interlaced video isn't supported; deinterlace it first, as with ffmpeg -vf yadif")
			}
		case 'C':
			colour = value
		case 'A':
			if f.aspect, _ = latent.ParseRational(value); f.aspect.Num == f.aspect.Den { // 0:0 means unknown
				f.aspect = latent.Rational{}
			}
		case 'X':
			f.full = f.full || strings.EqualFold(value, "COLORRANGE=FULL")
			if m, ok := strings.CutPrefix(value, "COLORMATRIX="); ok {
				f.matrix = strings.ToLower(m)
				err = checkMatrix(f.matrix)
			}
		}
		if err != nil {
			return f, fmt.Errorf("header field %.40q: %w", field, err)
		}
	}
	if err := checkSize(f.height, f.width); err != nil {
		return f, err
	}
	f.layout, err = y4mLayoutOf(colour)
	return f, err
}

// y4mLayoutOf returns the layout for a name, with its siting: "420jpeg", and plain 420
// after ffmpeg and mjpegtools, has chroma between the luma samples in both directions;
// MPEG-2's and 4:2:2 have it on the left luma column.
func y4mLayoutOf(colour string) (y4mLayout, error) {
	switch colour {
	case "420jpeg", "420":
		return y4mLayout{stepX: 2, stepY: 2, atX: 0.5, atY: 0.5}, nil
	case "420mpeg2":
		return y4mLayout{stepX: 2, stepY: 2, atX: 0, atY: 0.5}, nil
	case "422":
		return y4mLayout{stepX: 2, stepY: 1}, nil
	case "444":
		return y4mLayout{stepX: 1, stepY: 1}, nil
	case "mono":
		return y4mLayout{mono: true, stepX: 1, stepY: 1}, nil
	}
	return y4mLayout{}, fmt.Errorf("chroma format %.20q isn't supported, expected 8-bit 420jpeg, 420mpeg2, 422, 444 or mono; "+
		"ffmpeg -pix_fmt yuv444p converts it", colour)
}

func (c *y4mClip) Frames() int               { return len(c.frames) }
func (c *y4mClip) Size() (height, width int) { return c.format.height, c.format.width }
func (c *y4mClip) Channels() int             { return c.channels }
func (c *y4mClip) FPS() latent.Rational      { return c.format.fps }
func (c *y4mClip) Aspect() latent.Rational   { return c.format.aspect }
func (c *y4mClip) Close() error              { return c.file.Close() }

func (c *y4mClip) ReadFrame(t int, dst []float32) error {
	checkRead(c, t, dst)
	if _, err := c.file.ReadAt(c.buffer, c.frames[t]); err != nil {
		return badInputf(c.path, "frame %d: %w", t, err)
	}
	setOpaque(dst, c.channels)
	f := c.format
	ch, cw := f.chromaSize()
	luma := c.buffer[:f.height*f.width]
	planes := [2][]byte{c.buffer[len(luma):][:ch*cw], c.buffer[len(luma)+ch*cw:]}
	for y := range f.height {
		if !f.layout.mono {
			for i, plane := range planes {
				f.layout.upsampleRow(c.chroma[i][:f.width], plane, y, ch, cw)
			}
		}
		n := f.width * c.channels
		f.rowToRGB(dst[y*n:(y+1)*n], c.channels, luma[y*f.width:], c.chroma[0], c.chroma[1])
	}
	return nil
}

// upsampleRow interpolates a chroma plane linearly at the luma samples of row y, and
// subtracts 128, the code of no colour.
func (l y4mLayout) upsampleRow(dst []float32, plane []byte, y, height, width int) {
	j0, j1, wy := between(y, l.stepY, l.atY, height)
	top, bottom := plane[j0*width:(j0+1)*width], plane[j1*width:(j1+1)*width]
	for x := range dst {
		i0, i1, wx := between(x, l.stepX, l.atX, width)
		upper := float32(top[i0]) + wx*(float32(top[i1])-float32(top[i0]))
		lower := float32(bottom[i0]) + wx*(float32(bottom[i1])-float32(bottom[i0]))
		dst[x] = upper + wy*(lower-upper) - 128
	}
}

// between returns the two of n chroma samples around luma position x, and the weight of
// the second. Beyond the border it repeats the outermost sample.
func between(x, step int, at float32, n int) (i0, i1 int, weight float32) {
	pos := (float32(x) - at) / float32(step)
	if pos <= 0 {
		return 0, 0, 0
	}
	i0 = int(pos)
	if i0 >= n-1 {
		return n - 1, n - 1, 0
	}
	return i0, i0 + 1, pos - float32(i0)
}

// rowToRGB applies the inverse matrix. 128 is already subtracted from cb and cr.
func (f y4mFormat) rowToRGB(dst []float32, channels int, y []byte, cb, cr []float32) {
	black, lumaScale, chromaScale := float32(16), float32(1)/219, float32(1)/224
	if f.full {
		black, lumaScale, chromaScale = 0, float32(1)/255, float32(1)/255
	}
	kr, kb := lumaShares[f.matrix][0], lumaShares[f.matrix][1]
	red, blue := 2*(1-kr), 2*(1-kb)
	for x := range f.width {
		l := (float32(y[x]) - black) * lumaScale
		b, r := cb[x]*chromaScale, cr[x]*chromaScale
		p := dst[channels*x : channels*x+3]
		p[0] = clamp1(2*(l+red*r) - 1)
		p[1] = clamp1(2*(l-(kb*blue*b+kr*red*r)/(1-kr-kb)) - 1)
		p[2] = clamp1(2*(l+blue*b) - 1)
	}
}
