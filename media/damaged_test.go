//go:build !js

package media

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A missing end that ffmpeg does not report is found nevertheless.
func TestCutShort(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	for _, name := range []string{"cut.gif", "cut.ts"} {
		path := filepath.Join(dir, name)
		ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=8", "-frames:v", "9", path)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		clip := openClip(t, path, Format{Height: 48, Width: 64, Frames: 9})
		require.Equal(t, 9, clip.Frames())
		require.NoError(t, os.WriteFile(path, data[:len(data)-11], 0o666))
		_, err = Open(context.Background(), path, 3)
		require.ErrorIs(t, err, ErrDamaged, name)
		require.ErrorIs(t, err, ErrInput, name)
		require.ErrorContains(t, err, "damaged: ", name)
	}
}

// ffmpeg skips a frame of an .avi whose chunk has another stream's name.
func TestLostChunk(t *testing.T) {
	needFFmpeg(t)
	path := filepath.Join(t.TempDir(), "lost.avi")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=8", "-frames:v", "9", "-c:v", "mjpeg", path)
	open := func() (frames int, warnings []string) {
		clip, err := OpenWith(context.Background(), path, 3, OpenOptions{Warn: func(text string) { warnings = append(warnings, text) }})
		require.NoError(t, err)
		defer clip.Close()
		return clip.Frames(), warnings
	}
	frames, warnings := open()
	require.Equal(t, 9, frames)
	require.Empty(t, warnings)

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	movi := bytes.Index(data, []byte("movi"))
	data[movi+bytes.Index(data[movi:], []byte("00dc"))] = 'e'
	require.NoError(t, os.WriteFile(path, data, 0o666))
	frames, warnings = open()
	require.Equal(t, 8, frames)
	require.Equal(t, []string{path + ": its header counts 9 frames, of which 8 were found: the others were dropped or are damaged"}, warnings)
}

// TestDamaged truncates files and flips bytes in one: ffmpeg ends with success for each,
// but reads only part of the video.
func TestDamaged(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	source := []string{"-f", "lavfi", "-i", "testsrc2=s=160x96:r=25:d=2"}
	file := func(name string, args ...string) []byte {
		path := filepath.Join(dir, "whole."+name)
		ffmpeg(t, append(append(source, args...), path)...)
		openClip(t, path, Format{Height: 96, Width: 160, Frames: 50}) // no warning
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return data
	}
	cut := func(data []byte) []byte { return data[:len(data)*6/10] }
	flipped := func(data []byte) []byte {
		for i := len(data) / 3; i < len(data)*2/3; i += 97 {
			data[i] ^= 0x55
		}
		return data
	}
	for _, c := range []struct {
		name string
		data []byte
		says string // ffmpeg's message
		of   string // expected number of frames
	}{
		{"cut.mp4", cut(file("mp4", "-c:v", "libx264", "-movflags", "+faststart")), "partial file\"", " of 50"},
		{"cut.mkv", cut(file("mkv", "-c:v", "libx264")), "\"File ended prematurely\"", " of about 50"},
		{"cut.webm", cut(file("webm", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8")), "\"File ended prematurely\"", " of about 50"},
		{"flipped.mp4", flipped(file("2.mp4", "-c:v", "libx264", "-g", "10", "-movflags", "+faststart")), " more; ", " of 50"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spools := t.TempDir()
			t.Setenv("TMPDIR", spools)
			path := filepath.Join(dir, c.name)
			require.NoError(t, os.WriteFile(path, c.data, 0o666))
			_, err := Open(context.Background(), path, 3)
			require.ErrorIs(t, err, ErrInput)
			require.ErrorIs(t, err, ErrDamaged)
			require.ErrorContains(t, err, c.name+": damaged: ffmpeg says \"")
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "\n")
			only(t, spools)

			var warnings []string
			clip, err := OpenWith(context.Background(), path, 3, OpenOptions{
				AcceptDamaged: true, Matrix: "bt601", Warn: func(text string) { warnings = append(warnings, text) },
			})
			require.NoError(t, err)
			defer clip.Close()
			require.Len(t, warnings, 1)
			assert.Contains(t, warnings[0], path+": damaged: ffmpeg says \"")
			assert.Contains(t, warnings[0], fmt.Sprintf("; %d frames read%s", clip.Frames(), c.of))
			assert.Greater(t, clip.Frames(), 20)
			readFrame(t, clip, clip.Frames()-1)
		})
	}
}

// TestSaid: which of ffmpeg's messages are about the video.
func TestSaid(t *testing.T) {
	s := &decodeLog{format: "mov,mp4,m4a,3gp,3g2,mj2", others: []string{"mp3"}}
	fmt.Fprint(s, "[h264 @ 0x1] [warning] DTS discontinuity\n"+
		"[mp3float @ 0x1] [error] Header missing\n"+
		"[mjpeg @ 0x1] [error] unable to decode APP fields: Invalid data\n"+
		"[image2pipe @ 0x1] [error] Application provided invalid, non monotonically increasing dts to muxer in stream 0: 24 >= 0\n"+
		"continued\n")
	require.Zero(t, s.errors)
	fmt.Fprint(s, "[vist#0:0/h264 @ 0x1] [dec:h264 @ 0x2] [err")
	fmt.Fprint(s, "or] Decoding error: file:/a/b.mp4\n")
	require.Equal(t, `"Decoding error: the file"`, s.reason("file:/a/b.mp4"))
	fmt.Fprint(s, "[mov,mp4,m4a,3gp,3g2,mj2 @ 0x1] [error] partial \x1b file\n[fatal] the end\n")
	require.Equal(t, `"partial \x1b file" and 2 more`, s.reason("file:/a/b.mp4"))
}

// TestHealthy: ffmpeg's messages about intact files, with sound, fields, fragments and
// edit lists, do not end reading.
func TestHealthy(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	source := []string{"-f", "lavfi", "-i", "testsrc2=s=160x96:r=25:d=1", "-f", "lavfi", "-i", "sine=d=1"}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"aac.mp4", []string{"-c:v", "libx264", "-c:a", "aac"}},
		{"opengop.mp4", []string{"-c:v", "libx264", "-g", "10", "-x264opts", "open_gop=1", "-an"}},
		{"fragments.mp4", []string{"-c:v", "libx264", "-movflags", "frag_keyframe+empty_moov+default_base_moof"}},
		{"fields.ts", []string{"-c:v", "libx264", "-flags", "+ilme+ildct", "-x264opts", "tff=1"}},
		{"bframes.avi", []string{"-c:v", "mpeg4", "-bf", "2", "-c:a", "mp3"}},
		{"x.mpg", []string{"-c:v", "mpeg1video", "-c:a", "mp2"}},
		{"x.mxf", []string{"-c:v", "mpeg2video", "-c:a", "pcm_s16le", "-ar", "48000"}},
		{"x.flv", []string{"-c:v", "flv1", "-c:a", "mp3", "-ar", "44100"}},
		{"x.h264", []string{"-c:v", "libx264", "-an"}},
	} {
		path := filepath.Join(dir, c.name)
		ffmpeg(t, append(append(source[:len(source):len(source)], c.args...), path)...)
		openClip(t, path, Format{Height: 96, Width: 160, Frames: 25})
	}
	trimmed := filepath.Join(dir, "trimmed.mp4")
	ffmpeg(t, "-ss", "0.3", "-i", filepath.Join(dir, "opengop.mp4"), "-c", "copy", trimmed)
	clip, err := Open(context.Background(), trimmed, 3)
	require.NoError(t, err)
	require.NoError(t, clip.Close())
}
