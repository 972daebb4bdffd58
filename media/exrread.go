//go:build !js

package media

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"os"
	"slices"

	"github.com/x448/float16"

	"tessera/format/quote"
)

// exrMagic begins every OpenEXR file.
const exrMagic = "\x76\x2f\x31\x01"

// Bits of the version word after it.
const (
	exrDeep  = 1 << 11
	exrParts = 1 << 12
)

// exrHeader is the header of the first part of an OpenEXR file. The file's layout:
// https://openexr.com/en/latest/OpenEXRFileLayout.html
type exrHeader struct {
	height, width int // of the display window
	gray, alpha   bool
	others        []string // channels that are not colours
	parts         bool     // the file may have several parts
	primaries     [8]float32

	left, top     int    // of the display window
	half, dwa     bool   // type of samples, and compression
	rows, columns int    // of the data window
	lines         int    // per chunk, 0 if unknown
	tile          [2]int // columns and rows; zero for scan lines
	end           int64  // end of the header, where the table of chunks begins
}

// Limits of a header: number of attributes, and bytes of one.
const (
	maxEXRAttributes = 1 << 10
	maxEXRAttribute  = 1 << 20
)

// readEXRHeader reads the attributes up to the empty name that ends them.
func readEXRHeader(from io.Reader) (h exrHeader, err error) {
	count := &counted{Reader: from}
	r, le := bufio.NewReader(count), binary.LittleEndian
	defer func() { h.end = count.n - int64(r.Buffered()) }()
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return h, err
	}
	flags := le.Uint32(head[4:])
	if flags&exrDeep != 0 {
		return h, errors.New("holds deep data, expected a flat picture")
	}
	h.parts = flags&exrParts != 0
	found := map[string]bool{}
	for range maxEXRAttributes {
		name, err := exrText(r)
		if err != nil {
			return h, err
		}
		if name == "" {
			return h, h.check(found)
		}
		kind, err := exrText(r)
		if err != nil {
			return h, err
		}
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return h, err
		}
		n := le.Uint32(size[:])
		if n > maxEXRAttribute {
			return h, fmt.Errorf("attribute %s has %d bytes, expected at most %d", quote.Text(name), n, maxEXRAttribute)
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(r, data); err != nil {
			return h, err
		}
		found[name] = true
		switch {
		case name == "channels" && kind == "chlist":
			err = h.channels(data)
		case name == "displayWindow" && n == 16:
			h.width, h.height = exrBox(data)
			h.left, h.top = int(int32(le.Uint32(data))), int(int32(le.Uint32(data[4:])))
		case name == "dataWindow" && n == 16:
			h.columns, h.rows = exrBox(data)
		case name == "compression" && n == 1:
			h.dwa = data[0] == 8 || data[0] == 9
			h.lines = map[byte]int{0: 1, 1: 1, 2: 1, 3: 16, 4: 32, 5: 16, 6: 32, 7: 32, 8: 32, 9: 256}[data[0]]
		case name == "tiles" && n == 9:
			h.tile = [2]int{int(le.Uint32(data)), int(le.Uint32(data[4:]))}
		case name == "chromaticities" && n == 32:
			for i := range h.primaries {
				h.primaries[i] = math.Float32frombits(le.Uint32(data[4*i:]))
			}
		}
		if err != nil {
			return h, err
		}
	}
	return h, fmt.Errorf("more than %d attributes", maxEXRAttributes)
}

// counted counts the bytes read.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

// exrBox returns the size of a window from its first and last column and row.
func exrBox(b []byte) (width, height int) {
	side := func(i int) int {
		return int(int32(binary.LittleEndian.Uint32(b[8+i:]))) - int(int32(binary.LittleEndian.Uint32(b[i:]))) + 1
	}
	return side(0), side(4)
}

