//go:build !js

package media

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
	"tessera/tests/testenv"
)

// TestFFmpegTags checks the written files' tags with ffprobe.
func TestFFmpegTags(t *testing.T) {
	needFFmpeg(t)
	for _, ext := range []string{".mp4", ".mov", ".mkv", ".webm"} {
		for _, odd := range []int{0, 1} {
			path := filepath.Join(t.TempDir(), "clip"+ext)
			writeClip(t, path, Format{Height: 32 + odd, Width: 48, Frames: 4, FPS: latent.Rational{Num: 30000, Den: 1001}})
			got := ffprobe(t, path)
			want := map[string]any{
				"color_space": "bt709", "color_primaries": "bt709", "color_transfer": "bt709", "color_range": "tv",
				"pix_fmt": "yuv420p", "codec_name": "h264", "width": 48.0, "height": float64(32 + odd),
				"r_frame_rate": "30000/1001", "nb_read_frames": "4",
			}
			if odd == 1 {
				want["pix_fmt"] = "yuv444p"
			}
			if ext == ".webm" {
				want["codec_name"] = "vp9"
				delete(want, "r_frame_rate") // its times are whole milliseconds
			}
			if ext == ".mkv" {
				delete(want, "r_frame_rate")
			}
			for key, value := range want {
				assert.Equal(t, value, got[key], "%s: %s", filepath.Base(path), key)
			}
		}
	}
}

func ffprobe(t *testing.T, path string) map[string]any {
	t.Helper()
	out, err := exec.Command("ffprobe", "-v", "error", "-count_frames", "-show_streams", "-of", "json", path).Output()
	require.NoError(t, err)
	var found struct{ Streams []map[string]any }
	require.NoError(t, json.Unmarshal(out, &found))
	return found.Streams[0]
}

// TestFFmpegTagsOfCodecs: every encoder and container writes the right colour tags.
// Frames carry them for ffmpeg 7.1 and newer, options for old versions.
func TestFFmpegTagsOfCodecs(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	f := Format{Height: 64, Width: 64, Frames: 2, FPS: latent.Rational{Num: 24, Den: 1}}
	short := testenv.Short(t)
	for _, c := range []struct{ codec, pixels, matrix, span, files string }{
		{"libx264", "yuv420p", "bt709", "tv", ".mp4 .mkv .mov"},
		{"libx265", "yuv420p10le", "bt709", "tv", ".mp4 .mkv .mov"},
		{"libvpx-vp9", "yuv420p", "bt709", "tv", ".webm .mkv .mp4"},
		{"libaom-av1", "yuv420p", "bt709", "tv", ".mp4 .mkv .webm"},
		{"libsvtav1", "yuv420p", "bt709", "tv", ".mp4 .mkv .webm"},
		{"prores_ks", "yuv422p10le", "bt709", "tv", ".mov .mkv"},
		{"ffv1", "yuv444p", "bt709", "tv", ".mkv"},
		{"ffv1", "bgr0", "gbr", "pc", ".mkv"},
		{"ffv1", "gbrp10le", "gbr", "pc", ".mkv"},
		{"libx264rgb", "rgb24", "gbr", "pc", ".mp4 .mkv .mov"},
		{"libx264", "yuvj420p", "bt709", "pc", ".mp4"},
	} {
		for i, ext := range strings.Fields(c.files) {
			if i > 0 && short {
				break
			}
			path := filepath.Join(dir, "out"+ext)
			told, err := createWith(t, path, f, CreateOptions{Codec: c.codec, PixelFormat: c.pixels})
			require.NoError(t, err, c.codec)
			assert.Empty(t, told)
			got := ffprobe(t, path)
			if c.codec == "prores_ks" { // it supports no other range, which ffmpeg 7.1 does not tag
				got["color_range"] = cmp.Or(got["color_range"], any("tv"))
			}
			assert.Equal(t, []any{c.span, c.matrix, "bt709", "bt709"},
				[]any{got["color_range"], got["color_space"], got["color_primaries"], got["color_transfer"]}, "%s %s in %s", c.codec, c.pixels, ext)
			frame := readFrame(t, openClip(t, path, f), 0)
			checkColour(t, 0, frame, quantised(testFrame(0, f.Height, f.Width)), 8)
		}
	}
}

