//go:build !js

package media

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
)

// alphaFrame returns testFrame with an alpha that covers the full range.
func alphaFrame(t, height, width int) []float32 {
	rgb := testFrame(t, height, width)
	frame := make([]float32, height*width*4)
	for i := range height * width {
		copy(frame[4*i:], rgb[3*i:3*i+3])
		frame[4*i+3] = max(-1, min(1, 1.5*float32(math.Sin(0.7*float64(i)+float64(t)))))
	}
	return frame
}

// withAlpha returns a frame [H,W,3] as an opaque one [H,W,4].
func withAlpha(rgb []float32) []float32 {
	var out []float32
	for i := 0; i < len(rgb); i += 3 {
		out = append(out, rgb[i], rgb[i+1], rgb[i+2], 1)
	}
	return out
}

// colours returns a frame [H,W,4] without its alpha.
func colours(rgba []float32) []float32 {
	var out []float32
	for i := 0; i < len(rgba); i += 4 {
		out = append(out, rgba[i:i+3]...)
	}
	return out
}

// readAlpha opens path and reads frame i with the given channels.
func readAlpha(t *testing.T, path string, channels, i int) []float32 {
	t.Helper()
	clip, err := Open(context.Background(), path, channels)
	require.NoError(t, err)
	defer clip.Close()
	require.Equal(t, channels, clip.Channels(), path)
	h, w := clip.Size()
	dst := make([]float32, h*w*channels)
	for j := range dst {
		dst[j] = float32(math.NaN())
	}
	require.NoError(t, clip.ReadFrame(i, dst))
	return dst
}

func writeAlpha(t *testing.T, path string, frames ...[]float32) {
	t.Helper()
	h, w := 6, len(frames[0])/4/6
	s, err := Create(context.Background(), path, Format{Height: h, Width: w, Frames: len(frames), Channels: 4})
	require.NoError(t, err)
	for _, f := range frames {
		require.NoError(t, s.WriteFrame(f))
	}
	require.NoError(t, s.Close())
}

func TestAlphaRoundTrip(t *testing.T) {
	for _, name := range []string{"one.png", "folder", "x.npy", "x.safetensors"} {
		path := filepath.Join(t.TempDir(), name)
		frames := [][]float32{alphaFrame(0, 6, 10), withAlpha(testFrame(1, 6, 10)), alphaFrame(2, 6, 10)}
		floats := name[0] == 'x'
		if name == "one.png" {
			frames = frames[:1]
		}
		writeAlpha(t, path, frames...)
		for i, want := range frames {
			levels := 0.0
			if !floats {
				want, levels = quantised(want), 1e-4
			}
			assert.LessOrEqual(t, largest(t, readAlpha(t, path, 4, i), want), levels, "%s: error of frame %d in levels", name, i)
			if floats {
				_, err := Open(context.Background(), path, 3)
				assert.ErrorContains(t, err, "expected [3,T,H,W]: they are RGBA", name)
				assert.ErrorIs(t, err, ErrInput, name)
				continue
			}
			assert.LessOrEqual(t, largest(t, readAlpha(t, path, 3, i), colours(want)), 1e-4, "%s as RGB: error of frame %d in levels", name, i)
		}
	}
}

// TestStraightAlpha writes every colour with every alpha. No colour is multiplied by
// alpha and divided again, so all come back, also with alpha 0. ffmpeg reads the same
// colours from the file.
func TestStraightAlpha(t *testing.T) {
	const side = 256
	pix := make([]byte, side*side*4)
	for a := range side {
		for c := range side {
			copy(pix[4*(a*side+c):], []byte{byte(c), byte(255 - c), byte(c*7 + a), byte(a)})
		}
	}
	path := filepath.Join(t.TempDir(), "x.png")
	floats := make([]float32, len(pix))
	FromRGBA(floats, pix, 4)
	for _, form := range []string{"bytes", "floats"} {
		s, err := Create(context.Background(), path, Format{Height: side, Width: side, Frames: 1, Channels: 4})
		require.NoError(t, err)
		if form == "bytes" {
			err = s.WriteRGBA8(pix)
		} else {
			err = s.WriteFrame(floats)
		}
		require.NoError(t, err)
		require.NoError(t, s.Close())
		got := make([]byte, len(pix))
		ToRGBA(got, readAlpha(t, path, 4, 0), 4)
		assert.True(t, bytes.Equal(pix, got), "from %s: pixels differ", form)
		if HaveFFmpeg() {
			got, err := exec.Command("ffmpeg", "-v", "error", "-i", path, "-pix_fmt", "rgba", "-f", "rawvideo", "pipe:1").Output()
			require.NoError(t, err)
			assert.True(t, bytes.Equal(pix, got), "from %s: ffmpeg reads other pixels", form)
		}
	}
}

