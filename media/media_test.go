//go:build !js

package media

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
	"tessera/tests/testenv"
)

// testFrame returns a smooth picture, [H,W,3], that differs in every channel, row, column
// and frame, and covers the full range.
func testFrame(t, height, width int) []float32 {
	frame := make([]float32, height*width*3)
	for y := range height {
		for x := range width {
			u, v := float64(x)/float64(width), float64(y)/float64(height)
			p := frame[(y*width+x)*3:]
			p[0] = float32(math.Sin(3*u + 0.4*float64(t)))
			p[1] = float32(math.Cos(4*v - 2*u))
			p[2] = float32(math.Sin(2*u-3*v+1+0.2*float64(t))) * 0.9
		}
	}
	return frame
}

// quantised returns frame rounded to 8 bits, computed independently of floatByte.
func quantised(frame []float32) []float32 {
	out := make([]float32, len(frame))
	for i, v := range frame {
		code := math.Round(math.Min(1, math.Max(0, float64(v)*0.5+0.5)) * 255)
		out[i] = float32(code/255*2 - 1)
	}
	return out
}

// writeClip writes testFrames to path through a Sink.
func writeClip(t *testing.T, path string, f Format) {
	t.Helper()
	sink, err := Create(context.Background(), path, f)
	require.NoError(t, err)
	for i := range f.Frames {
		require.NoError(t, sink.WriteFrame(testFrame(i, f.Height, f.Width)))
	}
	require.NoError(t, sink.Close())
}

// openClip opens path and checks its frames and size.
func openClip(t *testing.T, path string, f Format) Clip {
	t.Helper()
	clip, err := Open(context.Background(), path, 3)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, clip.Close())
	})
	h, w := clip.Size()
	require.Equal(t, [3]int{f.Frames, f.Height, f.Width}, [3]int{clip.Frames(), h, w}, "%s: frames, height and width", path)
	return clip
}

func readFrame(t *testing.T, c Clip, i int) []float32 {
	t.Helper()
	h, w := c.Size()
	dst := make([]float32, h*w*3)
	for j := range dst {
		dst[j] = float32(math.NaN()) // shows what is not written
	}
	require.NoError(t, c.ReadFrame(i, dst))
	return dst
}

// largest returns the largest absolute difference, in levels of 255.
func largest(t *testing.T, got, want []float32) float64 {
	t.Helper()
	require.Len(t, got, len(want))
	var most float64
	for i := range got {
		most = max(most, math.Abs(float64(got[i])-float64(want[i]))*127.5) // NaN stays NaN
	}
	return most
}

// checkColour limits the RMS error of a frame through a lossy codec, and the mean error
// of each channel to a quarter of that: a wrong matrix or range shifts whole channels.
func checkColour(t *testing.T, frame int, got, want []float32, levels float64) {
	t.Helper()
	var squares float64
	var mean [3]float64
	for i := range want {
		d := float64(got[i]-want[i]) * 127.5
		squares += d * d
		mean[i%3] += d / float64(len(want)/3)
	}
	rms := math.Sqrt(squares / float64(len(want)))
	assert.LessOrEqual(t, rms, levels, "frame %d: RMS error in levels", frame)
	for c, m := range mean {
		assert.InDelta(t, 0, m, levels/4, "frame %d: mean error of channel %d in levels", frame, c)
	}
}

// only checks that the folder holds exactly the named entries, including hidden ones.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	require.ElementsMatch(t, names, found, "what %s holds", dir)
}

func needFFmpeg(t *testing.T) {
	t.Helper()
	testenv.Watch()
	if !HaveFFmpeg() {
		testenv.Missing(t, "no ffmpeg: tools/deps.sh --test installs it")
	}
}

// ffmpeg runs the tool independently of the package, to make and check files.
func ffmpeg(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command("ffmpeg", append([]string{"-v", "error", "-nostdin", "-y"}, args...)...).CombinedOutput()
	require.NoError(t, err, "ffmpeg %q: %s", args, out)
}

// turn90 copies an MP4 or MOV with a quarter turn. ffmpeg's option for that depends on
// its version.
func turn90(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	at := bytes.Index(data, []byte("tkhd"))
	require.Positive(t, at)
	matrix := data[at+44:][:36]
	clear(matrix[:32]) // all but the last number, which is 1
	binary.BigEndian.PutUint32(matrix[4:], -1<<16&math.MaxUint32)
	binary.BigEndian.PutUint32(matrix[12:], 1<<16)
	require.NoError(t, os.WriteFile(to, data, 0o666))
}

