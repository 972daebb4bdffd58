//go:build !js

package media

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestY4MAgainstFFmpeg compares with ffmpeg's decoding by its zscale filter, which places
// chroma as requested and interpolates linearly.
func TestY4MAgainstFFmpeg(t *testing.T) {
	needFFmpeg(t)
	if err := exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=s=16x16:d=0.04",
		"-vf", "zscale=filter=bilinear", "-f", "null", "-").Run(); err != nil {
		t.Skip("this ffmpeg has no zscale")
	}
	cases := []struct {
		colour, siting string
		full           bool
		height, width  int
		matrix         string // in the header
		zscale         string // zscale's name for it
	}{
		{"420jpeg", "center", false, 30, 42, "BT709", "709"},
		{"420mpeg2", "left", false, 30, 42, "bt709", "709"},
		{"422", "left", false, 30, 42, "BT2020", "2020_ncl"},
		{"444", "left", false, 30, 42, "BT709", "709"},
		{"444", "left", true, 30, 42, "BT709", "709"},
		{"mono", "left", false, 30, 42, "", "709"},
		{"420jpeg", "center", true, 30, 42, "", "170m"},
		{"420jpeg", "center", false, 30, 42, "BT601", "170m"},
	}
	for _, c := range cases {
		name := fmt.Sprintf("%s full=%v %dx%d", c.colour+c.matrix, c.full, c.width, c.height)
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, raw := filepath.Join(dir, "x.y4m"), filepath.Join(dir, "x.rgb")
			writeNoiseY4M(t, path, c.colour, c.matrix, c.full, c.height, c.width)
			pixels := map[string]string{"420jpeg": "yuv420p", "420mpeg2": "yuv420p", "422": "yuv422p",
				"444": "yuv444p", "mono": "gray"}[c.colour]
			span := map[bool]string{false: "limited", true: "full"}[c.full]
			filter := fmt.Sprintf("format=%s,zscale=filter=bilinear:dither=none:matrixin=%s:matrix=gbr:chromalin=%s:rangein=%s:range=full,format=gbrp",
				pixels, c.zscale, c.siting, span)
			ffmpeg(t, "-i", path, "-vf", filter, "-pix_fmt", "rgb24", "-f", "rawvideo", raw)
			want, err := os.ReadFile(raw)
			require.NoError(t, err)
			f := Format{Height: c.height, Width: c.width, Frames: 2}
			clip := openClip(t, path, f)
			require.Len(t, want, 2*c.height*c.width*3, "what ffmpeg made")
			for i := range 2 {
				got := readFrame(t, clip, i)
				levels := make([]float32, len(got))
				for j, v := range want[i*len(got) : (i+1)*len(got)] {
					levels[j] = float32(v)/127.5 - 1
				}
				// Half a level is zscale's rounding to 8 bits.
				assert.LessOrEqual(t, largest(t, got, levels), 0.6, "error of frame %d in levels", i)
			}
		})
	}
}

// writeNoiseY4M writes two frames whose chroma stays within the gamut.
func writeNoiseY4M(t *testing.T, path, colour, matrix string, full bool, height, width int) {
	t.Helper()
	line := fmt.Sprintf("YUV4MPEG2 W%d H%d F25:1 Ip C%s", width, height, colour)
	if full {
		line += " XCOLORRANGE=FULL"
	}
	if matrix != "" {
		line += " XCOLORMATRIX=" + matrix
	}
	f, err := parseY4M(line)
	require.NoError(t, err)
	data := []byte(line + "\n")
	state := uint32(1)
	for range 2 {
		data = append(data, "FRAME Xsome=thing\n"...)
		for i := range f.frameBytes() {
			state = state*1664525 + 1013904223
			v := byte(40 + (state>>24)%180) // luma
			if i >= height*width {
				v = byte(100 + (state>>24)%56)
			}
			data = append(data, v)
		}
	}
	require.NoError(t, os.WriteFile(path, data, 0o666))
}

// TestY4MOddSizes: chroma of odd sizes is rounded up. The planes are flat, so every pixel
// has one known colour.
func TestY4MOddSizes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.y4m")
	data := []byte("YUV4MPEG2 W5 H3 F0:0 XCOLORMATRIX=BT709\nFRAME\n")
	for range 15 {
		data = append(data, 63) // luma of pure BT.709 red in limited range
	}
	for i := range 12 {
		data = append(data, []byte{102, 240}[i/6])
	}
	require.NoError(t, os.WriteFile(path, data, 0o666))
	clip := openClip(t, path, Format{Height: 3, Width: 5, Frames: 1})
	require.False(t, clip.FPS().Known(), "rate %v of F0:0", clip.FPS())
	frame := readFrame(t, clip, 0)
	for i, v := range frame {
		assert.InDelta(t, []float64{1, -1, -1}[i%3], v, 0.02, "value %d", i)
	}
}

// TestY4MPrimaries compares the written codes with BT.709's for pure colours in limited
// range (the bars of SMPTE RP 219, at 100 %).
func TestY4MPrimaries(t *testing.T) {
	for _, c := range []struct{ rgb, yuv [3]byte }{
		{[3]byte{0, 0, 0}, [3]byte{16, 128, 128}},
		{[3]byte{255, 255, 255}, [3]byte{235, 128, 128}},
		{[3]byte{255, 0, 0}, [3]byte{63, 102, 240}},
		{[3]byte{0, 255, 0}, [3]byte{173, 42, 26}},
		{[3]byte{0, 0, 255}, [3]byte{32, 240, 118}},
		{[3]byte{255, 255, 0}, [3]byte{219, 16, 138}},
	} {
		y, cb, cr := rgbToYUV(c.rgb[0], c.rgb[1], c.rgb[2])
		assert.Equal(t, c.yuv, [3]byte{y, cb, cr}, "%v", c.rgb)
	}
}
