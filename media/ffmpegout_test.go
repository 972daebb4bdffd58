//go:build !js

package media

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
)

// createWith writes a clip, and returns the messages.
func createWith(t *testing.T, path string, f Format, o CreateOptions) ([]string, error) {
	t.Helper()
	var told []string
	o.Warn = func(text string) { told = append(told, text) }
	sink, err := CreateWith(context.Background(), path, f, o)
	if err != nil {
		return told, err
	}
	for i := range f.Frames {
		require.NoError(t, sink.WriteFrame(testFrame(i, f.Height, f.Width)))
	}
	require.NoError(t, sink.Close())
	return told, nil
}

// TestEncoderChoices: codec, quality and pixel format reach ffmpeg, and an unknown one is
// an error before the first frame.
func TestEncoderChoices(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	f := Format{Height: 48, Width: 64, Frames: 4, FPS: latent.Rational{Num: 25, Den: 1}}
	for _, c := range []struct {
		name          string
		o             CreateOptions
		codec, pixels string
	}{
		{"crf.mp4", CreateOptions{CRF: "40"}, "h264", "yuv420p"},
		{"deep.mkv", CreateOptions{PixelFormat: "yuv444p10le"}, "h264", "yuv444p10le"},
		{"x265.mp4", CreateOptions{Codec: "libx265", CRF: "20"}, "hevc", "yuv420p"}, // it prints much about itself
		{"ffv1.mkv", CreateOptions{Codec: "ffv1", PixelFormat: "bgr0"}, "ffv1", "bgr0"},
		{"prores.mov", CreateOptions{Codec: "prores_ks", PixelFormat: "yuv422p10le"}, "prores", "yuv422p10le"},
		{"vp8.webm", CreateOptions{Codec: "libvpx", CRF: "10"}, "vp8", "yuv420p"},
	} {
		path := filepath.Join(dir, c.name)
		told, err := createWith(t, path, f, c.o)
		require.NoError(t, err, c.name)
		assert.Empty(t, told, c.name)
		got := ffprobe(t, path)
		assert.Equal(t, []any{c.codec, c.pixels, "4"}, []any{got["codec_name"], got["pix_fmt"], got["nb_read_frames"]}, c.name)
		if c.name == "ffv1.mkv" {
			clip := openClip(t, path, f)
			assert.InDeltaSlice(t, quantised(testFrame(2, 48, 64)), readFrame(t, clip, 2), 1e-6)
		}
		require.NoError(t, os.Remove(path))
	}
	size := func(crf string) int64 {
		path := filepath.Join(dir, "size.mp4")
		_, err := createWith(t, path, f, CreateOptions{CRF: crf})
		require.NoError(t, err)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, os.Remove(path))
		return info.Size()
	}
	assert.Less(t, size("45"), size("5"))

	for _, c := range []struct {
		name, want string
		o          CreateOptions
	}{
		{"a.mp4", "a.mp4: can't be written with codec nonsense: ffmpeg says \"Unknown encoder 'nonsense'\"", CreateOptions{Codec: "nonsense"}},
		{"b.mp4", "b.mp4: can't be written with codec mpeg4, crf 20: ffmpeg says \"Codec AVOption crf", CreateOptions{Codec: "mpeg4", CRF: "20"}},
		{"c.webm", "c.webm: can't be written with codec libx264: ffmpeg says \"Only VP8 or VP9", CreateOptions{Codec: "libx264"}},
		{"d.mp4", "d.mp4: can't be written with pixel format nonsense: ffmpeg says \"", CreateOptions{PixelFormat: "nonsense"}},
		{"e.mp4", "e.mp4: can't be written with pixel format rgb24: ffmpeg says \"Incompatible pixel format 'rgb24' for codec 'libx264'\"", CreateOptions{PixelFormat: "rgb24"}},
		{"f.mp4", `"-y" names no codec, quality or pixel format`, CreateOptions{Codec: "-y"}},
		{"g.mp4", `"a b" names no codec, quality or pixel format`, CreateOptions{PixelFormat: "a b"}},
		{"h.mp4", "quality (crf) \"99\", expected a number from 0 to 63", CreateOptions{CRF: "99"}},
		{"i.png", "i.png: has no codec libx264, expected .mp4, .mov, .mkv or .webm", CreateOptions{Codec: "libx264"}},
		{"frames", "frames: has no crf 20, expected", CreateOptions{CRF: "20", PixelFormat: "yuv420p"}},
		{"j.y4m", "j.y4m: keeps no sound, expected .mp4, .mov, .mkv or .webm for that of x.wav", CreateOptions{Sound: "x.wav", SoundAsked: true}},
	} {
		_, err := createWith(t, filepath.Join(dir, c.name), f, c.o)
		assert.ErrorContains(t, err, c.want)
		assert.ErrorIs(t, err, ErrOption, c.name)
		assert.NotContains(t, err.Error(), "\n")
		assert.NotContains(t, err.Error(), "tmp-", c.name)
	}
	only(t, dir)
}