// fullRange returns an input for ffmpeg: testFrames in full-range BT.601, as in JPEG.
// ffmpeg 9 makes its chroma half a code too low.
func fullRange(t *testing.T, dir string, f Format) []string {
	t.Helper()
	var raw []byte
	for i := range f.Frames {
		frame := testFrame(i, f.Height, f.Width)
		var planes [3][]byte
		for p := 0; p < len(frame); p += 3 {
			r, g, b := (float64(frame[p])+1)*127.5, (float64(frame[p+1])+1)*127.5, (float64(frame[p+2])+1)*127.5
			y := 0.299*r + 0.587*g + 0.114*b
			for k, code := range [3]float64{y, 128 + (b-y)/1.772, 128 + (r-y)/1.402} {
				planes[k] = append(planes[k], byte(math.Round(min(code, 255))))
			}
		}
		raw = slices.Concat(raw, planes[0], planes[1], planes[2])
	}
	path := filepath.Join(dir, "full-range.yuv")
	require.NoError(t, os.WriteFile(path, raw, 0o666))
	return []string{"-f", "rawvideo", "-pix_fmt", "yuvj444p", "-s", fmt.Sprintf("%dx%d", f.Width, f.Height), "-i", path}
}

func TestRoundTrip(t *testing.T) {
	cases := []struct {
		name   string
		format Format
		levels float64 // largest allowed error, in 8-bit levels
		fps    bool
		codec  bool // lossy: levels limits the RMS error
	}{
		{"one.png", Format{Height: 5, Width: 7, Frames: 1}, 1e-4, false, false},
		{"folder", Format{Height: 6, Width: 10, Frames: 12}, 1e-4, false, false},
		{"clip.y4m", Format{Height: 7, Width: 9, Frames: 3, FPS: latent.Rational{Num: 30000, Den: 1001}}, 2.2, true, false},
		{"clip.npy", Format{Height: 5, Width: 4, Frames: 3}, 0, false, false},
		{"clip.safetensors", Format{Height: 5, Width: 4, Frames: 3, FPS: latent.Rational{Num: 25, Den: 1}}, 0, true, false},
		{"clip.mp4", Format{Height: 48, Width: 64, Frames: 6, FPS: latent.Rational{Num: 24, Den: 1}}, 4, true, true},
		{"clip.mov", Format{Height: 48, Width: 64, Frames: 6, FPS: latent.Rational{Num: 60, Den: 1}}, 4, true, true},
		{"clip.mkv", Format{Height: 48, Width: 64, Frames: 6, FPS: latent.Rational{Num: 10, Den: 1}}, 4, true, true},
		{"clip.webm", Format{Height: 48, Width: 64, Frames: 6, FPS: latent.Rational{Num: 25, Den: 1}}, 4, true, true},
		{"odd.mp4", Format{Height: 37, Width: 51, Frames: 5, FPS: latent.Rational{Num: 24, Den: 1}}, 4, true, true},
		{"odd.webm", Format{Height: 37, Width: 51, Frames: 5, FPS: latent.Rational{Num: 24, Den: 1}}, 4, true, true},
		{"single.mp4", Format{Height: 48, Width: 64, Frames: 1, FPS: latent.Rational{Num: 24, Den: 1}}, 4, true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.codec {
				needFFmpeg(t)
			}
			dir := t.TempDir()
			path := filepath.Join(dir, c.name)
			writeClip(t, path, c.format)
			only(t, dir, c.name)
			clip := openClip(t, path, c.format)
			if c.fps {
				assert.Equal(t, c.format.FPS, clip.FPS())
			}
			// Out of order, and one frame twice, as tiles read them.
			for _, i := range []int{c.format.Frames - 1, 0, c.format.Frames / 2, 0} {
				want := testFrame(i, c.format.Height, c.format.Width)
				if c.levels > 0 {
					want = quantised(want)
				}
				got := readFrame(t, clip, i)
				if c.codec {
					checkColour(t, i, got, want, c.levels)
				} else {
					assert.LessOrEqual(t, largest(t, got, want), c.levels, "error of frame %d in levels", i)
				}
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
		return path
	}
	writeClip(t, filepath.Join(dir, "sizes"), Format{Height: 4, Width: 4, Frames: 2})
	writeClip(t, filepath.Join(dir, "sizes", "frame_0002.png"), Format{Height: 4, Width: 6, Frames: 1})
	cases := []struct{ path, want string }{
		{filepath.Join(dir, "missing.png"), "no such file"},
		{filepath.Join(dir, "missing.mp4"), "no such file"},
		{file("empty.mp4", ""), "empty.mp4: file is empty"},
		{file("notes/readme.txt", "x"), ""},
		{filepath.Join(dir, "notes"), "folder holds no .png, .jpg, .webp, .tiff or .exr files (1 others)"},
		{file("bad.png", "not a picture"), "bad.png: unreadable: begins with \"not a pictur\", expected a PNG, JPEG, WebP, TIFF or OpenEXR picture"},
		{filepath.Join(dir, "sizes"), "frame_0002.png: is 6 x 4, expected 4 x 4 as frame_0000.png has"},
		{file("x.latent", "x"), "holds a latent, expected a video"},
		{file("x.npz", "PK"), "holds a latent, expected a video"},
		{file("x.pth", "PK"), "x.pth: 2 bytes, expected at least the 8 of the header's length"},
		{file("bad.y4m", "MPEG4YUV\n"), "expected YUV4MPEG2"},
		{file("noline.y4m", "YUV4MPEG2 W4 H4"), "no end of line"},
		{file("none.y4m", "YUV4MPEG2 W4 H4\n"), "none.y4m: no frames"},
		{file("zero.y4m", "YUV4MPEG2 W0 H4\nFRAME\n"), "expected at least 1 x 1"},
		{file("huge.y4m", "YUV4MPEG2 W99999999 H99999999\nFRAME\n"), "expected at most"},
		{file("nan.y4m", "YUV4MPEG2 Wx H4\nFRAME\n"), `header field "Wx"`},
		{file("deep.y4m", "YUV4MPEG2 W4 H4 C420p10\nFRAME\n"), `chroma format "420p10" isn't supported`},
		{file("odd.y4m", "YUV4MPEG2 W4 H4 XCOLORMATRIX=BT2100\nFRAME\n"), "colour matrix \"bt2100\", expected bt601, bt709, bt2020"},
		{file("lace.y4m", "YUV4MPEG2 W4 H4 It\nFRAME\n"), "interlaced"},
		{file("short.y4m", "YUV4MPEG2 W4 H4 Cmono\nFRAME\n0123456789abcdefFRAME\n0123"), "frame 1: truncated, 4 bytes of 16"},
		{file("junk.y4m", "YUV4MPEG2 W4 H4 Cmono\nFRAME\n0123456789abcdefFRAMING\n"), "frame 1: line \"FRAMING\""},
		{file("bad.npy", "not numpy, but long enough"), "not a .npy file"},
		{file("shape.npy", string(npyPrefix([]int{4, 1, 1, 1}))+"0123456789abcdef"), "shape [4 1 1 1], expected [3,T,H,W]"},
		{file("noframes.npy", string(npyPrefix([]int{3, 0, 1, 1}))), "no frames"},
		{file("nopixels.npy", string(npyPrefix([]int{3, 1, 0, 1}))), "expected at least 1 x 1"},
		{file("bad.safetensors", "not safetensors at all"), `bad.safetensors: is a text that begins with "not safetensors at all"`},
	}
	for _, c := range cases {
		if c.want == "" {
			continue
		}
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			clip, err := Open(context.Background(), c.path, 3)
			if err == nil {
				clip.Close()
			}
			require.ErrorContains(t, err, c.want)
			require.True(t, strings.HasPrefix(err.Error(), "media: "), "%v", err)
			require.ErrorIs(t, err, ErrInput)
			if strings.Contains(c.path, "missing") {
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
			require.LessOrEqual(t, strings.Count(err.Error(), filepath.Base(c.path)), 1, "names of the file in %q", err)
		})
	}
}

func TestFloatFrameNotFinite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nan.npy")
	values := make([]float32, 3*2*2*2)
	values[1*8+4+3] = float32(math.Inf(-1)) // channel 1, frame 1, last pixel
	require.NoError(t, os.WriteFile(path, append(npyPrefix([]int{3, 2, 2, 2}), floatBytes(nil, values)...), 0o666))
	clip, err := Open(context.Background(), path, 3)
	require.NoError(t, err)
	defer clip.Close()
	dst := make([]float32, 12)
	require.NoError(t, clip.ReadFrame(0, dst))
	require.ErrorContains(t, clip.ReadFrame(1, dst), "nan.npy: frame 1: channel 1, row 1, column 1 is -Inf")
}
