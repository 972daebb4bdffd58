//go:build !js

package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/x448/float16"
	"golang.org/x/image/tiff"
)

// deepFrame returns a frame whose values lie between 8-bit codes, at their ends and
// beyond.
func deepFrame(t, height, width, channels int) []float32 {
	frame := make([]float32, height*width*channels)
	for i := range frame {
		frame[i] = float32(math.Sin(0.37*float64(i)+float64(t))) * 1.02
	}
	return frame
}

// writeDeep writes a clip of one frame each.
func writeDeep(t *testing.T, path string, channels, frames int, pixels string) {
	t.Helper()
	f := Format{Height: 5, Width: 7, Frames: frames, Channels: channels}
	s, err := CreateWith(t.Context(), path, f, CreateOptions{PixelFormat: pixels})
	require.NoError(t, err)
	require.Equal(t, pixels != "" && pixels != "rgb24" || filepath.Ext(path) == ".exr", s.NeedsFloat())
	for i := range frames {
		require.NoError(t, s.WriteFrame(deepFrame(i, 5, 7, channels)))
	}
	require.NoError(t, s.Close())
}

// codes16 returns round((x+1)/2*65535) of a frame's values, and 65535 for a missing
// alpha.
func codes16(frame []float32, channels int) []uint16 {
	var codes []uint16
	for i, v := range frame {
		codes = append(codes, uint16(math.Round((math.Max(-1, math.Min(1, float64(v)))+1)/2*65535)))
		if channels == 3 && i%3 == 2 {
			codes = append(codes, 65535)
		}
	}
	return codes
}

// straight returns the 16-bit samples of a picture, not multiplied by alpha.
func straight(img image.Image) []uint16 {
	var codes []uint16
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := img.At(x, y)
			if p, ok := c.(color.NRGBA64); ok {
				codes = append(codes, p.R, p.G, p.B, p.A)
				continue
			}
			r, g, b, a := c.RGBA()
			codes = append(codes, uint16(r), uint16(g), uint16(b), uint16(a))
		}
	}
	return codes
}

// TestDeepPictures: 16 bits of PNG and TIFF are the floats, rounded once, as packages
// image/png and tiff, this package and ffmpeg read them.
func TestDeepPictures(t *testing.T) {
	for _, c := range []struct {
		name, pixels string
		channels     int
	}{
		{"x.png", "rgb48be", 3}, {"x.png", "rgb48le", 3}, {"x.png", "rgba64be", 4},
		{"x.tiff", "rgb48le", 3}, {"x.TIF", "rgb48be", 3}, {"x.tif", "rgba64le", 4},
		{"frames", "rgb48be", 3}, {"frames", "rgba64be", 4},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		frames := map[bool]int{true: 3, false: 1}[c.name == "frames"]
		writeDeep(t, path, c.channels, frames, c.pixels)
		for i := range frames {
			file := path
			if c.name == "frames" {
				file = filepath.Join(path, fmt.Sprintf("frame_%04d.png", i))
			}
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			decode := png.Decode
			if strings.HasPrefix(c.name, "x.t") || strings.HasPrefix(c.name, "x.T") {
				decode = tiff.Decode
			}
			img, err := decode(bytes.NewReader(data))
			require.NoError(t, err)
			frame := deepFrame(i, 5, 7, c.channels)
			want := codes16(frame, c.channels)
			require.Equal(t, want, straight(img), "%s of %s", c.name, c.pixels)
			if c.channels == 3 {
				require.NotContains(t, fmt.Sprintf("%T", img), "NRGBA", "no alpha is written")
			}
			for j, v := range readAlpha(t, path, 4, i) {
				require.InDelta(t, float64(want[j])/32767.5-1, v, 1e-6)
			}
			if HaveFFmpeg() {
				raw, err := exec.Command("ffmpeg", "-v", "error", "-i", file, "-f", "rawvideo", "-pix_fmt", "rgba64be", "-").Output()
				require.NoError(t, err)
				got := make([]uint16, len(raw)/2)
				for j := range got {
					got[j] = binary.BigEndian.Uint16(raw[2*j:])
				}
				require.Equal(t, want, got, "%s by ffmpeg", c.name)
			}
		}
	}
}

// TestTIFFOf8Bits: TIFF without a pixel format, from floats and from bytes.
func TestTIFFOf8Bits(t *testing.T) {
	for _, channels := range []int{3, 4} {
		path := filepath.Join(t.TempDir(), "x.tiff")
		f := Format{Height: 5, Width: 7, Frames: 1, Channels: channels}
		frame := deepFrame(0, 5, 7, channels)
		for _, form := range []string{"floats", "bytes"} {
			s, err := Create(t.Context(), path, f)
			require.NoError(t, err)
			rgba := make([]byte, 5*7*4)
			ToRGBA(rgba, frame, channels)
			if form == "bytes" {
				require.NoError(t, s.WriteRGBA8(rgba))
			} else {
				require.NoError(t, s.WriteFrame(frame))
			}
			require.NoError(t, s.Close())
			file, err := os.Open(path)
			require.NoError(t, err)
			img, err := tiff.Decode(file)
			require.NoError(t, err)
			require.NoError(t, file.Close())
			var got []byte
			switch img := img.(type) {
			case *image.RGBA:
				got = img.Pix
			case *image.NRGBA:
				got = img.Pix
			}
			require.Equal(t, rgba, got, "%d channels, from %s", channels, form)
		}
	}
}

