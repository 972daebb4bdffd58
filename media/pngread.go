//go:build !js

package media

import (
	"fmt"
	"image"
	"image/color"
	"math"
)

// imageFloats converts the image types that decoders return to a frame, [H,W,channels].
// It never multiplies by alpha: the colours are the stored ones, also with alpha 0. For 3
// channels it drops alpha; for 4 channels, pictures without alpha are opaque.
func imageFloats(dst []float32, channels int, img image.Image) error {
	switch img := img.(type) {
	case *image.YCbCr: // JPEG's
		planesFloats(dst, channels, img, nil, 0, true)
		return nil
	case *webpYCbCr:
		planesFloats(dst, channels, &img.YCbCr, img.A, img.AStride, false)
		return nil
	case *lightImage:
		img.frame(dst, channels)
		return nil
	}
	b := img.Bounds()
	n := b.Dx() * channels
	opaque, gray := [4]int{0, 1, 2, -1}, [4]int{0, 0, 0, -1}
	for y := range b.Dy() {
		row := dst[y*n : (y+1)*n]
		switch img := img.(type) {
		case *image.RGBA: // only for pictures without alpha
			bytesRow(row, channels, img.Pix[y*img.Stride:], 4, opaque)
		case *image.NRGBA:
			bytesRow(row, channels, img.Pix[y*img.Stride:], 4, [4]int{0, 1, 2, 3})
		case *image.Gray:
			bytesRow(row, channels, img.Pix[y*img.Stride:], 1, gray)
		case *image.RGBA64: // only for pictures without alpha
			wordsRow(row, channels, img.Pix[y*img.Stride:], 8, opaque)
		case *image.NRGBA64:
			wordsRow(row, channels, img.Pix[y*img.Stride:], 8, [4]int{0, 1, 2, 3})
		case *image.Gray16:
			wordsRow(row, channels, img.Pix[y*img.Stride:], 2, gray)
		case *image.Paletted:
			if err := paletteRow(row, channels, img.Pix[y*img.Stride:], img.Palette); err != nil {
				return err
			}
		default:
			return fmt.Errorf("decoded as %T, which isn't supported", img)
		}
	}
	return nil
}

// bytesRow converts pixels of step bytes with R, G, B and alpha at the given positions;
// -1 means opaque.
func bytesRow(dst []float32, channels int, src []byte, step int, at [4]int) {
	for x := range len(dst) / channels {
		for c, i := range at[:channels] {
			if i < 0 {
				dst[channels*x+c] = 1
				continue
			}
			dst[channels*x+c] = byteFloat(src[x*step+i])
		}
	}
}

// wordsRow is bytesRow for 16-bit samples, with positions counted in samples.
func wordsRow(dst []float32, channels int, src []byte, step int, at [4]int) {
	for x := range len(dst) / channels {
		for c, i := range at[:channels] {
			if i < 0 {
				dst[channels*x+c] = 1
				continue
			}
			j := x*step + 2*i
			dst[channels*x+c] = wordFloat(uint16(src[j])<<8 | uint16(src[j+1]))
		}
	}
}

func paletteRow(dst []float32, channels int, src []byte, palette color.Palette) error {
	for x := range len(dst) / channels {
		if int(src[x]) >= len(palette) {
			return fmt.Errorf("palette index %d, the palette has %d colours", src[x], len(palette))
		}
		var v [4]float32
		switch c := palette[src[x]].(type) {
		case color.RGBA: // only in palettes without alpha
			v = [4]float32{byteFloat(c.R), byteFloat(c.G), byteFloat(c.B), 1}
		case color.NRGBA:
			v = [4]float32{byteFloat(c.R), byteFloat(c.G), byteFloat(c.B), byteFloat(c.A)}
		case color.RGBA64: // TIFF's, without alpha
			v = [4]float32{wordFloat(c.R), wordFloat(c.G), wordFloat(c.B), 1}
		default:
			return fmt.Errorf("palette of %T, which isn't supported", c)
		}
		copy(dst[channels*x:], v[:channels])
	}
	return nil
}

// codeOf rounds a pixel value to the nearest code from 0 to most, at most 65535. It
// clamps values outside [-1,1].
func codeOf(v float32, most float64) uint16 {
	return uint16(math.Floor((float64(clamp1(v))+1)/2*most + 0.5))
}