// TestDeepOutputs: pixel formats of more than 8 bits store the floats, rounded once, in
// lossless files that ffmpeg reads back. For subsampled chroma the mean is compared.
func TestDeepOutputs(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	f := Format{Height: 48, Width: 64, Frames: 2}
	for _, c := range []struct {
		pixels, holds string
		bits          int
		rgb           bool
	}{
		{"gbrp10le", "gbrp10le", 10, true},
		{"gbrp16le", "gbrp16le", 16, true},
		{"rgb48le", "gbrp16le", 16, true}, // FFV1 does not distinguish them
		{"yuv444p10le", "yuv444p10le", 10, false},
		{"yuv444p12le", "yuv444p12le", 12, false},
		{"yuv420p10le", "yuv420p10le", 10, false},
	} {
		path := filepath.Join(dir, "out.mkv")
		told, err := createWith(t, path, f, CreateOptions{Codec: "ffv1", PixelFormat: c.pixels, RateAsked: true})
		require.NoError(t, err)
		require.Len(t, told, 1) // about the rate
		assert.Equal(t, c.holds, ffprobe(t, path)["pix_fmt"])
		raw, err := exec.Command("ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", c.holds, "-").Output()
		require.NoError(t, err)
		got := make([]float64, len(raw)/2)
		for i := range got {
			got[i] = float64(binary.LittleEndian.Uint16(raw[2*i:]))
		}
		var want []float64
		for i := range f.Frames {
			var planes [3][]float64
			frame, most, step := testFrame(i, f.Height, f.Width), math.Exp2(float64(c.bits))-1, math.Exp2(float64(c.bits-8))
			for p := 0; p < len(frame); p += 3 {
				r, g, b := (float64(frame[p])+1)/2, (float64(frame[p+1])+1)/2, (float64(frame[p+2])+1)/2
				codes := [3]float64{g * most, b * most, r * most}
				if !c.rgb {
					y := 0.2126*r + 0.7152*g + 0.0722*b // BT.709
					codes = [3]float64{step * (16 + 219*y), step * (128 + 224*(b-y)/1.8556), step * (128 + 224*(r-y)/1.5748)}
				}
				for k := range planes {
					planes[k] = append(planes[k], math.Round(codes[k]))
				}
			}
			if c.pixels == "yuv420p10le" {
				want = append(want, planes[0]...)
				for _, plane := range planes[1:] {
					chroma := got[len(want):][:len(plane)/4]
					assert.InDelta(t, mean(plane), mean(chroma), 0.5)
					want = append(want, chroma...)
				}
				continue
			}
			want = slices.Concat(want, planes[0], planes[1], planes[2])
		}
		assert.Equal(t, want, got, c.pixels)
	}
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// TestSaidOfOutputs: warnings about odd sizes and pixels that are not square.
func TestSaidOfOutputs(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	wide := latent.Rational{Num: 64, Den: 45}
	for _, c := range []struct {
		name string
		f    Format
		want []string
	}{
		{"odd.mp4", Format{Height: 31, Width: 64, Frames: 2}, []string{"odd.mp4: 31x64 pixels are odd: written as yuv444p, which some players don't show"}},
		{"even.mp4", Format{Height: 32, Width: 64, Frames: 2, Aspect: wide}, nil},
		{"wide.mkv", Format{Height: 32, Width: 64, Frames: 2, Aspect: wide}, nil},
		{"wide.webm", Format{Height: 32, Width: 64, Frames: 2, Aspect: wide}, nil},
		{"wide.y4m", Format{Height: 32, Width: 64, Frames: 2, Aspect: wide}, nil},
		{"wide", Format{Height: 32, Width: 64, Frames: 2, Aspect: wide}, []string{"wide: cannot store the pixel aspect ratio 64/45"}},
	} {
		path := filepath.Join(dir, c.name)
		c.f.FPS = latent.Rational{Num: 25, Den: 1}
		told, err := createWith(t, path, c.f, CreateOptions{})
		require.NoError(t, err)
		if assert.Len(t, told, len(c.want), c.name) && len(told) > 0 {
			assert.Equal(t, filepath.Join(dir, c.want[0]), told[0])
		}
		if c.f.Aspect.Known() && len(c.want) == 0 {
			assert.InDelta(t, wide.Float(), AspectOf(openClip(t, path, c.f)).Float(), 0.005, c.name) // WebM stores integers
		}
	}
}

// TestSound adds sound to frames that are one second long. The sound is silent except for
// a click at 0.3 s of the video.
func TestSound(t *testing.T) {
	needFFmpeg(t)
	dir, spools := t.TempDir(), t.TempDir()
	const video = "testsrc2=s=64x48:r=25:d=2"
	const click = "aevalsrc='if(between(t,0.3,0.31),0.9,0)':d=2:s=48000"
	file := func(name string, args ...string) string {
		path := filepath.Join(dir, name)
		ffmpeg(t, append(append([]string{"-f", "lavfi", "-i", video, "-f", "lavfi", "-i", click}, args...), path)...)
		return path
	}
	aac := file("aac.mp4", "-c:v", "libx264", "-c:a", "aac")
	opus := file("opus.mkv", "-c:v", "libx264", "-c:a", "libopus")
	pcm := file("pcm.mov", "-c:v", "libx264", "-c:a", "pcm_s16le")
	wav := file("x.wav", "-map", "1:a")
	short := file("short.m4a", "-map", "1:a", "-t", "0.5", "-c:a", "aac")
	brief := file("brief.mkv", "-c:v", "libx264", "-c:a", "libopus", "-af", "atrim=0:0.6")
	silent := file("silent.mp4", "-map", "0:v", "-c:v", "libx264")
	two := file("two.mkv", "-map", "0:v", "-map", "1:a", "-map", "1:a", "-c:v", "libx264", "-c:a", "libopus")
	late := filepath.Join(dir, "late.mkv") // the video starts half a second after the sound
	ffmpeg(t, "-f", "lavfi", "-i", "aevalsrc='if(between(t,0.8,0.81),0.9,0)':d=2:s=48000", "-itsoffset", "0.5", "-f", "lavfi", "-i", video,
		"-map", "1:v", "-map", "0:a", "-c:v", "libx264", "-c:a", "pcm_s16le", late)
	t.Setenv("TMPDIR", spools)
	f := Format{Height: 48, Width: 64, Frames: 25, FPS: latent.Rational{Num: 25, Den: 1}}
	for _, c := range []struct {
		from, out, codec string
		says             string
	}{
		{aac, "a.mp4", "aac", ""},
		{aac, "b.mkv", "aac", ""},
		{aac, "c.webm", "opus", "aac.mp4: its sound, aac, is re-encoded as opus, because .webm does not support it"},
		{opus, "d.webm", "opus", ""},
		{opus, "e.mp4", "opus", ""},
		{opus, "f.mov", "aac", "opus.mkv: its sound, opus, is re-encoded as aac, because .mov does not support it"},
		{pcm, "g.mov", "pcm_s16le", ""},
		{wav, "h.mp4", "aac", "x.wav: its sound, pcm_s16le, is re-encoded as aac, because .mp4 does not support it"},
		{wav, "i.mkv", "pcm_s16le", ""},
		{late, "j.mkv", "pcm_s16le", ""},
		{short, "k.mp4", "aac", "short.m4a: its sound ends after 0.5 s: the rest of " + filepath.Join(dir, "k.mp4") + ", 0.5 s, is silent"},
		{brief, "n.webm", "opus", "brief.mkv: its sound ends after 0.6 s: the rest of " + filepath.Join(dir, "n.webm") + ", 0.4 s, is silent"},
		{two, "l.mkv", "opus", "two.mkv: has 2 sound tracks: " + filepath.Join(dir, "l.mkv") + " gets the first"},
		{silent, "m.mp4", "", ""},
	} {
		out := filepath.Join(dir, c.out)
		told, err := createWith(t, out, f, CreateOptions{Sound: c.from, SoundAsked: c.codec != ""})
		require.NoError(t, err)
		if c.says == "" {
			assert.Empty(t, told, c.out)
		} else if assert.Len(t, told, 1, c.out) {
			assert.Equal(t, filepath.Join(dir, c.says), told[0])
		}
		found, err := probeAll(context.Background(), out)
		require.NoError(t, err)
		at := found.first("audio")
		if c.codec == "" {
			assert.Equal(t, -1, at, c.out)
			continue
		}
		require.GreaterOrEqual(t, at, 0, c.out)
		assert.Equal(t, c.codec, found.Streams[at].CodecName, c.out)
		assert.Equal(t, "25", ffprobe(t, out)["nb_read_frames"], c.out)
		heard, seconds := clickAt(t, out)
		assert.InDelta(t, 0.3, heard, 0.025, "%s: when the click is heard", c.out)
		want := map[string]float64{short: 0.5, brief: 0.6}[c.from]
		assert.InDelta(t, cmp.Or(want, 1), seconds, 0.06, "%s: length of the sound", c.out)
	}
	told, err := createWith(t, filepath.Join(dir, "cut.mkv"), f, CreateOptions{Sound: aac})
	require.NoError(t, err)
	if assert.Len(t, told, 1) {
		assert.Regexp(t, `aac\.mp4: its sound lasts 1\.0 s longer than its frames: .*cut\.mkv gets the first 1\.0 s$`, told[0])
	}
	only(t, spools)

	for _, asked := range []bool{false, true} {
		told, err := createWith(t, filepath.Join(dir, "frames"), f, CreateOptions{Sound: aac, SoundAsked: asked})
		if asked {
			require.ErrorIs(t, err, ErrOption)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, []string{filepath.Join(dir, "frames") + ": cannot store sound: that of " + aac + " is dropped"}, told)
	}
	_, err = createWith(t, filepath.Join(dir, "none.mp4"), f, CreateOptions{Sound: silent, SoundAsked: true})
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "silent.mp4: holds no sound")

	// Unreadable sound is no reason to lose the video.
	broken := file("broken.mkv", "-c:v", "libx264", "-c:a", "flac")
	data, err := os.ReadFile(broken)
	require.NoError(t, err)
	found, err := probeAll(context.Background(), broken)
	require.NoError(t, err)
	for i := 4096; i < len(data); i++ {
		data[i] = 0
	}
	require.NoError(t, os.WriteFile(broken, data, 0o666))
	out := filepath.Join(dir, "rest.mp4")
	told, err = createWith(t, out, f, CreateOptions{Sound: broken})
	require.NoError(t, err, "%v", found)
	require.NotEmpty(t, told)
	assert.Contains(t, told[len(told)-1], "ffmpeg says")
	openClip(t, out, f)
}

