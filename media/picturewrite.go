//go:build !js

package media

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pictureForm is how an output's pictures are stored.
type pictureForm struct {
	ext      string // of each picture
	channels int
	bits     int // per channel: 8, 16 or 32; OpenEXR's 16 or 32 are floats
}

// pictureForms are the pixel formats of pictures, by ffmpeg's names. The file format
// decides the byte order: PNG stores the high byte first, the others here the low byte.
var pictureForms = []struct {
	names    []string
	channels int
	bits     int
	float    bool
}{
	{[]string{"rgb24"}, 3, 8, false},
	{[]string{"rgba"}, 4, 8, false},
	{[]string{"rgb48be", "rgb48le"}, 3, 16, false},
	{[]string{"rgba64be", "rgba64le"}, 4, 16, false},
	{[]string{"gbrpf16le"}, 3, 16, true},
	{[]string{"gbrapf16le"}, 4, 16, true},
	{[]string{"gbrpf32le"}, 3, 32, true},
	{[]string{"gbrapf32le"}, 4, 32, true},
}

// isPicture reports whether outputs called path are pictures: one, or a folder.
func isPicture(path string) bool {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return true
	}
	return slices.Contains([]string{"", ".png", ".tif", ".tiff", ".exr"}, extension(path))
}

// formFor returns how pictures for path are stored: in 8 bits, or in a given pixel
// format. In a folder they are PNG, or OpenEXR for a format of floats.
func formFor(path, pixels string, channels int) (pictureForm, error) {
	ext := extension(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		ext = ""
	}
	form := pictureForm{cmp.Or(ext, ".png"), channels, 8}
	if ext == ".exr" {
		form.bits = 32
	}
	if pixels == "" {
		return form, nil
	}
	var known []string
	for _, f := range pictureForms {
		if f.channels != channels || ext != "" && f.float != (ext == ".exr") {
			continue
		}
		known = append(known, f.names...)
		if slices.Contains(f.names, pixels) {
			if form.bits = f.bits; f.float {
				form.ext = ".exr"
			}
			return form, nil
		}
	}
	return form, &optionError{fmt.Sprintf("media: %s: pixel format %.40q of frames of %d channels, expected %s", path, pixels, channels, strings.Join(known, ", "))}
}

// CheckPicture returns ErrOption if pictures called path, with the given channels, cannot
// have a PixelFormat; "" is always valid.
func CheckPicture(path, pixels string, channels int) error {
	if !isPicture(path) {
		return CreateOptions{PixelFormat: pixels}.check(path)
	}
	_, err := formFor(path, pixels, channels)
	return err
}

// PixelFormats returns the pixel formats of pictures, by ffmpeg's names.
func PixelFormats() []string {
	var all []string
	for _, f := range pictureForms {
		all = append(all, f.names...)
	}
	return all
}

// needsFloat reports whether frames must be floats.
func (p pictureForm) needsFloat() bool { return p.bits > 8 }

// write writes a frame, given as floats [H,W,channels] or as bytes [H,W,4].
func (p pictureForm) write(w io.Writer, f Format, floats []float32, rgba []byte, level png.CompressionLevel) error {
	switch {
	case p.ext == ".exr":
		return writeEXR(w, f, floats, p.bits)
	case p.ext != ".png":
		return writeTIFF(w, f, floats, rgba, p.bits)
	case p.bits == 16:
		return writePNG(w, f.deepPicture(floats), level)
	}
	return writePNG(w, f.picture(rgba), level)
}

// deepLayer is a layer of 16 bits.
type deepLayer struct{ *image.NRGBA64 }

func (deepLayer) Opaque() bool { return false }

// deepPicture converts a frame to 16 bits, rounding each value once.
func (f Format) deepPicture(frame []float32) image.Image {
	rect, channels := image.Rect(0, 0, f.Width, f.Height), f.channels()
	pix := make([]byte, 8*f.Height*f.Width)
	for i := range f.Height * f.Width {
		binary.BigEndian.PutUint16(pix[8*i+6:], 65535)
		for c, v := range frame[channels*i:][:channels] {
			binary.BigEndian.PutUint16(pix[8*i+2*c:], codeOf(v, 65535))
		}
	}
	if channels == 3 {
		return &image.RGBA64{Pix: pix, Stride: 8 * f.Width, Rect: rect}
	}
	return deepLayer{&image.NRGBA64{Pix: pix, Stride: 8 * f.Width, Rect: rect}}
}

// pictureSink writes a single frame.
type pictureSink struct {
	pending *pending
	format  Format
	form    pictureForm
}

// pictureNames are the formats of single frames.
var pictureNames = map[string]string{".png": "PNG", ".tif": "TIFF", ".tiff": "TIFF", ".exr": "OpenEXR file"}