// TestPictureFormats: impossible pixel formats of a picture are refused by name, before
// anything is written.
func TestPictureFormats(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, pixels string
		channels     int
		want         string
	}{
		{"x.png", "yuv420p", 3, `x.png: pixel format "yuv420p" of frames of 3 channels, expected rgb24, rgb48be, rgb48le`},
		{"x.png", "gbrpf32le", 3, `x.png: pixel format "gbrpf32le" of frames of 3 channels, expected rgb24, rgb48be, rgb48le`},
		{"x.tiff", "rgb48le", 4, `x.tiff: pixel format "rgb48le" of frames of 4 channels, expected rgba, rgba64be, rgba64le`},
		{"x.exr", "rgb48le", 3, `x.exr: pixel format "rgb48le" of frames of 3 channels, expected gbrpf16le, gbrpf32le`},
		{"frames", "rgb565", 3, `frames: pixel format "rgb565" of frames of 3 channels, expected rgb24, rgb48be, rgb48le, gbrpf16le, gbrpf32le`},
		{"x.npy", "rgb48be", 3, "x.npy: has no pixel format rgb48be, expected .mp4"},
		{"x.y4m", "rgb48be", 3, "x.y4m: has no pixel format rgb48be, expected .mp4"},
	} {
		_, err := CreateWith(t.Context(), filepath.Join(dir, c.name), Format{Height: 5, Width: 7, Frames: 1, Channels: c.channels}, CreateOptions{PixelFormat: c.pixels})
		require.ErrorIs(t, err, ErrOption)
		require.ErrorContains(t, err, c.want)
	}
	for _, name := range []string{"x.tiff", "x.exr"} {
		_, err := Create(t.Context(), filepath.Join(dir, name), Format{Height: 5, Width: 7, Frames: 2})
		require.ErrorIs(t, err, ErrOutput)
		require.ErrorContains(t, err, "2 frames don't fit into one "+pictureNames[filepath.Ext(name)])
	}
	only(t, dir)
}

// TestWriteLight: OpenEXR of half and float is linear light, as ffmpeg reads it, with
// premultiplied colours; alone and in folders.
func TestWriteLight(t *testing.T) {
	needFFmpeg(t)
	for _, c := range []struct {
		name, pixels string
		channels     int
		off          float64
	}{
		{"x.exr", "", 3, 1e-7}, {"x.exr", "gbrpf16le", 3, 3e-4}, {"x.exr", "gbrapf32le", 4, 1e-7},
		{"frames", "gbrpf32le", 3, 1e-7}, {"frames", "gbrpf16le", 3, 3e-4},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		frames := map[bool]int{true: 3, false: 1}[c.name == "frames"]
		for range 2 { // the second replaces the first
			writeDeep(t, path, c.channels, frames, c.pixels)
		}
		for i := range frames {
			file := path
			if c.name == "frames" {
				file = filepath.Join(path, fmt.Sprintf("frame_%04d.exr", i))
			}
			frame := deepFrame(i, 5, 7, c.channels)
			raw, err := exec.Command("ffmpeg", "-v", "error", "-i", file, "-f", "rawvideo", "-").Output()
			require.NoError(t, err)
			if len(raw) == 2*len(frame) { // newer ffmpeg keeps half, and rounds when converting to float
				var wide []byte
				for b := range slices.Chunk(raw, 2) {
					wide = binary.LittleEndian.AppendUint32(wide, math.Float32bits(float16.Frombits(binary.LittleEndian.Uint16(b)).Float32()))
				}
				raw = wide
			}
			require.Len(t, raw, 4*len(frame))
			var clamped []float32
			for _, v := range frame {
				clamped = append(clamped, max(-1, min(1, v)))
			}
			for plane, channel := range []int{1, 2, 0, 3}[:c.channels] {
				for p := range 5 * 7 {
					got := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*(plane*5*7+p):]))
					want := (float64(clamped[p*c.channels+channel]) + 1) / 2
					if channel < 3 && want <= 0.04045 { // the inverse, by its definition
						want /= 12.92
					} else if channel < 3 {
						want = math.Pow((want+0.055)/1.055, 2.4)
					}
					if channel < 3 && c.channels == 4 {
						want *= (float64(clamped[p*4+3]) + 1) / 2
					}
					require.InDelta(t, want, got, c.off, "%s of %s", c.name, c.pixels)
				}
			}
			if c.channels == 3 {
				require.InDeltaSlice(t, clamped, readAlpha(t, path, 3, i), max(10*c.off, 1e-6), "read back")
			}
		}
	}
	dir := filepath.Join(t.TempDir(), "frames")
	require.NoError(t, os.Mkdir(dir, 0o777))
	putFile(t, dir, "frame_0000.exr", exrFile(1, 0, nil, exrSample{"Y", false, []float32{1}, false}))
	_, err := Create(t.Context(), dir, Format{Height: 4, Width: 4, Frames: 1})
	require.ErrorContains(t, err, "folder holds frame_0000.exr, expected nothing but frames that tessera wrote")
}