// complete reports whether the file contains every chunk of its picture: ffmpeg silently
// leaves the pixels of missing chunks black. It does not check files of several parts.
func (h exrHeader) complete(f *os.File) error {
	info, err := f.Stat()
	if err != nil || h.parts {
		return err
	}
	if h.rows < 1 || h.columns < 1 || h.rows > maxPixels || h.columns > maxPixels {
		return fmt.Errorf("its data window has %d x %d pixels", h.columns, h.rows)
	}
	over := func(a, b int) int { return (a + b - 1) / b }
	chunks, head := 0, 8 // a chunk's header ends with its size
	switch {
	case h.tile[0] > 0 && h.tile[1] > 0:
		chunks, head = over(h.columns, h.tile[0])*over(h.rows, h.tile[1]), 20
	case h.lines > 0:
		chunks = over(h.rows, h.lines)
	}
	if int64(chunks) > info.Size()/8 {
		return fmt.Errorf("ends within its table of %d chunks", chunks)
	}
	table, b := make([]byte, 8*chunks), make([]byte, head)
	if _, err := f.ReadAt(table, h.end); err != nil {
		return fmt.Errorf("ends within its table of %d chunks", chunks)
	}
	for i := range chunks {
		at := binary.LittleEndian.Uint64(table[8*i:])
		if at < uint64(h.end) || at > uint64(info.Size()) {
			return fmt.Errorf("lacks chunk %d of %d", i, chunks)
		}
		if _, err := f.ReadAt(b, int64(at)); err != nil {
			return fmt.Errorf("ends before chunk %d of %d", i, chunks)
		}
		if size := int64(binary.LittleEndian.Uint32(b[head-4:])); int64(at)+int64(head)+size > info.Size() {
			return fmt.Errorf("ends within chunk %d of %d", i, chunks)
		}
	}
	return nil
}

// exrText reads a text and the zero that ends it.
func exrText(r *bufio.Reader) (string, error) {
	var text []byte
	for len(text) < 256 {
		b, err := r.ReadByte()
		if err != nil {
			return "", io.ErrUnexpectedEOF
		}
		if b == 0 {
			return string(text), nil
		}
		text = append(text, b)
	}
	return "", errors.New("a name of more than 255 bytes in its header")
}

func (h *exrHeader) check(found map[string]bool) error {
	for _, name := range []string{"channels", "compression", "dataWindow", "displayWindow"} {
		if !found[name] {
			return fmt.Errorf("has no %s in its header", name)
		}
	}
	// ffmpeg 5.1 and 9.0 put the first elsewhere, and give the second other colours or
	// noise as alpha.
	if h.left != 0 || h.top != 0 {
		return fmt.Errorf("its display window begins at (%d,%d), which ffmpeg reads wrongly, expected (0,0)", h.left, h.top)
	}
	if h.dwa && !h.half {
		return errors.New("is compressed as DWAA or DWAB with channels of float, which ffmpeg reads wrongly, expected half or another compression")
	}
	return nil
}

// channels finds R, G, B or Y, and A, in a list of names with types.
func (h *exrHeader) channels(list []byte) error {
	type channel struct {
		kind   uint32
		sparse bool
	}
	found := map[string]channel{}
	var names []string
	for len(list) > 1 {
		name, b, ok := bytes.Cut(list, []byte{0})
		if !ok || len(b) < 16 {
			return errors.New("its list of channels ends early")
		}
		le := binary.LittleEndian
		found[string(name)] = channel{le.Uint32(b), le.Uint32(b[8:]) != 1 || le.Uint32(b[12:]) != 1}
		names = append(names, string(name))
		list = b[16:]
	}
	wanted := []string{"R", "G", "B"}
	_, luma := found["Y"]
	_, red := found["R"]
	_, chroma := found["RY"]
	if luma && !red && !chroma {
		wanted, h.gray = []string{"Y"}, true
	}
	for _, name := range wanted {
		if _, ok := found[name]; !ok {
			return fmt.Errorf("has the channels %s, expected R, G and B, or Y", quote.List(names, ", "))
		}
	}
	_, h.alpha = found["A"]
	if h.alpha {
		wanted = append(wanted, "A")
	}
	for _, name := range names {
		if !slices.Contains(wanted, name) {
			h.others = append(h.others, name)
			continue
		}
		if c := found[name]; c.kind != 1 && c.kind != 2 {
			return fmt.Errorf("channel %s is of whole numbers, expected half or float", name)
		} else if c.sparse {
			return fmt.Errorf("channel %s has a sample for several pixels, expected one for each", name)
		} else if h.half = c.kind == 1; c.kind != found[wanted[0]].kind {
			return fmt.Errorf("channels %s and %s are of different types, expected one of half or float", wanted[0], name)
		}
	}
	return nil
}

