//go:build !js

package media

import (
	"bytes"
	"context"
	"fmt"
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
)

// told opens a clip and returns it with its messages, without the file's name.
func told(t *testing.T, path string, o OpenOptions) (Clip, []string, []string) {
	t.Helper()
	var warnings, notes []string
	add := func(to *[]string) func(string) {
		return func(text string) {
			text, ok := strings.CutPrefix(text, path+": ")
			assert.True(t, ok, "%q names no file", text)
			assert.NotContains(t, text, "\n")
			*to = append(*to, text)
		}
	}
	o.Warn, o.Note = add(&warnings), add(&notes)
	clip, err := OpenWith(context.Background(), path, 3, o)
	require.NoError(t, err)
	t.Cleanup(func() { clip.Close() })
	return clip, warnings, notes
}

// centre returns the 8-bit colour in the middle of a frame.
func centre(t *testing.T, c Clip, frame int) [3]float64 {
	t.Helper()
	h, w := c.Size()
	p := readFrame(t, c, frame)[(h/2*w+w/2)*3:]
	var rgb [3]float64
	for i := range rgb {
		rgb[i] = (float64(p[i]) + 1) * 127.5
	}
	return rgb
}

const untagged = "names no colour matrix: read as BT.601, which ffmpeg"

// TestColour makes a clip of (200,60,40) as tools do and reads it. By BT.601,
//
//	Y = 16 + 219/255*(0.299*200 + 0.587*60 + 0.114*40) = 101.5
//	Cb = 128 + 224/255*0.564*(40 - 99.58) = 98.5, Cr = 128 + 224/255*0.713*(200 - 99.58) = 190.9
//
// and read by BT.709 the same codes are
//
//	R = 1.164*(101.5-16) + 1.793*62.9 = 212.3, G = 1.164*85.5 - 0.213*-29.5 - 0.533*62.9 = 72.3,
//	B = 1.164*85.5 + 2.112*-29.5 = 37.2
func TestColour(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	const red = "color=0xC83C28:s=64x48:r=25:d=0.2"
	file := func(name string, args ...string) string {
		path := filepath.Join(dir, name)
		ffmpeg(t, append(append([]string{"-f", "lavfi", "-i", red}, args...), path)...)
		return path
	}
	by := func(matrix string, args ...string) []string {
		return append([]string{"-vf", "scale=out_color_matrix=" + matrix + ":flags=accurate_rnd+full_chroma_int"}, args...)
	}
	ours := filepath.Join(dir, "ours.mp4")
	ourY4M := filepath.Join(dir, "ours.y4m")
	for _, path := range []string{ours, ourY4M} {
		sink, err := Create(context.Background(), path, Format{Height: 48, Width: 64, Frames: 5})
		require.NoError(t, err)
		frame := make([]float32, 48*64*3)
		for i := range frame {
			frame[i] = []float32{200, 60, 40}[i%3]/127.5 - 1
		}
		for range 5 {
			require.NoError(t, sink.WriteFrame(frame))
		}
		require.NoError(t, sink.Close())
	}
	right, asHD := [3]float64{200, 60, 40}, [3]float64{212.3, 72.3, 37.2}
	x264 := []string{"-c:v", "libx264", "-qp", "0"}
	// Full-range BT.601 is written as codes, because ffmpeg 9 makes its chroma half a
	// code too low.
	codes := filepath.Join(dir, "full.yuv")
	frame := slices.Concat(bytes.Repeat([]byte{100}, 64*48), bytes.Repeat([]byte{94}, 32*24), bytes.Repeat([]byte{200}, 32*24))
	require.NoError(t, os.WriteFile(codes, bytes.Repeat(frame, 5), 0o666))
	full := filepath.Join(dir, "x.avi")
	ffmpeg(t, "-f", "rawvideo", "-pix_fmt", "yuvj420p", "-s", "64x48", "-framerate", "25", "-i", codes, "-c:v", "mjpeg", "-q:v", "1", full)
	plain := file("plain.mp4", append(x264, "-pix_fmt", "yuv420p")...)
	for _, c := range []struct {
		path   string
		matrix string
		want   [3]float64
		says   []string
	}{
		{plain, "", right, []string{untagged}},
		{plain, "bt601", right, nil},
		{plain, "bt709", asHD, nil},
		{ours, "", right, nil},
		{ourY4M, "", right, nil},
		{file("plain.y4m", "-pix_fmt", "yuv444p"), "", right, []string{untagged}},
		{file("hd.mp4", by("bt709", "-colorspace", "bt709", "-c:v", "libx264", "-qp", "0")...), "", right, nil},
		{file("hd.mkv", by("bt709", "-c:v", "ffv1", "-pix_fmt", "yuv444p")...), "bt709", right, nil},
		{file("sd.mp4", append(x264, "-vf", "format=yuv420p,setparams=colorspace=smpte170m")...), "", right, nil},
		{file("uhd.mp4", by("bt2020", "-colorspace", "bt2020nc", "-c:v", "libx264", "-qp", "0")...), "", right, nil},
		{file("x.webm", "-c:v", "libvpx", "-crf", "4", "-b:v", "1M"), "", right, nil},
		{full, "", right, nil},
		{file("rgb.mkv", "-c:v", "ffv1", "-pix_fmt", "bgr0"), "", right, nil},
		{file("rgb2.mkv", "-c:v", "ffv1", "-pix_fmt", "bgr0"), "bt709", right, []string{"is RGB: --matrix bt709 has no effect"}},
		{file("odd.mkv", "-vf", "format=yuv444p,setparams=colorspace=ycgco", "-c:v", "ffv1"), "", right,
			[]string{"the colour matrix ycgco isn't known to ffmpeg's scaler: colours are wrong"}},
	} {
		name := filepath.Base(c.path) + " " + c.matrix
		clip, warnings, notes := told(t, c.path, OpenOptions{Matrix: c.matrix})
		got := centre(t, clip, 1)
		for i := range got {
			assert.InDelta(t, c.want[i], got[i], 2, "%s: channel %d of %v", name, i, got)
		}
		assert.Empty(t, notes, name)
		if assert.Len(t, warnings, len(c.says), "%s: %q", name, warnings) {
			for i, says := range c.says {
				assert.Contains(t, warnings[i], says, name)
			}
		}
	}
	_, err := OpenWith(context.Background(), plain, 3, OpenOptions{Matrix: "srgb"})
	require.ErrorContains(t, err, `plain.mp4: colour matrix "srgb", expected bt601, bt709, bt2020`)
}