// TestFFmpegReads decodes lossless files that ffmpeg made of known PNG frames, in
// difficult colour spaces, rates and depths.
func TestFFmpegReads(t *testing.T) {
	needFFmpeg(t)
	f := Format{Height: 48, Width: 64, Frames: 7}
	dir := t.TempDir()
	folder := filepath.Join(dir, "frames")
	writeClip(t, folder, f)
	pattern := filepath.Join(folder, "frame_%04d.png")
	to := func(matrix string) string {
		return "scale=out_color_matrix=" + matrix + ":out_range=tv:flags=accurate_rnd+full_chroma_int+full_chroma_inp"
	}
	cases := []struct {
		name string
		in   string // frames per second of the pictures
		args []string
		// levels is the greatest error: of 8-bit limited range, half a code of
		// luma is 0.6 levels and half a code of chroma 1.1, with rounding 2.
		levels float64
		fps    latent.Rational
	}{
		{"untagged is as ffmpeg makes it", "25", []string{"-pix_fmt", "yuv444p", "-c:v", "ffv1", "clip.mkv"}, 2.01, latent.Rational{Num: 25, Den: 1}},
		{"tagged bt601", "25", []string{"-vf", to("smpte170m"), "-colorspace", "smpte170m",
			"-pix_fmt", "yuv444p", "-c:v", "ffv1", "clip.mkv"}, 2.01, latent.Rational{Num: 25, Den: 1}},
		{"full range", "25", []string{"-vf", "scale=out_color_matrix=bt709:out_range=pc:flags=accurate_rnd+full_chroma_int",
			"-colorspace", "bt709", "-color_range", "pc",
			"-pix_fmt", "yuv444p", "-c:v", "ffv1", "clip.mkv"}, 2.01, latent.Rational{Num: 25, Den: 1}},
		{"10 bits", "25", []string{"-vf", to("bt709"), "-colorspace", "bt709",
			"-pix_fmt", "yuv444p10le", "-c:v", "ffv1", "clip.mkv"}, 1.01, latent.Rational{Num: 25, Den: 1}},
		{"rgb", "25", []string{"-pix_fmt", "bgr0", "-c:v", "ffv1", "clip.mkv"}, 1e-4, latent.Rational{Num: 25, Den: 1}},
		{"rgb with alpha", "25", []string{"-vf", "format=rgba,colorchannelmixer=aa=0.3", "-c:v", "png", "clip.mov"}, 1e-4, latent.Rational{Num: 25, Den: 1}},
		{"10 frames a second", "10", []string{"-pix_fmt", "bgr0", "-c:v", "ffv1", "clip.mkv"},
			1e-4, latent.Rational{Num: 10, Den: 1}},
		{"120 frames a second", "120", []string{"-pix_fmt", "bgr0", "-c:v", "ffv1", "clip.mkv"},
			1e-4, latent.Rational{Num: 120, Den: 1}},
		{"varying rate, late start", "25", []string{"-vf", "settb=1/1000,setpts=500+N*N*40", "-fps_mode", "passthrough", "-enc_time_base", "1/1000",
			"-pix_fmt", "bgr0", "-c:v", "ffv1", "clip.mkv"}, 1e-4, latent.Rational{}},
		{"name like an option", "25", []string{"-pix_fmt", "bgr0", "-c:v", "ffv1", "-odd %d:name.mkv"}, 1e-4, latent.Rational{Num: 25, Den: 1}},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sub := filepath.Join(dir, fmt.Sprint(i))
			require.NoError(t, os.Mkdir(sub, 0o777))
			last := len(c.args) - 1
			path := filepath.Join(sub, c.args[last])
			ffmpeg(t, append(append([]string{"-framerate", c.in, "-i", pattern}, c.args[:last]...), "file:"+path)...)
			clip := openClip(t, path, f)
			if c.fps.Known() {
				assert.Equal(t, c.fps, clip.FPS())
			}
			for i := range f.Frames {
				off := largest(t, readFrame(t, clip, i), quantised(testFrame(i, f.Height, f.Width)))
				assert.LessOrEqual(t, off, c.levels, "error of frame %d in levels", i)
			}
		})
	}
}

