//go:build !js

package media

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"os"

	"golang.org/x/image/webp"

	"tessera/format"
	"tessera/format/file"
)

// pictureHeader is a picture's description before decoding, as it is shown.
type pictureHeader struct {
	height, width int
	turn          turn
	alpha         bool   // it may have transparency
	animated      bool   // it has several pictures
	profile       string // name of its colours' profile; "" for none, or sRGB's
	colours       pictureColours
	others        string // ignored content of the file, in words
	divided       bool   // the file's colours are multiplied by alpha
	light         bool   // the numbers are linear light, possibly beyond 1
}

// pictureColours says what a file's numbers mean.
type pictureColours struct {
	hdr  string // "PQ", "HLG" or ""
	wide string // primaries other than BT.709's
}

// named names code points.
func (c *cicp) named() pictureColours {
	var s ffprobeStream
	s.colours(c)
	return pictureColours{s.hdr(), s.wide()}
}

// pictureFormat decodes pictures of one format, which the file's first bytes identify,
// whatever its name.
type pictureFormat struct {
	name   string
	ending string
	begins func(head []byte) bool
	config func(f *os.File) (image.Config, error)
	// decode reads in order; whole needs the whole file.
	decode func(io.Reader) (image.Image, error)
	whole  func(context.Context, *os.File) (image.Image, error)
	// more adds to the result of config.
	more func(f *os.File, h *pictureHeader) error
	turn func(f io.ReadSeeker) turn
	// For formats that may be animated: animated reports whether a file is; pictures
	// lists its pictures, and with a damagedError the complete ones.
	animated  func(io.ReadSeeker) bool
	animation func(r io.ReaderAt, size int64) ([]animationPart, error)
}

var pictureFormats = []pictureFormat{
	{"PNG", ".png", begin("\x89PNG"), buffered(png.DecodeConfig), png.Decode, nil, morePNG, pngParts.turn, pngAnimated, pngAnimation},
	{"JPEG", ".jpg", begin("\xff\xd8\xff"), buffered(jpeg.DecodeConfig), jpeg.Decode, nil, profiled(jpegParts), jpegParts.turn, nil, nil},
	{"WebP", ".webp", func(b []byte) bool { return begin("RIFF")(b) && bytes.HasSuffix(b, []byte("WEBP")) }, buffered(webp.DecodeConfig), decodeWebP, nil,
		profiled(webpParts), webpParts.turn, webpAnimated, webpAnimation},
	{"TIFF", ".tiff", isTIFF, tiffConfig, nil, decodeTIFF, moreTIFF, tiffTurn, nil, nil},
	{"OpenEXR", ".exr", begin(exrMagic), exrConfig, nil, decodeEXR, moreEXR, func(io.ReadSeeker) turn { return 1 }, nil, nil},
}

// PictureEnding returns the extension for a picture file with these first 12 bytes: .png,
// .jpg, .webp, .tiff or .exr; "" for other files.
func PictureEnding(head []byte) string {
	head = head[:min(len(head), pictureHead)]
	for _, f := range pictureFormats {
		if f.begins(head) {
			return f.ending
		}
	}
	return ""
}

// pictureHead is how many bytes identify a format.
const pictureHead = 12

func begin(text string) func([]byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(text)) }
}

// buffered buffers the reading of a header.
func buffered(config func(io.Reader) (image.Config, error)) func(*os.File) (image.Config, error) {
	return func(f *os.File) (image.Config, error) { return config(bufio.NewReader(f)) }
}

// profiled looks for a colour profile in a file's parts.
func profiled(p pictureParts) func(*os.File, *pictureHeader) error {
	return func(f *os.File, h *pictureHeader) error {
		h.profile = p.profile(f)
		return nil
	}
}

// morePNG reads the chunk cICP, which has priority over a profile.
func morePNG(f *os.File, h *pictureHeader) error {
	if err := holdsPNG(f, *h); err != nil {
		return err
	}
	if c := pngColours(f); c != nil {
		h.colours = c.named()
		return nil
	}
	h.profile = pngParts.profile(f)
	return nil
}

// holdsPNG refuses a picture with more pixels than its file can contain, before memory is
// allocated for them.
func holdsPNG(f *os.File, h pictureHeader) error {
	info, err := f.Stat()
	if err != nil || h.animated {
		return err
	}
	packed, bits := int64(0), int64(0)
	err = pngParts.walk(f, info.Size(), "IEND", func(name string, at, length int64) error {
		switch name {
		case "IHDR":
			head := make([]byte, 10)
			_, err := f.ReadAt(head, at)
			bits = int64(head[8]) * map[byte]int64{2: 3, 4: 2, 6: 4}[head[9]]
			return err
		case "IDAT":
			packed += length
		}
		return nil
	})
	need := int64(h.height) * int64(h.width) * max(1, bits) / 8
	if err == nil && need/inflation > packed {
		return fmt.Errorf("unreadable PNG: %d bytes can't hold %d x %d pixels", packed, h.width, h.height)
	}
	return nil // decoding reports other faults
}

// openPicture opens a file and finds its format.
func openPicture(path string) (*os.File, pictureFormat, error) {
	f, _, err := file.Open(path)
	if err != nil {
		return nil, pictureFormat{}, badInput(path, err)
	}
	head := make([]byte, pictureHead)
	n, _ := io.ReadFull(f, head)
	for _, kind := range pictureFormats {
		if kind.begins(head[:n]) {
			_, err = f.Seek(0, io.SeekStart)
			return f, kind, err
		}
	}
	defer f.Close()
	if err := format.Placeholder(f, path); err != nil {
		return nil, pictureFormat{}, badInput(path, err)
	}
	return nil, pictureFormat{}, badInputf(path, "unreadable: begins with %q, expected a PNG, JPEG, WebP, TIFF or OpenEXR picture", head[:n])
}