// TestVideoIsTold: what is lost, guessed or kept of a video is reported, with equal texts
// by Open and Inspect.
func TestVideoIsTold(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	tags := func(matrix, primaries, transfer string) string {
		return "setparams=colorspace=" + matrix + ":color_primaries=" + primaries + ":color_trc=" + transfer
	}
	file := func(name string, args ...string) string {
		path := filepath.Join(dir, name)
		ffmpeg(t, append(append([]string{"-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.4"}, args...), path)...)
		return path
	}
	// tagged makes a file from a filter's pictures, with the tags of HD video.
	tagged := func(name, filter string, args ...string) string {
		return file(name, append([]string{"-vf", filter + "," + tags("bt709", "bt709", "bt709")}, args...)...)
	}
	upright := tagged("upright.mp4", "format=yuv420p", "-c:v", "libx264")
	turned := filepath.Join(dir, "turned.mp4")
	turn90(t, upright, turned)
	for _, c := range []struct {
		path            string
		warnings, notes []string
	}{
		{upright, nil, nil},
		{tagged("10.mkv", "format=yuv420p10le", "-c:v", "ffv1"), []string{"10 bits a channel are rounded to 8"}, nil},
		{file("16.mkv", "-c:v", "ffv1", "-pix_fmt", "rgb48le"), []string{"16 bits a channel are rounded to 8"}, nil},
		{file("pq.mkv", "-vf", "format=yuv420p10le,"+tags("bt2020nc", "bt2020", "smpte2084"), "-c:v", "ffv1"), []string{
			"colours of BT.2020 are read as BT.709's, paler than they are",
			"HDR (PQ) is read as if it were SDR, flat and dark; --tone-map converts it",
			"10 bits a channel are rounded to 8",
		}, nil},
		{file("hlg.mkv", "-vf", "format=yuv444p,"+tags("bt2020nc", "bt709", "arib-std-b67"), "-c:v", "ffv1"),
			[]string{"HDR (HLG) is read as if it were SDR, flat and dark; --tone-map converts it"}, nil},
		{file("p3.mkv", "-vf", "format=yuv444p,"+tags("bt709", "smpte432", "bt709"), "-c:v", "ffv1"),
			[]string{"colours of Display P3 are read as BT.709's, paler than they are"}, nil},
		{file("alpha.mov", "-vf", "format=rgba", "-c:v", "png"), []string{"transparency is dropped: colours are used as stored, without blending"}, nil},
		{tagged("fields.mkv", "format=yuv420p,setfield=tff", "-c:v", "ffv1"), []string{"is interlaced: both fields of a frame are read as one picture"}, nil},
		{tagged("uneven.mkv", "format=yuv420p,setpts='(N+gte(N,5)*2)/25/TB'", "-fps_mode", "passthrough", "-c:v", "ffv1"),
			[]string{"frames are 40 to 120 ms apart: read as "}, nil},
		{turned, nil, []string{"is rotated by 90 degrees, as the file specifies"}},
		{tagged("wide.mp4", "format=yuv420p,setsar=16/11", "-c:v", "libx264"), nil, nil},
	} {
		name := filepath.Base(c.path)
		clip, warnings, notes := told(t, c.path, OpenOptions{})
		same := func(want, got []string) {
			t.Helper()
			if assert.Len(t, got, len(want), "%s: %q", name, got) {
				for i := range want {
					assert.Contains(t, got[i], want[i], name)
				}
			}
		}
		same(c.warnings, warnings)
		same(c.notes, notes)
		assert.Equal(t, 10, clip.Frames(), name)
		assert.Equal(t, map[bool]latent.Rational{true: {Num: 16, Den: 11}}[name == "wide.mp4"], AspectOf(clip), name)

		s, err := Inspect(context.Background(), c.path)
		require.NoError(t, err)
		if name == "alpha.mov" {
			c.warnings, c.notes = nil, []string{"has transparency"}
		}
		same(c.warnings, s.Warnings)
		same(c.notes, s.Notes)
		assert.Equal(t, AspectOf(clip), s.Aspect, name)
	}
	h, w := openClip(t, turned, Format{Height: 64, Width: 48, Frames: 10}).Size()
	assert.Equal(t, [2]int{64, 48}, [2]int{h, w})
}

