//go:build !js

package media

import (
	"bufio"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tessera/format/file"
	"tessera/latent"
)

// pngClip is one PNG file per frame. Files are decoded when asked for.
type pngClip struct {
	paths         []string
	height, width int
	channels      int
}

// openFolder opens the PNG files of a folder in natural order: frame_9 before
// frame_10.
func openFolder(path string, channels int) (Clip, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, badInput(path, err)
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && extension(e.Name()) == ".png" && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, badInputf(path, "folder holds no .png files (%d others)", len(entries))
	}
	slices.SortFunc(names, naturalCompare)
	for i, name := range names {
		names[i] = filepath.Join(path, name)
	}
	return openPNGs(names, channels)
}

// openPNGs opens one file per frame and holds them all to one size.
func openPNGs(paths []string, channels int) (Clip, error) {
	c := &pngClip{paths: paths, channels: channels}
	for i, path := range paths {
		h, w, err := pngSize(path)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			c.height, c.width = h, w
		}
		if h != c.height || w != c.width {
			return nil, badInputf(path, "is %d x %d, expected %d x %d as %s has",
				w, h, c.width, c.height, filepath.Base(paths[0]))
		}
	}
	return c, nil
}

func pngSize(path string) (height, width int, err error) {
	f, _, err := file.Open(path)
	if err != nil {
		return 0, 0, badInput(path, err)
	}
	defer f.Close()
	cfg, err := png.DecodeConfig(bufio.NewReader(f))
	if err != nil {
		return 0, 0, badInputf(path, "unreadable PNG: %w", err)
	}
	if err := checkSize(cfg.Height, cfg.Width); err != nil {
		return 0, 0, badInput(path, err)
	}
	return cfg.Height, cfg.Width, nil
}

func (c *pngClip) Frames() int               { return len(c.paths) }
func (c *pngClip) Size() (height, width int) { return c.height, c.width }
func (c *pngClip) Channels() int             { return c.channels }
func (c *pngClip) FPS() latent.Rational      { return latent.Rational{} }
func (c *pngClip) Close() error              { return nil }

func (c *pngClip) ReadFrame(t int, dst []float32) error {
	checkRead(c, t, dst)
	f, _, err := file.Open(c.paths[t])
	if err != nil {
		return badInput(c.paths[t], err)
	}
	defer f.Close()
	img, err := png.Decode(bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		return badInputf(c.paths[t], "unreadable PNG: %w", err)
	}
	if b := img.Bounds(); b.Dx() != c.width || b.Dy() != c.height {
		return badInputf(c.paths[t], "is %d x %d now, was %d x %d when opened", b.Dx(), b.Dy(), c.width, c.height)
	}
	if err := imageFloats(dst, c.channels, img); err != nil {
		return badInput(c.paths[t], err)
	}
	return nil
}

// imageFloats converts the kinds of image that image/png makes to a frame,
// [H,W,channels]. Nothing is multiplied by alpha on the way: the colours are the
// stored ones, also under alpha 0. For 3 channels alpha is dropped, for 4 it is
// opaque where there is none.
func imageFloats(dst []float32, channels int, img image.Image) error {
	b := img.Bounds()
	n := b.Dx() * channels
	opaque, gray := [4]int{0, 1, 2, -1}, [4]int{0, 0, 0, -1}
	for y := range b.Dy() {
		row := dst[y*n : (y+1)*n]
		switch img := img.(type) {
		case *image.RGBA: // only of pictures without alpha
			bytesRow(row, channels, img.Pix[y*img.Stride:], 4, opaque)
		case *image.NRGBA:
			bytesRow(row, channels, img.Pix[y*img.Stride:], 4, [4]int{0, 1, 2, 3})
		case *image.Gray:
			bytesRow(row, channels, img.Pix[y*img.Stride:], 1, gray)
		case *image.RGBA64: // only of pictures without alpha
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
			return fmt.Errorf("PNG decoded as %T, which isn't supported", img)
		}
	}
	return nil
}

// bytesRow converts pixels of step bytes with R, G, B and alpha at the given
// places, -1 for an alpha that is opaque.
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

// wordsRow is bytesRow of 16-bit samples, their places counted in samples.
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
		var v [4]byte
		switch c := palette[src[x]].(type) {
		case color.RGBA: // only of palettes without alpha
			v = [4]byte{c.R, c.G, c.B, 255}
		case color.NRGBA:
			v = [4]byte{c.R, c.G, c.B, c.A}
		default:
			return fmt.Errorf("palette of %T, which isn't supported", c)
		}
		for c := range channels {
			dst[channels*x+c] = byteFloat(v[c])
		}
	}
	return nil
}

// naturalCompare orders names as people do: runs of digits by their value.
func naturalCompare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if !isDigit(x[0]) || !isDigit(y[0]) {
			if x[0] != y[0] {
				return int(x[0]) - int(y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		var p, q string
		p, x = cutDigits(x)
		q, y = cutDigits(y)
		if len(p) != len(q) {
			return len(p) - len(q)
		}
		if p != q {
			return strings.Compare(p, q)
		}
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b) // equal but for leading zeros
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// cutDigits splits s behind its leading digits and drops their leading zeros.
func cutDigits(s string) (digits, rest string) {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return strings.TrimLeft(s[:n], "0"), s[n:]
}
