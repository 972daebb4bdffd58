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
)

// pngClip is one PNG file per frame. Files are decoded when asked for.
type pngClip struct {
	paths         []string
	height, width int
}

// openFolder opens the PNG files of a folder in natural order: frame_9 before
// frame_10.
func openFolder(path string) (Clip, error) {
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
	return openPNGs(names)
}

// openPNGs opens one file per frame and holds them all to one size.
func openPNGs(paths []string) (Clip, error) {
	c := &pngClip{paths: paths}
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
	f, err := os.Open(path)
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
func (c *pngClip) FPS() Rational             { return Rational{} }
func (c *pngClip) Close() error              { return nil }

func (c *pngClip) ReadFrame(t int, dst []float32) error {
	checkRead(c, t, dst)
	f, err := os.Open(c.paths[t])
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
	if err := imageFloats(dst, img); err != nil {
		return badInput(c.paths[t], err)
	}
	return nil
}

// imageFloats converts the kinds of image that image/png makes. Alpha is
// dropped: the colours are the stored ones, not blended with anything.
func imageFloats(dst []float32, img image.Image) error {
	b := img.Bounds()
	w := b.Dx()
	for y := range b.Dy() {
		row := dst[y*w*3 : (y+1)*w*3]
		switch img := img.(type) {
		case *image.RGBA: // opaque
			bytesRow(row, img.Pix[y*img.Stride:], 4, [3]int{0, 1, 2})
		case *image.NRGBA:
			bytesRow(row, img.Pix[y*img.Stride:], 4, [3]int{0, 1, 2})
		case *image.Gray:
			bytesRow(row, img.Pix[y*img.Stride:], 1, [3]int{})
		case *image.RGBA64: // opaque
			wordsRow(row, img.Pix[y*img.Stride:], 8, [3]int{0, 2, 4})
		case *image.NRGBA64:
			wordsRow(row, img.Pix[y*img.Stride:], 8, [3]int{0, 2, 4})
		case *image.Gray16:
			wordsRow(row, img.Pix[y*img.Stride:], 2, [3]int{})
		case *image.Paletted:
			if err := paletteRow(row, img.Pix[y*img.Stride:], img.Palette); err != nil {
				return err
			}
		default:
			return fmt.Errorf("PNG decoded as %T, which isn't supported", img)
		}
	}
	return nil
}

// bytesRow converts pixels of step bytes with R, G, B at the given offsets.
func bytesRow(dst []float32, src []byte, step int, at [3]int) {
	for x := 0; x < len(dst)/3; x++ {
		for c := range 3 {
			dst[3*x+c] = byteFloat(src[x*step+at[c]])
		}
	}
}

func wordsRow(dst []float32, src []byte, step int, at [3]int) {
	for x := 0; x < len(dst)/3; x++ {
		for c := range 3 {
			i := x*step + at[c]
			dst[3*x+c] = wordFloat(uint16(src[i])<<8 | uint16(src[i+1]))
		}
	}
}

func paletteRow(dst []float32, src []byte, palette color.Palette) error {
	for x := 0; x < len(dst)/3; x++ {
		if int(src[x]) >= len(palette) {
			return fmt.Errorf("palette index %d, the palette has %d colours", src[x], len(palette))
		}
		var r, g, b byte
		switch c := palette[src[x]].(type) {
		case color.RGBA:
			r, g, b = c.R, c.G, c.B
		case color.NRGBA:
			r, g, b = c.R, c.G, c.B
		default:
			return fmt.Errorf("palette of %T, which isn't supported", c)
		}
		dst[3*x], dst[3*x+1], dst[3*x+2] = byteFloat(r), byteFloat(g), byteFloat(b)
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