// TestToneMap: gray of given nits in PQ. The test computes what the filters should make
// of it: linear light in units of SDR's white, 203 nits; then the curve of Hable's
// Uncharted 2, in which 10 units become white; then the gamma of displays, BT.1886.
func TestToneMap(t *testing.T) {
	needFFmpeg(t)
	if canToneMap(context.Background()) != nil {
		t.Skip("this ffmpeg has no zscale")
	}
	dir := t.TempDir()
	last := -1.0
	for _, nits := range []float64{0, 10, 100, 203, 1000} {
		path := filepath.Join(dir, fmt.Sprintf("%v.mkv", nits))
		code := math.Round(64 + 876*pq(nits))
		ffmpeg(t, "-f", "lavfi", "-i", "color=s=64x48:r=25:d=0.12", "-vf", "format=yuv444p10le,geq=lum="+fmt.Sprint(code)+":cb=512:cr=512,"+
			"setparams=colorspace=bt2020nc:color_primaries=bt2020:color_trc=smpte2084:range=tv", "-c:v", "ffv1", path)
		clip, warnings, notes := told(t, path, OpenOptions{ToneMap: true})
		assert.Equal(t, []string{"10 bits a channel are rounded to 8"}, warnings)
		assert.Equal(t, []string{"HDR (PQ) is tone-mapped to SDR, BT.709"}, notes)
		got := centre(t, clip, 2)
		want := 255 * math.Pow(hable(nits/203)/hable(10), 1/2.4)
		for i := range got {
			assert.InDelta(t, want, got[i], 2, "%v nits, channel %d of %v", nits, i, got)
		}
		assert.Greater(t, got[0], last)
		last = got[0]
	}
	_, warnings, _ := told(t, plainVideo(t, dir), OpenOptions{ToneMap: true, Matrix: "bt601"})
	assert.Equal(t, []string{"is not HDR: --tone-map has no effect"}, warnings)
}