// exrPrimaries are the named primaries: x and y of red, green and blue.
var exrPrimaries = []struct {
	name string
	xy   [6]float32
}{
	{"BT.2020", [6]float32{0.708, 0.292, 0.170, 0.797, 0.131, 0.046}},
	{"Display P3", [6]float32{0.680, 0.320, 0.265, 0.690, 0.150, 0.060}},
	{"ACES AP0", [6]float32{0.7347, 0.2653, 0, 1, 0.0001, -0.0770}},
	{"ACES AP1", [6]float32{0.713, 0.293, 0.165, 0.830, 0.128, 0.044}},
}

// wide names primaries that are not BT.709's; "" for BT.709's, and if the file states
// none.
func (h exrHeader) wide() string {
	like := func(xy [6]float32) bool {
		for i, v := range xy {
			if math.Abs(float64(v-h.primaries[i])) > 0.002 {
				return false
			}
		}
		return true
	}
	if h.primaries == [8]float32{} || like([6]float32{0.64, 0.33, 0.30, 0.60, 0.15, 0.06}) {
		return ""
	}
	for _, p := range exrPrimaries {
		if like(p.xy) {
			return p.name
		}
	}
	return fmt.Sprintf("other primaries (red at %.3g, %.3g)", h.primaries[0], h.primaries[1])
}

func exrConfig(f *os.File) (image.Config, error) {
	h, err := readEXRHeader(f)
	cfg := image.Config{Width: h.width, Height: h.height, ColorModel: color.RGBA64Model}
	if h.alpha {
		cfg.ColorModel = color.NRGBA64Model
	}
	return cfg, err
}

func moreEXR(f *os.File, p *pictureHeader) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h, err := readEXRHeader(f)
	if err == nil {
		err = h.complete(f)
	}
	p.light, p.divided, p.colours.wide = true, h.alpha, h.wide()
	if len(h.others) > 0 {
		p.others = "the channels " + quote.List(h.others, ", ")
	}
	if h.parts {
		p.others = "further parts"
	}
	return err
}

// lightImage is a picture in linear light, [H,W,channels] with 1, 3 or 4 channels.
// Colours are multiplied by alpha, as in OpenEXR.
type lightImage struct {
	pix                     []float32
	height, width, channels int
}

func (l *lightImage) ColorModel() color.Model { return color.NRGBA64Model }
func (l *lightImage) Bounds() image.Rectangle { return image.Rect(0, 0, l.width, l.height) }

// At exists only for package image; pixels are read as floats.
func (l *lightImage) At(x, y int) color.Color {
	var p [4]float32
	l.pixel(p[:], y*l.width+x)
	return color.NRGBA64{codeOf(p[0], 65535), codeOf(p[1], 65535), codeOf(p[2], 65535), codeOf(p[3], 65535)}
}

// Opaque reports whether every pixel is opaque.
func (l *lightImage) Opaque() bool {
	for i := 3; l.channels == 4 && i < len(l.pix); i += 4 {
		if l.pix[i] < 1 {
			return false
		}
	}
	return true
}

// pixel sets dst, of 3 or 4 channels, to pixel i of a frame: with sRGB's curve, and
// colours divided by alpha. It keeps colours with alpha 0, which glow.
func (l *lightImage) pixel(dst []float32, i int) {
	p := l.pix[i*l.channels:][:l.channels]
	alpha := float32(1)
	if l.channels == 4 {
		alpha = max(0, min(1, p[3]))
	}
	for c := range 3 {
		v := p[min(c, l.channels-1)]
		if alpha > 0 {
			v /= alpha
		}
		dst[c] = float32(2*fromLight(float64(v)) - 1)
	}
	if len(dst) == 4 {
		dst[3] = 2*alpha - 1
	}
}

// frame sets dst to all pixels.
func (l *lightImage) frame(dst []float32, channels int) {
	for i := range l.height * l.width {
		l.pixel(dst[channels*i:][:channels], i)
	}
}