// TestLeftBehind: parts of a video that are neither frames nor the added sound.
func TestLeftBehind(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	words := put("words.srt", "1\n00:00:00,000 --> 00:00:01,000\nHello\n")
	chapters := put("chapters.txt", ";FFMETADATA1\ntitle=A title\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=500\ntitle=one\n")
	full, plain := filepath.Join(dir, "full.mkv"), filepath.Join(dir, "plain.mp4")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=1", "-i", words, "-i", chapters, "-map", "0:v", "-map", "1",
		"-map_metadata", "2", "-c:v", "libx264", full)
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=1", "-c:v", "libx264", plain)
	f := Format{Height: 48, Width: 64, Frames: 25, FPS: latent.Rational{Num: 25, Den: 1}}
	out := filepath.Join(dir, "out.mp4")
	told, err := createWith(t, out, f, CreateOptions{From: full})
	require.NoError(t, err)
	assert.Equal(t, []string{full + ": its subtitles (1), chapters (1), metadata (title) are not copied to " + out}, told)
	for _, from := range []string{plain, ""} {
		told, err = createWith(t, out, f, CreateOptions{From: from})
		require.NoError(t, err)
		assert.Empty(t, told)
	}
}

// TestRateIsSaid: a requested rate that the format does not store.
func TestRateIsSaid(t *testing.T) {
	f := Format{Height: 48, Width: 64, Frames: 1, FPS: latent.Rational{Num: 25, Den: 1}}
	for name, says := range map[string]bool{"frames": true, "a.png": true, "a.npy": true, "a.safetensors": false, "a.y4m": false} {
		path := filepath.Join(t.TempDir(), name)
		told, err := createWith(t, path, f, CreateOptions{RateAsked: true})
		require.NoError(t, err)
		var want []string
		if says {
			want = []string{path + ": cannot store a frame rate: 25 frames/s is dropped"}
		}
		assert.Equal(t, want, told, name)
		told, err = createWith(t, path, f, CreateOptions{})
		require.NoError(t, err)
		assert.Empty(t, told, name)
		if name != "a.png" {
			told, err = createWith(t, path, Format{Height: 4, Width: 4, Frames: 2}, CreateOptions{})
			require.NoError(t, err)
			want = nil
			if name == "a.y4m" {
				want = []string{path + ": frame rate unknown, using 24 frames/s; --fps sets another"}
			}
			assert.Equal(t, want, told, "guessed in %s", name)
		}
	}
}