func TestFFmpegRotation(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	plain, rotated := filepath.Join(dir, "plain.mp4"), filepath.Join(dir, "rotated.mp4")
	writeClip(t, plain, Format{Height: 32, Width: 64, Frames: 2})
	turn90(t, plain, rotated)
	clip := openClip(t, rotated, Format{Height: 64, Width: 32, Frames: 2})
	a, b := readFrame(t, openClip(t, plain, Format{Height: 32, Width: 64, Frames: 2}), 1), readFrame(t, clip, 1)
	// A quarter turn in either direction moves a pair of corners to the other diagonal.
	corner := func(frame []float32, w, y, x int) float32 { return frame[(y*w+x)*3] }
	clockwise := corner(a, 64, 31, 0) - corner(b, 32, 0, 0)
	counter := corner(a, 64, 0, 63) - corner(b, 32, 0, 0)
	require.LessOrEqual(t, min(clockwise*clockwise, counter*counter), float32(0.01), "corners are not those of a quarter turn: %v, %v", clockwise, counter)
}

func TestFFmpegReadErrors(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	spools := t.TempDir()
	t.Setenv("TMPDIR", spools)
	good := filepath.Join(dir, "good.mp4")
	writeClip(t, good, Format{Height: 32, Width: 32, Frames: 3})
	data, err := os.ReadFile(good)
	require.NoError(t, err)
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o666))
		return path
	}
	sound := filepath.Join(dir, "sound.wav")
	ffmpeg(t, "-f", "lavfi", "-i", "sine=d=0.1", sound)
	empty := filepath.Join(dir, "noframes.mkv")
	ffmpeg(t, "-f", "lavfi", "-i", "color=s=16x16:d=1", "-frames:v", "0", "-c:v", "ffv1", empty)
	tail := filepath.Join(dir, "tail.mp4") // its index is at the end
	ffmpeg(t, "-i", good, "-c", "copy", tail)
	index, err := os.ReadFile(tail)
	require.NoError(t, err)
	for _, c := range []struct{ path, want string }{
		{write("noindex.mp4", index[:len(index)/2]), `noindex.mp4: ffmpeg: Invalid data found when processing input ("moov atom not found")`},
		{write("text.mp4", []byte("this is no video at all, only words")), "text.mp4: ffmpeg: Invalid data"},
		{write("cut.mp4", data[:len(data)/2]), "cut.mp4: "},
		{sound, "sound.wav: holds no video"},
		{empty, "noframes.mkv: "},
		{write("list.m3u8", []byte("#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/x.ts\n")), "list.m3u8: "},
	} {
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			clip, err := Open(context.Background(), c.path, 3)
			if err == nil {
				clip.Close()
			}
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
			require.ErrorIs(t, err, ErrInput)
		})
	}
	only(t, spools)
	openClip(t, good, Format{Height: 32, Width: 32, Frames: 3})
	only(t, spools)
}

func TestWithoutFFmpeg(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	require.False(t, HaveFFmpeg(), "ffmpeg found on an empty PATH")
	path := filepath.Join(dir, "clip.mp4")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o666))
	_, err := Open(context.Background(), path, 3)
	require.ErrorContains(t, err, "clip.mp4: needs ffprobe, which isn't installed")
	_, err = Create(context.Background(), filepath.Join(dir, "out.webm"), Format{Height: 2, Width: 2, Frames: 1})
	require.ErrorContains(t, err, "out.webm: needs ffmpeg, which isn't installed")
	only(t, dir, "clip.mp4")
}

// TestFFmpegCancelRead stops ffmpeg while it decodes a long clip.
func TestFFmpegCancelRead(t *testing.T) {
	needFFmpeg(t)
	dir, spools := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "long.mkv")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=640x360:r=60:d=20", "-c:v", "mpeg4", path)
	t.Setenv("TMPDIR", spools)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	time.AfterFunc(50*time.Millisecond, cancel)
	clip, err := Open(ctx, path, 3)
	if err == nil {
		clip.Close()
	}
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrInput)
	only(t, spools)
}

// TestFFmpegCancelWrite stops ffmpeg while it encodes.
func TestFFmpegCancelWrite(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	f := Format{Height: 64, Width: 64, Frames: 1000}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sink, err := Create(ctx, filepath.Join(dir, "out.mp4"), f)
	require.NoError(t, err)
	for i := range f.Frames {
		if i == 3 {
			cancel()
		}
		if err = sink.WriteFrame(testFrame(i, 64, 64)); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, context.Canceled, "write")
	require.ErrorIs(t, sink.Close(), context.Canceled, "close")
	only(t, dir)
}