// pq returns the code of given nits, 0 to 1 (SMPTE ST 2084).
func pq(nits float64) float64 {
	y := math.Pow(nits/10000, 2610.0/16384)
	return math.Pow((3424.0/4096+2413.0/128*y)/(1+2392.0/128*y), 2523.0/32)
}

func hable(x float64) float64 { return (x*(0.15*x+0.05)+0.004)/(x*(0.15*x+0.5)+0.06) - 0.02/0.3 }

func plainVideo(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "plain.mkv")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.4", "-c:v", "ffv1", "-pix_fmt", "yuv420p", path)
	return path
}

// TestNoToneMap: an ffmpeg without zscale is reported before anything is decoded.
func TestNoToneMap(t *testing.T) {
	needFFmpeg(t)
	path := filepath.Join(t.TempDir(), "pq.mkv")
	ffmpeg(t, "-f", "lavfi", "-i", "color=s=64x48:r=25:d=0.12", "-vf", "setparams=color_trc=smpte2084", "-c:v", "ffv1", path)
	otherFFmpeg(t, `FFMPEG "$@" | grep -v zscale`)
	_, err := OpenWith(context.Background(), path, 3, OpenOptions{ToneMap: true})
	require.ErrorContains(t, err, "pq.mkv: --tone-map needs an ffmpeg with the filter zscale, which the installed one lacks")
	require.NotErrorIs(t, err, ErrInput)
}

// TestStreamed: a video is decoded while it is read, in any order, and uses the disk only
// if frames are kept.
func TestStreamed(t *testing.T) {
	needFFmpeg(t)
	dir, spools := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "x.mkv")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.8", "-c:v", "ffv1", "-pix_fmt", "bgr0", path)
	var want [][]float32
	for i := range 20 {
		raw, err := exec.Command("ffmpeg", "-v", "error", "-i", path, "-vf", fmt.Sprintf("select=eq(n\\,%d)", i), "-f", "rawvideo", "-pix_fmt", "rgba", "-").Output()
		require.NoError(t, err)
		frame := make([]float32, 64*48*3)
		FromRGBA(frame, raw, 3)
		want = append(want, frame)
	}
	t.Setenv("TMPDIR", spools)
	for _, kept := range []int{-1, 0, 3, 6} { // after this many reads
		clip := openClip(t, path, Format{Height: 48, Width: 64, Frames: 20})
		require.EqualValues(t, 20*48*64*3, clip.(Streamed).KeepBytes())
		for i, frame := range []int{0, 1, 2, 3, 7, 5, 4, 0, 19, 18, 17, 16, 18, 2, 19, 0} {
			if i == kept {
				require.NoError(t, clip.(Streamed).Keep())
			}
			require.Equal(t, want[frame], readFrame(t, clip, frame), "frame %d", frame)
		}
		only(t, spools) // it has no name
	}

	clip := openClip(t, path, Format{Height: 48, Width: 64, Frames: 20})
	require.NoError(t, os.WriteFile(path, []byte("another"), 0o666))
	readFrame(t, clip, 5)
	err := clip.ReadFrame(0, make([]float32, 64*48*3))
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "x.mkv: frame 0 of 20 can't be read: ffmpeg says")
}
