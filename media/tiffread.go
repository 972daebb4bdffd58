//go:build !js

package media

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"io"
	"os"
	"slices"

	"golang.org/x/image/tiff"
)

// Tags of TIFF, revision 6.0.
const (
	tiffCompression  = 259
	tiffPhotometric  = 262
	tiffStrips       = 273
	tiffOrientation  = 274
	tiffPlanar       = 284
	tiffExtraSamples = 338
	tiffSampleFormat = 339
	tiffProfile      = 34675
)

func isTIFF(head []byte) bool { return begin("II*\x00")(head) || begin("MM\x00*")(head) }

// tiffTags are the first numbers, of at most 32 bits, of each entry of a TIFF's first
// directory, and the position of its profile's data.
type tiffTags struct {
	first       map[uint16]uint32
	profileAt   int64
	profileSize int64
	more        bool // there is a second directory: another picture, or a smaller version
}

// readTIFFTags reads only the directory, at most 65535 entries.
func readTIFFTags(r io.ReadSeeker) (t tiffTags, err error) {
	t.first = map[uint16]uint32{}
	at := func(offset int64, n int) []byte {
		b := make([]byte, n)
		if err == nil {
			_, err = r.Seek(offset, io.SeekStart)
		}
		if err == nil {
			_, err = io.ReadFull(r, b)
		}
		return b
	}
	head := at(0, 8)
	var order binary.ByteOrder = binary.LittleEndian
	if begin("MM")(head) {
		order = binary.BigEndian
	}
	directory := int64(order.Uint32(head[4:]))
	n := int(order.Uint16(at(directory, 2)))
	entries := at(directory+2, 12*n)
	if err != nil {
		return t, err
	}
	for e := range slices.Chunk(entries, 12) {
		tag, kind, count := order.Uint16(e), order.Uint16(e[2:]), order.Uint32(e[4:])
		switch {
		case tag == tiffProfile:
			t.profileAt, t.profileSize = int64(order.Uint32(e[8:])), int64(count)
		case kind == 3 && count > 2: // stored elsewhere
			t.first[tag] = uint32(order.Uint16(at(int64(order.Uint32(e[8:])), 2)))
		case kind == 3:
			t.first[tag] = uint32(order.Uint16(e[8:]))
		case kind == 4 && count == 1:
			t.first[tag] = order.Uint32(e[8:])
		}
	}
	if err == nil {
		next := at(directory+2+12*int64(n), 4)
		t.more = err == nil && order.Uint32(next) != 0
		err = nil // a file may end there
	}
	return t, err
}

// strange names a feature of a TIFF that package tiff reads wrongly or not at all, "" for
// none.
func (t tiffTags) strange() string {
	switch c := cmp.Or(t.first[tiffCompression], 1); {
	case !slices.Contains([]uint32{1, 2, 3, 4, 5, 8, 32773, 32946}, c):
		return fmt.Sprintf("compression %d", c)
	case t.first[tiffPhotometric] > 3:
		return fmt.Sprintf("photometric interpretation %d", t.first[tiffPhotometric])
	case cmp.Or(t.first[tiffPlanar], 1) != 1:
		return "colours in planes"
	case cmp.Or(t.first[tiffSampleFormat], 1) != 1:
		return "samples that are no unsigned integers"
	}
	return ""
}

// ownPicture reports whether the file at path, called .tiff or .exr, is read without
// ffmpeg, or with ffmpeg only for its pixels.
func ownPicture(path string) bool {
	f, format, err := openPicture(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if format.name != "TIFF" {
		return true // another format under that name
	}
	_, err = tiffConfig(f)
	return err == nil
}

// tiffConfig reads the header, and refuses what decodeTIFF would refuse.
func tiffConfig(f *os.File) (image.Config, error) {
	t, err := readTIFFTags(f)
	if err != nil {
		return image.Config{}, err
	}
	if what := t.strange(); what != "" {
		return image.Config{}, fmt.Errorf("%s, expected 8 or 16 bits a channel, uncompressed or in LZW, Deflate or PackBits", what)
	}
	cfg, err := tiff.DecodeConfig(io.NewSectionReader(f, 0, 1<<62))
	if t.premultiplied() {
		cfg.ColorModel = color.NRGBA64Model
	}
	return cfg, err
}

// premultiplied reports whether colours are multiplied by alpha.
func (t tiffTags) premultiplied() bool { return t.first[tiffExtraSamples] == 1 }

// decodeTIFF reads the first picture. It divides premultiplied colours by alpha.
func decodeTIFF(_ context.Context, f *os.File) (image.Image, error) {
	img, err := tiff.Decode(io.NewSectionReader(f, 0, 1<<62))
	if err != nil {
		return nil, err
	}
	t, err := readTIFFTags(f)
	if err != nil || !t.premultiplied() {
		return img, err
	}
	switch img := img.(type) {
	case *image.RGBA:
		straight := image.NewNRGBA64(img.Rect)
		for i := range len(img.Pix) / 4 {
			var p [4]float64
			for c := range p {
				p[c] = float64(img.Pix[4*i+c]) / 255
			}
			putStraight(straight.Pix[8*i:], p)
		}
		return straight, nil
	case *image.RGBA64:
		straight := image.NewNRGBA64(img.Rect)
		for i := range len(img.Pix) / 8 {
			var p [4]float64
			for c := range p {
				p[c] = float64(binary.BigEndian.Uint16(img.Pix[8*i+2*c:])) / 65535
			}
			putStraight(straight.Pix[8*i:], p)
		}
		return straight, nil
	}
	return img, nil
}

// putStraight stores a premultiplied pixel as straight 16-bit samples. With alpha 0 the
// colours stay.
func putStraight(dst []byte, p [4]float64) {
	for c, v := range p {
		if c < 3 && p[3] > 0 {
			v = min(1, v/p[3])
		}
		binary.BigEndian.PutUint16(dst[2*c:], uint16(v*65535+0.5))
	}
}

func tiffTurn(r io.ReadSeeker) turn {
	t, err := readTIFFTags(r)
	if o := turn(t.first[tiffOrientation]); err == nil && o >= 1 && o <= 8 {
		return o
	}
	return 1
}

// moreTIFF looks for a profile and for further pictures.
func moreTIFF(f *os.File, h *pictureHeader) error {
	t, err := readTIFFTags(f)
	if err != nil {
		return err
	}
	if t.profileSize > 0 {
		data := make([]byte, min(t.profileSize, maxPart))
		n, _ := f.ReadAt(data, t.profileAt)
		h.profile = shownProfile(bytes.Clone(data[:n]))
	}
	h.divided = t.premultiplied()
	if t.more {
		h.others = "further pictures"
	}
	return nil
}