// TestAlphaOutputIsRGBA: every frame of 4 channels is written as RGBA, even if it is
// opaque.
func TestAlphaOutputIsRGBA(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layers")
	writeAlpha(t, dir, withAlpha(testFrame(0, 6, 4)), alphaFrame(1, 6, 4))
	for _, name := range []string{"frame_0000.png", "frame_0001.png"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, []byte{8, 6}, data[24:26], "%s: bit depth, and the colour type RGBA", name)
	}
}

// pngFile assembles a PNG of one row. samples are the row's bytes; empty chunks PLTE and
// tRNS are omitted.
func pngFile(width int, depth, colour byte, samples, plte, trns []byte) []byte {
	out := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(name string, data []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
		body := append([]byte(name), data...)
		out = append(out, body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	}
	header := binary.BigEndian.AppendUint32(nil, uint32(width))
	header = binary.BigEndian.AppendUint32(header, 1)
	chunk("IHDR", append(header, depth, colour, 0, 0, 0))
	if plte != nil {
		chunk("PLTE", plte)
	}
	if trns != nil {
		chunk("tRNS", trns)
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(append([]byte{0}, samples...)) // no filter
	z.Close()
	chunk("IDAT", packed.Bytes())
	chunk("IEND", nil)
	return out
}

// TestPNGAlphaKinds reads each kind of PNG with and without transparency. The PNG
// specification, section 12.1 and following, defines each.
func TestPNGAlphaKinds(t *testing.T) {
	const off, on = 0, 1
	gray, rgb, indexed, grayAlpha, rgba := byte(0), byte(2), byte(3), byte(4), byte(6)
	f := func(code int) float64 { return float64(code) / 255 }
	w := func(code int) float64 { return float64(code) / 65535 }
	cases := []struct {
		name string
		file []byte
		want [8]float64 // two pixels, in [0,1]
	}{
		{"gray", pngFile(2, 8, gray, []byte{9, 200}, nil, nil),
			[8]float64{f(9), f(9), f(9), on, f(200), f(200), f(200), on}},
		{"gray with a transparent level", pngFile(2, 8, gray, []byte{9, 200}, nil, []byte{0, 200}),
			[8]float64{f(9), f(9), f(9), on, f(200), f(200), f(200), off}},
		{"1 bit with a transparent level", pngFile(2, 1, gray, []byte{0b01_000000}, nil, []byte{0, 1}),
			[8]float64{0, 0, 0, on, 1, 1, 1, off}},
		{"gray 16", pngFile(2, 16, gray, []byte{0x12, 0x34, 0xff, 0xfe}, nil, nil),
			[8]float64{w(0x1234), w(0x1234), w(0x1234), on, w(0xfffe), w(0xfffe), w(0xfffe), on}},
		{"gray 16 with a transparent level", pngFile(2, 16, gray, []byte{0x12, 0x34, 0xff, 0xfe}, nil, []byte{0x12, 0x34}),
			[8]float64{w(0x1234), w(0x1234), w(0x1234), off, w(0xfffe), w(0xfffe), w(0xfffe), on}},
		{"gray and alpha", pngFile(2, 8, grayAlpha, []byte{9, 0, 200, 77}, nil, nil),
			[8]float64{f(9), f(9), f(9), off, f(200), f(200), f(200), f(77)}},
		{"gray and alpha 16", pngFile(2, 16, grayAlpha, []byte{0x12, 0x34, 0, 1, 0xab, 0xcd, 0, 0}, nil, nil),
			[8]float64{w(0x1234), w(0x1234), w(0x1234), w(1), w(0xabcd), w(0xabcd), w(0xabcd), off}},
		{"rgb", pngFile(2, 8, rgb, []byte{1, 2, 3, 40, 50, 60}, nil, nil),
			[8]float64{f(1), f(2), f(3), on, f(40), f(50), f(60), on}},
		{"rgb with a transparent colour", pngFile(2, 8, rgb, []byte{1, 2, 3, 40, 50, 60}, nil, []byte{0, 1, 0, 2, 0, 3}),
			[8]float64{f(1), f(2), f(3), off, f(40), f(50), f(60), on}},
		{"rgb 16 with a transparent colour",
			pngFile(2, 16, rgb, []byte{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 6}, nil, []byte{0, 1, 2, 3, 4, 5}),
			[8]float64{w(1), w(0x0203), w(0x0405), off, w(1), w(0x0203), w(0x0406), on}},
		{"palette", pngFile(2, 8, indexed, []byte{1, 0}, []byte{1, 2, 3, 40, 50, 60}, nil),
			[8]float64{f(40), f(50), f(60), on, f(1), f(2), f(3), on}},
		{"palette with alpha", pngFile(2, 8, indexed, []byte{1, 0}, []byte{1, 2, 3, 40, 50, 60}, []byte{0, 7}),
			[8]float64{f(40), f(50), f(60), f(7), f(1), f(2), f(3), off}},
		{"palette of 4 bits with alpha of the first", pngFile(2, 4, indexed, []byte{0x10}, []byte{1, 2, 3, 40, 50, 60}, []byte{200}),
			[8]float64{f(40), f(50), f(60), on, f(1), f(2), f(3), f(200)}},
		{"rgba", pngFile(2, 8, rgba, []byte{10, 20, 30, 0, 200, 100, 0, 3}, nil, nil),
			[8]float64{f(10), f(20), f(30), off, f(200), f(100), 0, f(3)}},
		{"rgba 16", pngFile(2, 16, rgba, []byte{0, 10, 1, 20, 2, 30, 0, 0, 0xff, 0xff, 0x80, 0, 0, 0, 0x12, 0x34}, nil, nil),
			[8]float64{w(10), w(0x0114), w(0x021e), off, 1, w(0x8000), 0, w(0x1234)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.png")
			require.NoError(t, os.WriteFile(path, c.file, 0o666))
			got, plain := readAlpha(t, path, 4, 0), readAlpha(t, path, 3, 0)
			for i, want := range c.want {
				assert.InDelta(t, want*2-1, got[i], 1e-6, "value %d", i)
			}
			assert.Equal(t, colours(got), plain, "as RGB")
		})
	}
}

// TestOpaqueWithoutAlpha: a picture without alpha reads as 4 channels with equal colours,
// opaque.
func TestOpaqueWithoutAlpha(t *testing.T) {
	for _, name := range []string{"one.png", "folder", "x.y4m", "x.npy", "x.safetensors", "x.mp4", "x.webm"} {
		skipWithoutFFmpeg(t, name)
		path := filepath.Join(t.TempDir(), name)
		n := framesFor(name)
		writeClip(t, path, Format{Height: 6, Width: 10, Frames: n})
		rgb, rgba := readAlpha(t, path, 3, n-1), readAlpha(t, path, 4, n-1)
		assert.Equal(t, withAlpha(rgb), rgba, "%s: the same colours with alpha 1", name)
	}
}

// TestOverBlack: for formats without transparency, frames are blended with black, with a
// warning.
func TestOverBlack(t *testing.T) {
	frame := alphaFrame(0, 6, 10)
	var want []float32
	for i := 0; i < len(frame); i += 4 {
		for _, v := range frame[i : i+3] {
			want = append(want, (clamp1(v)+1)*(frame[i+3]+1)/2-1)
		}
	}
	for _, name := range []string{"x.y4m", "x.mp4", "x.gif", "deep.mkv"} {
		if name != "x.y4m" {
			needFFmpeg(t)
		}
		path, o := filepath.Join(t.TempDir(), name), CreateOptions{}
		levels := 2.5
		switch name {
		case "x.gif":
			levels = 40
		case "x.mp4":
			o.PixelFormat, o.CRF = "yuv444p", "0"
		case "deep.mkv":
			o.PixelFormat, o.Codec = "yuv444p10le", "ffv1"
		}
		var told []string
		o.Warn = func(text string) { told = append(told, text) }
		s, err := CreateWith(context.Background(), path, Format{Height: 6, Width: 10, Frames: 1, Channels: 4}, o)
		require.NoError(t, err, name)
		assert.Equal(t, name == "deep.mkv", s.NeedsFloat())
		require.NoError(t, s.WriteFrame(frame), name)
		require.NoError(t, s.Close(), name)
		assert.Contains(t, told, path+": doesn't keep transparency: frames are blended with black; a folder of PNG, .png, .tiff, .exr, .webp, .npy and .safetensors keep it", name)
		assert.LessOrEqual(t, largest(t, readAlpha(t, path, 3, 0), want), levels, "%s: error in levels", name)
	}
}

// TestAlphaWebP: WebP keeps alpha, and every visible colour.
func TestAlphaWebP(t *testing.T) {
	needFFmpeg(t)
	path := filepath.Join(t.TempDir(), "x.webp")
	frame := alphaFrame(0, 6, 10)
	writeAlpha(t, path, frame, alphaFrame(1, 6, 10))
	got, want := readAlpha(t, path, 4, 0), quantised(frame)
	for i := 0; i < len(want); i += 4 {
		if want[i+3] == -1 {
			copy(got[i:i+3], want[i:i+3])
		}
	}
	assert.LessOrEqual(t, largest(t, got, want), 1e-4)
}

func TestAlphaFormats(t *testing.T) {
	dir := t.TempDir()
	f := Format{Height: 2, Width: 2, Frames: 1, Channels: 4}
	for _, channels := range []int{-1, 1, 2, 5} {
		f.Channels = channels
		_, err := Create(context.Background(), filepath.Join(dir, "x.npy"), f)
		assert.ErrorContains(t, err, "channels, expected 3 or 4", "create with %d", channels)
		_, err = Open(context.Background(), dir, channels)
		assert.ErrorContains(t, err, "channels, expected 3 or 4", "open with %d", channels)
	}
	path := filepath.Join(dir, "five.npy")
	require.NoError(t, os.WriteFile(path, append(npyPrefix([]int{5, 1, 1, 1}), make([]byte, 20)...), 0o666))
	_, err := Open(context.Background(), path, 4)
	require.ErrorContains(t, err, "five.npy: frames have shape [5 1 1 1], expected [4,T,H,W], or [3,T,H,W] for opaque ones")
	only(t, dir, "five.npy")
}

// TestAlphaNotFinite: NaN in alpha is refused like NaN in a colour.
func TestAlphaNotFinite(t *testing.T) {
	dir := t.TempDir()
	s, err := Create(context.Background(), filepath.Join(dir, "x.png"), Format{Height: 2, Width: 3, Frames: 1, Channels: 4})
	require.NoError(t, err)
	frame := make([]float32, 24)
	frame[4*4+3] = float32(math.NaN())
	require.ErrorContains(t, s.WriteFrame(frame), "pixel (1,1) is NaN")
	only(t, dir)
	path := filepath.Join(dir, "nan.npy")
	require.NoError(t, os.WriteFile(path, append(npyPrefix([]int{4, 1, 2, 3}), floatBytes(nil, frame)...), 0o666))
	clip, err := Open(context.Background(), path, 4)
	require.NoError(t, err)
	defer clip.Close()
	require.ErrorContains(t, clip.ReadFrame(0, make([]float32, 24)), "channel 3, row 0, column 1 is NaN")
}

// TestLatentIsNoVideo: a latent of 4 channels is not read as a video.
func TestLatentIsNoVideo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "z.safetensors")
	for _, meta := range []map[string]string{nil, latent.Original{}.Meta(latent.KindMoments)} {
		z := testLatent(4, 2, 3, 3)
		z.Meta = meta
		require.NoError(t, WriteLatent(path, z))
		_, err := Open(context.Background(), path, 4)
		assert.ErrorContains(t, err, "is a latent of shape [4 2 3 3], expected a video")
	}
}