func readPictureHeader(path string) (h pictureHeader, err error) {
	f, format, err := openPicture(path)
	if err != nil {
		return h, err
	}
	defer f.Close()
	cfg, err := format.config(f)
	if err != nil {
		return h, badInputf(path, "unreadable %s: %w", format.name, err)
	}
	if err := checkSize(cfg.Height, cfg.Width); err != nil {
		return h, badInput(path, err)
	}
	if cfg.ColorModel == color.CMYKModel {
		return h, badInputf(path, "is a CMYK picture, expected RGB, YCbCr or gray")
	}
	h = pictureHeader{height: cfg.Height, width: cfg.Width, turn: format.turn(f),
		alpha: mayBeTransparent(cfg.ColorModel), animated: format.animated != nil && format.animated(f)}
	if err := format.more(f, &h); err != nil {
		return h, badInput(path, err)
	}
	if h.turn >= 5 {
		h.height, h.width = h.width, h.height
	}
	return h, nil
}

// readPicture decodes a file as it is stored, and returns its orientation.
func readPicture(ctx context.Context, path string) (image.Image, turn, error) {
	f, format, err := openPicture(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	img, err := format.read(ctx, f)
	if _, foreign := errors.AsType[*toolError](err); foreign || err != nil && ctx.Err() != nil {
		return nil, 0, fmt.Errorf("media: %s: %w", path, err)
	}
	if err != nil {
		return nil, 0, badInputf(path, "unreadable %s: %w", format.name, err)
	}
	return img, format.turn(f), nil
}

// read decodes a file from its beginning.
func (p pictureFormat) read(ctx context.Context, f *os.File) (image.Image, error) {
	if p.whole != nil {
		return p.whole(ctx, f)
	}
	return p.decode(bufio.NewReaderSize(f, 1<<16))
}

// mayBeTransparent reports whether a colour model has alpha.
func mayBeTransparent(m color.Model) bool {
	if p, ok := m.(color.Palette); ok {
		for _, c := range p {
			if _, _, _, a := c.RGBA(); a != 0xffff {
				return true
			}
		}
		return false
	}
	return m == color.NRGBAModel || m == color.NRGBA64Model || m == color.NYCbCrAModel
}

// webpYCbCr is a lossy WebP picture, which VP8 stores in BT.601 and limited range, unlike
// package image's YCbCr.
type webpYCbCr struct{ image.NYCbCrA }

// Opaque also handles pictures without an alpha plane.
func (w *webpYCbCr) Opaque() bool { return w.A == nil || w.NYCbCrA.Opaque() }

func decodeWebP(r io.Reader) (image.Image, error) {
	img, err := webp.Decode(r)
	switch img := img.(type) {
	case *image.YCbCr:
		return &webpYCbCr{image.NYCbCrA{YCbCr: *img}}, err
	case *image.NYCbCrA:
		return &webpYCbCr{*img}, err
	}
	return img, err
}

// planesFloats converts BT.601 in full or limited range. A subsampled chroma sample lies
// in the middle of its pixels, and is interpolated linearly between them, as in libjpeg
// and libwebp. alpha may be nil.
func planesFloats(dst []float32, channels int, img *image.YCbCr, alpha []byte, alphaStride int, full bool) {
	steps := map[image.YCbCrSubsampleRatio][2]int{
		image.YCbCrSubsampleRatio444: {1, 1}, image.YCbCrSubsampleRatio422: {2, 1}, image.YCbCrSubsampleRatio420: {2, 2},
		image.YCbCrSubsampleRatio440: {1, 2}, image.YCbCrSubsampleRatio411: {4, 1}, image.YCbCrSubsampleRatio410: {4, 2},
	}[img.SubsampleRatio]
	layout := y4mLayout{stepX: steps[0], stepY: steps[1], atX: float32(steps[0]-1) / 2, atY: float32(steps[1]-1) / 2}
	h, w := img.Rect.Dy(), img.Rect.Dx()
	f := y4mFormat{height: h, width: w, full: full, matrix: "bt601", layout: layout}
	ch, cw := f.chromaSize()
	var planes [2][]byte
	for i, from := range [][]byte{img.Cb, img.Cr} {
		for y := range ch {
			planes[i] = append(planes[i], from[y*img.CStride:][:cw]...)
		}
	}
	setOpaque(dst, channels)
	rows := [2][]float32{make([]float32, w), make([]float32, w)}
	for y := range h {
		for i := range planes {
			layout.upsampleRow(rows[i], planes[i], y, ch, cw)
		}
		row := dst[y*w*channels:][:w*channels]
		f.rowToRGB(row, channels, img.Y[y*img.YStride:], rows[0], rows[1])
		for x := 0; alpha != nil && channels == 4 && x < w; x++ {
			row[4*x+3] = byteFloat(alpha[y*alphaStride+x])
		}
	}
}

// turn is the EXIF orientation: 1 is upright, 2 to 4 are mirrored or upside down, from 5
// on height and width are swapped.
type turn int

// apply rotates the stored frame src to dst, [h,w,channels].
func (o turn) apply(dst, src []float32, h, w, channels int) {
	sh, sw := h, w
	if o >= 5 {
		sh, sw = w, h
	}
	for y := range h {
		for x := range w {
			r, c := y, x
			if o >= 5 {
				r, c = x, y
			}
			if o == 3 || o == 4 || o == 6 || o == 7 {
				r = sh - 1 - r
			}
			if o == 2 || o == 3 || o == 7 || o == 8 {
				c = sw - 1 - c
			}
			copy(dst[(y*w+x)*channels:][:channels], src[(r*sw+c)*channels:])
		}
	}
}