// TestWriteAnimations: WebP that keeps every pixel, GIF with its warning, and an ffmpeg
// that lacks the encoder.
func TestWriteAnimations(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	f := Format{Height: 47, Width: 64, Frames: 5, FPS: latent.Rational{Num: 24, Den: 1}}
	for _, c := range []struct {
		name string
		rms  float64
		says []string
	}{
		{"out.webp", 1e-4, nil},
		{"out.gif", 12, []string{"keeps 256 colours of each frame; .webp keeps all"}},
	} {
		path := filepath.Join(dir, c.name)
		told, err := createWith(t, path, f, CreateOptions{RateAsked: true})
		require.NoError(t, err)
		for i := range c.says {
			c.says[i] = path + ": " + c.says[i]
		}
		assert.Equal(t, c.says, told)
		clip := openClip(t, path, f)
		assert.InDelta(t, 5/24.0, 5/clip.FPS().Float(), 0.011, "length of %s", c.name) // GIF stores hundredths of a second
		for i := range f.Frames {
			checkColour(t, i, readFrame(t, clip, i), quantised(testFrame(i, f.Height, f.Width)), c.rms)
		}
		one := f
		one.Frames = 1
		_, err = createWith(t, path, one, CreateOptions{})
		require.NoError(t, err)
		openClip(t, path, one)
		require.NoError(t, os.Remove(path))
		_, err = createWith(t, path, f, CreateOptions{CRF: "20"})
		require.ErrorIs(t, err, ErrOption)
	}
	told, err := createWith(t, filepath.Join(dir, "fast.gif"), Format{Height: 8, Width: 8, Frames: 2, FPS: latent.Rational{Num: 60, Den: 1}}, CreateOptions{})
	require.NoError(t, err)
	require.Len(t, told, 2)
	assert.Contains(t, told[1], "fast.gif: has times in hundredths of a second: browsers play 60 frames/s slower, 50 at most")
	require.NoError(t, os.Remove(filepath.Join(dir, "fast.gif")))

	otherFFmpeg(t, "case \" $* \" in *' libwebp_anim '*)\n"+
		"echo \"[fatal] Unknown encoder 'libwebp_anim'\" >&2\nexit 1\nesac\nexec FFMPEG \"$@\"")
	_, err = createWith(t, filepath.Join(dir, "out.webp"), f, CreateOptions{})
	require.ErrorIs(t, err, ErrOutput)
	require.ErrorContains(t, err, `out.webp: can't be written: ffmpeg says "Unknown encoder 'libwebp_anim'"`)
	only(t, dir)
}