func createPicture(path string, f Format, o CreateOptions) (backend, error) {
	form, err := formFor(path, o.PixelFormat, f.channels())
	if err != nil {
		return nil, err
	}
	if f.Frames != 1 {
		folder := strings.TrimSuffix(path, filepath.Ext(path))
		if strings.Contains(folder, "%") { // a pattern is only for reading
			folder = filepath.Join(filepath.Dir(path), "frames")
		}
		return nil, badOutput("media: %s: %d frames don't fit into one %s, expected a folder such as %s", path, f.Frames, pictureNames[extension(path)], folder)
	}
	p, err := createPending(path, 0)
	if err != nil {
		return nil, err
	}
	return &pictureSink{p, f, form}, nil
}

func (s *pictureSink) needsFloat() bool { return s.form.needsFloat() }

func (s *pictureSink) frame(_ int, floats []float32, rgba []byte) error {
	return s.form.write(s.pending, s.format, floats, rgba, png.DefaultCompression)
}

func (s *pictureSink) commit() error { return s.pending.commit() }
func (s *pictureSink) abort() error  { return s.pending.abort() }

// writeTIFF writes a TIFF (revision 6.0) of 8 or 16 bits per channel, uncompressed and in
// one strip, with straight alpha. It uses floats for 16 bits.
func writeTIFF(w io.Writer, f Format, floats []float32, rgba []byte, bits int) error {
	out, le := bufio.NewWriterSize(w, 1<<16), binary.LittleEndian
	channels := f.channels()
	const short, long, ascii, rational = 3, 4, 2, 5
	type entry struct {
		tag, kind uint16
		values    []uint32 // two per rational
	}
	repeated := func(v int) []uint32 { return slices.Repeat([]uint32{uint32(v)}, channels) }
	size := f.Height * f.Width * channels * bits / 8
	entries := []entry{
		{256, long, []uint32{uint32(f.Width)}},
		{257, long, []uint32{uint32(f.Height)}},
		{258, short, repeated(bits)},
		{tiffCompression, short, []uint32{1}},
		{tiffPhotometric, short, []uint32{2}}, // RGB
		{tiffStrips, long, []uint32{0}},       // the strip's offset, set below
		{277, short, []uint32{uint32(channels)}},
		{278, long, []uint32{uint32(f.Height)}}, // rows per strip
		{279, long, []uint32{uint32(size)}},
		{282, rational, []uint32{72, 1}}, // dots per inch
		{283, rational, []uint32{72, 1}},
		{tiffPlanar, short, []uint32{1}},
		{296, short, []uint32{2}},
		{305, ascii, []uint32{0}}, // Software
	}
	if channels == 4 {
		entries = append(entries, entry{tiffExtraSamples, short, []uint32{2}}) // straight alpha
	}
	entries = append(entries, entry{tiffSampleFormat, short, repeated(1)}) // unsigned
	const software = "tessera\x00"
	behind := 8 + 2 + 12*len(entries) + 4
	directory := append([]byte("II*\x00\x08\x00\x00\x00"), le.AppendUint16(nil, uint16(len(entries)))...)
	var more []byte
	strip := 0
	for _, e := range entries {
		var data []byte
		count := len(e.values)
		for _, v := range e.values {
			if e.kind == short {
				data = le.AppendUint16(data, uint16(v))
			} else {
				data = le.AppendUint32(data, v)
			}
		}
		switch e.kind {
		case ascii:
			data, count = []byte(software), len(software)
		case rational:
			count /= 2
		}
		directory = le.AppendUint32(le.AppendUint16(le.AppendUint16(directory, e.tag), e.kind), uint32(count))
		if e.tag == tiffStrips {
			strip = len(directory)
		}
		if len(data) > 4 {
			data, more = le.AppendUint32(nil, uint32(behind+len(more))), append(more, data...)
		}
		directory = append(append(directory, data...), make([]byte, 4-len(data))...)
	}
	directory = le.AppendUint32(directory, 0) // no further picture
	le.PutUint32(directory[strip:], uint32(behind+len(more)))
	if _, err := out.Write(slices.Concat(directory, more)); err != nil {
		return err
	}
	row := make([]byte, 0, f.Width*channels*bits/8)
	for y := range f.Height {
		row = row[:0]
		if bits == 16 {
			for _, v := range floats[y*f.Width*channels:][:f.Width*channels] {
				row = le.AppendUint16(row, codeOf(v, 65535))
			}
		} else {
			for x := range f.Width {
				row = append(row, rgba[4*(y*f.Width+x):][:channels]...)
			}
		}
		if _, err := out.Write(row); err != nil {
			return err
		}
	}
	return out.Flush()
}