// TestUnevenFrames: frames at uneven times keep the file's duration, in every container,
// with all of the sound. The first 20 are 0.1 s apart and the others 0.3 s; Matroska's
// header says that all are 0.1 s apart, and MP4's that the last one is as short.
func TestUnevenFrames(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	for ext, length := range map[string]float64{".mkv": 8, ".mp4": 7.8} {
		path := filepath.Join(dir, "uneven"+ext)
		ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=8", "-f", "lavfi", "-i", "sine=d=8:r=48000", "-fps_mode", "vfr",
			"-vf", "select='lt(n,20)+not(mod(n+1,3))',setparams=colorspace=bt709", "-c:v", "libx264", "-bf", "0", "-c:a", "aac", path)
		clip, warnings, _ := told(t, path, OpenOptions{})
		require.Equal(t, 40, clip.Frames())
		require.InDelta(t, length, 40/clip.FPS().Float(), 0.001, "%s: seconds at %s frames/s", ext, clip.FPS())
		if ext == ".mkv" {
			assert.Equal(t, []string{"frames are 100 to 300 ms apart: read as 200 ms apart (5 frames/s), which moves them by up to 2 s"}, warnings)
		}
		s, err := Inspect(context.Background(), path)
		require.NoError(t, err)
		assert.Equal(t, clip.FPS(), s.FPS)
		assert.Equal(t, warnings, s.Warnings)
		for _, to := range []string{".mkv", ".mp4", ".mov", ".webm"} {
			out := filepath.Join(dir, "out"+to)
			_, err := createWith(t, out, Format{Height: 48, Width: 64, Frames: 40, FPS: clip.FPS()}, CreateOptions{Sound: path, From: path})
			require.NoError(t, err)
			_, seconds := clickAt(t, out)
			assert.InDelta(t, length, seconds, 0.06, "sound of %s to %s", ext, to)
			s, err := Inspect(context.Background(), out)
			require.NoError(t, err)
			assert.Equal(t, 40, s.Frames)
			assert.InDelta(t, length, 40/s.FPS.Float(), 0.01, "%s to %s", ext, to)
		}
	}
}

// TestUnevenFramesOfCodecs keeps the duration, within a frame, where packets are not
// frames or have no times, and where headers contain a guessed rate. A stream whose times
// restart, or are far apart, is joined from pieces and keeps its stated rate.
func TestUnevenFramesOfCodecs(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	made := func(name string, args ...string) string {
		path := filepath.Join(dir, name)
		ffmpeg(t, append(append([]string{"-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=8", "-fps_mode", "vfr",
			"-vf", "select='lt(n,20)+not(mod(n+1,3))',setparams=colorspace=bt709"}, args...), path)...)
		return path
	}
	first := made("first.ts", "-c:v", "libx264", "-bf", "2")
	late := made("late.ts", "-c:v", "libx264", "-output_ts_offset", "1000")
	for _, path := range []string{
		made("vp8.webm", "-c:v", "libvpx", "-auto-alt-ref", "1", "-lag-in-frames", "8"), made("vp8.mkv", "-c:v", "libvpx"),
		made("mpeg4.mkv", "-c:v", "mpeg4", "-bf", "2"), made("mpeg4.avi", "-c:v", "mpeg4"), made("h264.avi", "-c:v", "libx264", "-bf", "0"),
		first, made("mpeg2.ts", "-c:v", "mpeg2video", "-bf", "2"),
	} {
		clip, warnings, _ := told(t, path, OpenOptions{})
		require.Equal(t, 40, clip.Frames(), path)
		assert.InDelta(t, 8, 40/clip.FPS().Float(), 0.31, "%s: seconds at %s frames/s", path, clip.FPS())
		assert.Contains(t, strings.Join(warnings, "\n"), "frames are 100 to 300 ms apart", path)
	}
	for _, pieces := range [][]string{{first, late}, {late, first}} {
		var all []byte
		for _, path := range pieces {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			all = append(all, data...)
		}
		path := filepath.Join(dir, "joined.ts")
		require.NoError(t, os.WriteFile(path, all, 0o666))
		clip, _, _ := told(t, path, OpenOptions{})
		assert.Equal(t, 80, clip.Frames())
		assert.Equal(t, latent.Rational{Num: 10, Den: 1}, clip.FPS())
	}
}
