//go:build !js

package media

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStills reads a picture of known colours in several formats as a clip of
// one frame, without a rate.
func TestStills(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	png := filepath.Join(dir, "x.png")
	f := Format{Height: 48, Width: 64, Frames: 1}
	writeClip(t, png, f)
	want := quantised(testFrame(0, f.Height, f.Width))
	for _, c := range []struct {
		name string
		args []string
		rms  float64
	}{
		{"x.jpg", []string{"-q:v", "1", "-pix_fmt", "yuvj444p"}, 2},
		{"x.jpeg", []string{"-q:v", "1", "-pix_fmt", "yuvj420p"}, 3},
		{"lossless.webp", []string{"-c:v", "libwebp", "-lossless", "1"}, 1e-4},
		{"lossy.webp", []string{"-c:v", "libwebp", "-pix_fmt", "yuv420p", "-quality", "100"}, 3},
		{"x.bmp", nil, 1e-4},
		{"x.tiff", nil, 1e-4},
	} {
		path := filepath.Join(dir, c.name)
		from := []string{"-i", png}
		if strings.HasPrefix(filepath.Ext(c.name), ".jp") {
			from = fullRange(t, dir, f)
		}
		ffmpeg(t, append(append(from, c.args...), path)...)
		clip := openClip(t, path, f)
		assert.False(t, clip.FPS().Known(), "%s: rate %v", c.name, clip.FPS())
		frame := readFrame(t, clip, 0)
		checkColour(t, 0, frame, want, c.rms)
		assert.Equal(t, withAlpha(frame), readAlpha(t, path, 4, 0), "%s: as RGBA the same and opaque", c.name)
	}
}

// TestFFmpegAlpha reads alpha from ffmpeg's formats, with several frames and with one.
// Through YUV, ffmpeg 5.1's scaler makes alpha 0.7 levels too opaque on average.
func TestFFmpegAlpha(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	folder := filepath.Join(dir, "frames")
	frames := [][]float32{smooth(0), smooth(1), smooth(2)}
	writeAlpha(t, folder, frames...)
	pattern := filepath.Join(folder, "frame_%04d.png")
	matrix := []string{"-vf", "scale=out_color_matrix=bt709:flags=accurate_rnd+full_chroma_int", "-colorspace", "bt709"}
	exact := []string{"-vf", "scale=flags=accurate_rnd+full_chroma_int"} // BT.601, untagged
	for _, c := range []struct {
		name   string
		args   []string
		frames int
		rms    float64
	}{
		{"x.mov", []string{"-c:v", "png"}, 3, 1e-4},
		{"ffv1.mkv", []string{"-c:v", "ffv1", "-pix_fmt", "bgra"}, 3, 1e-4},
		{"prores.mov", append(exact, "-c:v", "prores_ks", "-profile:v", "4444", "-pix_fmt", "yuva444p10le", "-qscale:v", "1"), 3, 4},
		{"vp9.webm", append(matrix, "-c:v", "libvpx-vp9", "-pix_fmt", "yuva420p", "-lossless", "1"), 3, 4},
		{"vp8.webm", append(matrix, "-c:v", "libvpx", "-pix_fmt", "yuva420p", "-crf", "4", "-b:v", "10M", "-auto-alt-ref", "0"), 3, 4},
		{"x.tiff", []string{"-pix_fmt", "rgba", "-frames:v", "1"}, 1, 1e-4},
		{"exact.webp", []string{"-c:v", "libwebp", "-pix_fmt", "bgra", "-lossless", "1", "-frames:v", "1"}, 1, 1e-4},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, c.name)
			ffmpeg(t, append(append([]string{"-i", pattern}, c.args...), path)...)
			for i := range c.frames {
				got, want := readAlpha(t, path, 4, i), quantised(frames[i])
				var alpha, wantAlpha []float32
				for p := 0; p < len(got); p += 4 {
					alpha = append(alpha, got[p+3], got[p+3], got[p+3])
					wantAlpha = append(wantAlpha, want[p+3], want[p+3], want[p+3])
				}
				checkColour(t, i, colours(got), colours(want), c.rms)
				checkColour(t, i, alpha, wantAlpha, c.rms)
			}
		})
	}
}

// smooth returns a frame [6,64,4] that subsampled chroma does not change; its alpha is
// never 0, because some codecs drop colours there.
func smooth(t int) []float32 {
	const h, w = 6, 64
	frame := make([]float32, h*w*4)
	for i := range h * w {
		u := float32(i%w) / w
		copy(frame[4*i:], []float32{u - 0.5, 0.3 - 0.5*u, 0.1 * float32(t), 0.8 - 1.5*u + 0.1*float32(t)})
	}
	return frame
}

// TestSinglePicture: a .png accepts one frame and refuses more, with advice in the error.
func TestSinglePicture(t *testing.T) {
	dir := t.TempDir()
	for _, channels := range []int{3, 4} {
		_, err := Create(context.Background(), filepath.Join(dir, "out.png"), Format{Height: 2, Width: 2, Frames: 3, Channels: channels})
		assert.ErrorContains(t, err, "out.png: 3 frames don't fit into one PNG, expected a folder such as "+filepath.Join(dir, "out"))
	}
	only(t, dir)
	path := filepath.Join(dir, "out.png")
	writeAlpha(t, path, alphaFrame(0, 6, 4))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular(), "%v", info.Mode())
	clip, err := Open(context.Background(), path, 4)
	require.NoError(t, err)
	defer clip.Close()
	h, w := clip.Size()
	require.Equal(t, [3]int{1, 6, 4}, [3]int{clip.Frames(), h, w}, "frames, height and width")
	require.False(t, clip.FPS().Known(), "%v", clip.FPS())
}
