//go:build !js

package media

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/tiff"
)

// TestTIFFKinds: how other programs' TIFF files are read, and which are left to ffmpeg.
func TestTIFFKinds(t *testing.T) {
	dir := t.TempDir()
	encode := func(name string, img image.Image, o *tiff.Options) string {
		var b bytes.Buffer
		require.NoError(t, tiff.Encode(&b, img, o))
		return putFile(t, dir, name, b.Bytes())
	}
	gray := image.NewGray16(image.Rect(0, 0, 3, 2))
	layer := image.NewNRGBA64(gray.Rect)
	glass := image.NewRGBA64(gray.Rect) // premultiplied colours
	indexed := image.NewPaletted(gray.Rect, color.Palette{color.RGBA{10, 20, 30, 255}, color.RGBA{200, 100, 50, 255}})
	for i := range 6 {
		gray.SetGray16(i%3, i/3, color.Gray16{uint16(10007 * i)})
		layer.SetNRGBA64(i%3, i/3, color.NRGBA64{uint16(10007 * i), 0x1234, 65535, uint16(13001 * i)})
		glass.SetRGBA64(i%3, i/3, color.RGBA64{uint16(5000 * i), 0, uint16(10000 * i), uint16(10000 * i)})
		indexed.SetColorIndex(i%3, i/3, uint8(i%2))
	}
	unit := func(v int) float64 { return float64(v)/32767.5 - 1 }
	for _, c := range []struct {
		path string
		want func(i int) [4]float64
	}{
		{encode("gray.tif", gray, &tiff.Options{Compression: tiff.Deflate}), func(i int) [4]float64 { v := unit(10007 * i); return [4]float64{v, v, v, 1} }},
		{encode("layer.tiff", layer, nil), func(i int) [4]float64 { return [4]float64{unit(10007 * i), unit(0x1234), 1, unit(13001 * i)} }},
		{encode("glass.tiff", glass, nil), func(i int) [4]float64 {
			if i == 0 {
				return [4]float64{-1, -1, -1, -1}
			}
			return [4]float64{unit(32768), -1, 1, unit(10000 * i)}
		}},
		{encode("indexed.tif", indexed, nil), func(i int) [4]float64 {
			p := [2][3]float64{{10, 20, 30}, {200, 100, 50}}[i%2]
			return [4]float64{p[0]/127.5 - 1, p[1]/127.5 - 1, p[2]/127.5 - 1, 1}
		}},
	} {
		clip, err := Open(t.Context(), c.path, 4)
		require.NoError(t, err)
		frame := make([]float32, 24)
		require.NoError(t, clip.ReadFrame(0, frame))
		for i := range 6 {
			for k, want := range c.want(i) {
				assert.InDelta(t, want, frame[4*i+k], 2e-5, "%s: pixel %d", c.path, i)
			}
		}
		require.NoError(t, clip.Close())
	}

	plain, err := os.ReadFile(encode("plain.tif", gray, nil))
	require.NoError(t, err)
	// One more entry in the directory, and a second directory after it.
	tagged := func(tag, kind uint16, value uint32, more bool) []byte {
		le := binary.LittleEndian
		at := le.Uint32(plain[4:])
		n := int(le.Uint16(plain[at:]))
		out := le.AppendUint16(bytes.Clone(plain), uint16(n+1))
		le.PutUint32(out[4:], uint32(len(plain)))
		entry := le.AppendUint32(le.AppendUint32(le.AppendUint16(le.AppendUint16(nil, tag), kind), 1), value)
		var entries [][]byte
		for e := range slices.Chunk(plain[at+2:][:12*n], 12) {
			if le.Uint16(e) != tag {
				entries = append(entries, e)
			} else {
				le.PutUint16(out[len(plain):], uint16(n))
			}
		}
		entries = append(entries, entry)
		slices.SortFunc(entries, func(a, b []byte) int { return cmp.Compare(le.Uint16(a), le.Uint16(b)) })
		out = append(out, bytes.Join(entries, nil)...)
		return le.AppendUint32(out, map[bool]uint32{true: at}[more])
	}
	upright := readAlpha(t, filepath.Join(dir, "plain.tif"), 3, 0)
	clip, _, notes := told(t, putFile(t, dir, "turned.tif", tagged(tiffOrientation, 3, 6, true)), OpenOptions{})
	assert.Equal(t, []string{"turned.tif is rotated as its EXIF data specifies", "further pictures of turned.tif are left out"}, notes)
	h, w := clip.Size()
	require.Equal(t, [2]int{3, 2}, [2]int{h, w})
	frame := readFrame(t, clip, 0)
	for y := range 3 {
		for x := range 2 {
			assert.Equal(t, upright[((1-x)*3+y)*3:][:3], frame[(y*2+x)*3:][:3])
		}
	}
	for _, c := range []struct {
		tag   uint16
		value uint32
		want  string
	}{
		{tiffCompression, 7, "compression 7, expected"},
		{tiffPlanar, 2, "colours in planes, expected"},
		{tiffSampleFormat, 3, "samples that are no unsigned integers, expected"},
	} {
		folder := filepath.Join(t.TempDir(), "folder")
		require.NoError(t, os.Mkdir(folder, 0o777))
		path := putFile(t, folder, "a.tif", tagged(c.tag, 3, c.value, false))
		_, err := Open(t.Context(), folder, 3)
		require.ErrorIs(t, err, ErrInput)
		require.ErrorContains(t, err, "a.tif: unreadable TIFF: "+c.want)
		assert.False(t, ownPicture(path), "it is ffmpeg's")
	}
	t.Setenv("PATH", dir)
	for i := range plain { // no panic
		broken := bytes.Clone(plain)
		broken[i] ^= 0xff
		if clip, err := Open(context.Background(), putFile(t, dir, "broken.tif", broken), 3); err == nil && clip.Frames() == 1 {
			h, w := clip.Size()
			_ = clip.ReadFrame(0, make([]float32, h*w*3))
			clip.Close()
		}
	}
}