// clickAt returns the time of the loudest sample and the length of the sound, in seconds.
func clickAt(t *testing.T, path string) (at, seconds float64) {
	t.Helper()
	const rate = 48000
	out, err := exec.Command("ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-af", "aresample=async=1:first_pts=0",
		"-ac", "1", "-ar", "48000", "-f", "s16le", "-").Output()
	require.NoError(t, err)
	loudest := 0.0
	for i := 0; i+1 < len(out); i += 2 {
		if v := math.Abs(float64(int16(binary.LittleEndian.Uint16(out[i:])))); v > loudest {
			loudest, at = v, float64(i/2)/rate
		}
	}
	return at, float64(len(out)/2) / rate
}

// TestMotionJPEG reads the colours that were written: JPEG uses BT.601.
func TestMotionJPEG(t *testing.T) {
	needFFmpeg(t)
	for _, ext := range []string{".mov", ".mkv"} {
		out := filepath.Join(t.TempDir(), "out"+ext)
		s, err := CreateWith(context.Background(), out, Format{Height: 32, Width: 32, Frames: 1}, CreateOptions{Codec: "mjpeg", PixelFormat: "yuvj444p"})
		require.NoError(t, err)
		frame := slices.Repeat([]float32{0.8, -0.6, -0.2}, 32*32)
		require.NoError(t, s.WriteFrame(frame))
		require.NoError(t, s.Close())
		clip := openClip(t, out, Format{Height: 32, Width: 32, Frames: 1})
		for i, v := range readFrame(t, clip, 0) {
			require.InDelta(t, frame[i], v, 3/127.5, "%s: value %d", ext, i)
		}
	}
}