// clipped returns the range of colours divided by alpha; ok is false if it is within 0 to
// 1.
func (l *lightImage) clipped() (least, most float32, ok bool) {
	for p := range slices.Chunk(l.pix, l.channels) {
		for _, v := range p[:min(3, l.channels)] {
			if l.channels == 4 && p[3] > 0 {
				v /= min(1, p[3])
			}
			least, most = min(least, v), max(most, v)
		}
	}
	return least, most, least < 0 || most > 1
}

// fromLight is sRGB's curve (IEC 61966-2-1): it maps light from 0 to 1 to 0 to 1, and
// clips.
func fromLight(v float64) float64 {
	switch {
	case v <= 0:
		return 0
	case v >= 1:
		return 1
	case v <= 0.0031308:
		return 12.92 * v
	}
	return 1.055*math.Pow(v, 1/2.4) - 0.055
}

// toLight is the inverse of fromLight.
func toLight(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

// toolError is about a missing program, not about the file.
type toolError struct{ error }

func (e *toolError) Unwrap() error { return e.error }

// decodeEXR decodes the picture with ffmpeg, which supports all compressions. ffmpeg
// returns the file's numbers, half or float depending on its version, in planes G, B, R
// and alpha, or Y.
func decodeEXR(ctx context.Context, f *os.File) (image.Image, error) {
	h, err := readEXRHeader(f)
	if err == nil {
		err = h.complete(f)
	}
	if err != nil {
		return nil, err
	}
	l := &lightImage{height: h.height, width: h.width, channels: 3}
	switch {
	case h.alpha:
		l.channels = 4
	case h.gray:
		l.channels = 1
	}
	samples := l.channels * l.height * l.width
	if err := checkMemory(fmt.Sprintf("a picture of %dx%d pixels", l.width, l.height), 8*int64(samples)); err != nil {
		return nil, err
	}
	raw, err := ffmpegRaw(ctx, f.Name(), 4*samples, "-f", "exr_pipe")
	if err != nil {
		return nil, err
	}
	l.pix = make([]float32, samples)
	size, plane := len(raw)/samples, l.height*l.width
	packed := h.gray && h.alpha && (size == 1 || size == 2 && !h.half) // newer ffmpeg interleaves Y and alpha
	if packed {
		size *= 2
	}
	if len(raw)%samples != 0 || size != 4 && (size != 2 || !h.half) {
		return nil, fmt.Errorf("ffmpeg returns %d bytes, expected %d for %dx%d pixels", len(raw), 4*samples, l.width, l.height)
	}
	for from, to := range [][]int{1: {0}, 3: {1, 2, 0}, 4: {1, 2, 0, 3}}[l.channels] {
		for i := range plane {
			at := from*plane + i
			if packed {
				at = 2*i + from/3
			}
			b := raw[at*size:]
			v := float32(0)
			if size == 2 {
				v = float16.Frombits(binary.LittleEndian.Uint16(b)).Float32()
			} else {
				v = math.Float32frombits(binary.LittleEndian.Uint32(b))
			}
			if v != v {
				return nil, fmt.Errorf("channel %s, row %d, column %d is NaN, expected a number", []string{"R", "G", "B", "A"}[to], i/l.width, i%l.width)
			}
			l.pix[i*l.channels+to] = v
		}
	}
	return l, nil
}

// ffmpegRaw decodes the first picture of a file to the decoder's samples, at most one
// byte more than most.
func ffmpegRaw(ctx context.Context, path string, most int, input ...string) ([]byte, error) {
	args := append([]string{"-v", "error", "-nostdin"}, input...)
	args = append(append(args, inputArgs(path, false)...), "-map", "0:v:0", "-frames:v", "1", "-c:v", "rawvideo", "-f", "rawvideo", "pipe:1")
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd, log, err := ffmpegCommand(ctx, "ffmpeg", args...)
	if err != nil {
		return nil, &toolError{err}
	}
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, &toolError{fmt.Errorf("ffmpeg: %w", err)}
	}
	raw := make([]byte, most+1)
	n, rerr := io.ReadFull(pipe, raw)
	if rerr == nil {
		stop() // there is more, which waits to be read
	}
	if err = cmd.Wait(); rerr == nil {
		err = nil
	}
	if err == nil && len(log.tail) > 0 {
		err = errors.New("damaged") // decoders continue after damage
	}
	return raw[:n], log.failure(ctx, err, "file:"+path)
}
