//go:build !js

package media

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
)

// TestTracks: of several video streams, the one that a player would show is read, with a
// note; a cover never is, whatever its position.
func TestTracks(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	const small, large = "testsrc2=s=64x48:r=10:d=0.9", "testsrc2=s=96x64:r=25:d=0.4"
	two := func(name string, dispositions ...string) string {
		path := filepath.Join(dir, name)
		ffmpeg(t, "-f", "lavfi", "-i", small, "-f", "lavfi", "-i", large, "-map", "0:v", "-map", "1:v", "-c:v", "libx264", "-vf", "format=yuv420p,setparams=colorspace=bt709",
			"-disposition:v:0", dispositions[0], "-disposition:v:1", dispositions[1], path)
		return path
	}
	second := two("second.mkv", "0", "default")
	cover := filepath.Join("testdata", "video", "cover-first.mp4") // no muxer of ffmpeg puts it there
	for _, c := range []struct {
		path  string
		track int
		want  Format
		note  string
	}{
		{second, 0, Format{Height: 64, Width: 96, Frames: 10, FPS: latent.Rational{Num: 25, Den: 1}},
			"has 2 video tracks: reads track 2 (96x64, h264, default), not track 1 (64x48, h264); --track chooses another"},
		{second, 1, Format{Height: 48, Width: 64, Frames: 9, FPS: latent.Rational{Num: 10, Den: 1}}, ""},
		{second, 2, Format{Height: 64, Width: 96, Frames: 10, FPS: latent.Rational{Num: 25, Den: 1}}, ""},
		{two("neither.mkv", "0", "0"), 0, Format{Height: 48, Width: 64, Frames: 9, FPS: latent.Rational{Num: 10, Den: 1}},
			"has 2 video tracks: reads track 1 (64x48, h264), not track 2 (96x64, h264); --track chooses another"},
		{cover, 0, Format{Height: 48, Width: 64, Frames: 9, FPS: latent.Rational{Num: 10, Den: 1}},
			"has 2 video tracks: reads track 2 (64x48, h264, default), not track 1 (32x32, mjpeg, a cover); --track chooses another"},
		{cover, 1, Format{Height: 32, Width: 32, Frames: 1}, ""},
		{plainVideo(t, dir), 1, Format{Height: 48, Width: 64, Frames: 10, FPS: latent.Rational{Num: 25, Den: 1}}, ""},
	} {
		clip, _, notes := told(t, c.path, OpenOptions{Track: c.track, Matrix: "bt709"})
		assert.Equal(t, c.want, formatOf(clip), "track %d of %s", c.track, c.path)
		var want []string
		if c.note != "" {
			want = []string{c.note}
		}
		assert.Equal(t, want, notes, c.path)
		readFrame(t, clip, c.want.Frames-1)
		if c.track == 0 {
			s, err := Inspect(context.Background(), c.path)
			require.NoError(t, err)
			assert.Equal(t, c.want, s.Format, c.path)
			assert.Equal(t, notes, s.Notes, c.path)
		}
	}
}

// TestTracksRefused: sound with a cover is not a video, and missing tracks are refused.
func TestTracksRefused(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	picture := filepath.Join(dir, "picture.png")
	writeClip(t, picture, Format{Height: 48, Width: 64, Frames: 1})
	frames := filepath.Join(dir, "frames.y4m")
	writeClip(t, frames, Format{Height: 48, Width: 64, Frames: 2})
	music := filepath.Join(dir, "music.flac")
	ffmpeg(t, "-f", "lavfi", "-i", "sine=d=0.1", "-i", picture, "-map", "0", "-map", "1", "-c:v", "png", "-disposition:v", "attached_pic", music)
	for _, c := range []struct {
		path  string
		track int
		want  string
	}{
		{music, 0, "music.flac: holds no video, only a cover: track 1 (64x48, png, a cover); --track 1 reads it"},
		{music, 2, "music.flac: has no video track 2, only track 1 (64x48, png, a cover)"},
		{frames, 2, "frames.y4m: has one video track, not 2"},
		{picture, 3, "picture.png: has one video track, not 3"},
	} {
		_, err := OpenWith(context.Background(), c.path, 3, OpenOptions{Track: c.track})
		assert.ErrorIs(t, err, ErrInput)
		assert.ErrorContains(t, err, c.want)
	}
	_, err := Inspect(context.Background(), music)
	assert.ErrorContains(t, err, "music.flac: holds no video, only a cover")
	clip, _, notes := told(t, music, OpenOptions{Track: 1})
	assert.Equal(t, Format{Height: 48, Width: 64, Frames: 1}, formatOf(clip))
	assert.Empty(t, notes)
}

// TestSoundOfTrack: sound is cut to the track that was read. The second track starts half
// a second after the first.
func TestSoundOfTrack(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "two.mkv")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=2", "-itsoffset", "0.5", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=1",
		"-f", "lavfi", "-i", "aevalsrc='if(between(t,0.8,0.81),0.9,0)':d=2:s=48000",
		"-map", "0", "-map", "1", "-map", "2", "-c:v", "ffv1", "-c:a", "pcm_s16le", "-disposition:v:1", "0", path)
	f := Format{Height: 48, Width: 64, Frames: 25, FPS: latent.Rational{Num: 25, Den: 1}}
	for track, want := range map[int]float64{0: 0.8, 1: 0.8, 2: 0.3} {
		out := filepath.Join(dir, "out.mkv")
		_, err := createWith(t, out, f, CreateOptions{Sound: path, From: path, Track: track})
		require.NoError(t, err)
		heard, _ := clickAt(t, out)
		assert.InDelta(t, want, heard, 0.025, "track %d", track)
	}
}

// TestDefaultSound: of several sound tracks, the one that players play is added, in any
// container.
func TestDefaultSound(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	f := Format{Height: 48, Width: 64, Frames: 25, FPS: latent.Rational{Num: 25, Den: 1}}
	for _, ext := range []string{".mkv", ".mov"} {
		path, out := filepath.Join(dir, "three"+ext), filepath.Join(dir, "out"+ext)
		ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=1",
			"-f", "lavfi", "-i", "aevalsrc='if(between(t,0.7,0.71),0.9,0)':d=1:s=48000",
			"-f", "lavfi", "-i", "aevalsrc='if(between(t,0.3,0.31),0.9,0)':d=1:s=48000",
			"-map", "0", "-map", "1", "-map", "2", "-map", "1", "-c:v", "libx264", "-c:a", "pcm_s16le", "-shortest",
			"-disposition:a:0", "0", "-disposition:a:1", "default", "-disposition:a:2", "0", path)
		told, err := createWith(t, out, f, CreateOptions{Sound: path, SoundAsked: true})
		require.NoError(t, err)
		assert.Equal(t, []string{path + ": has 3 sound tracks: " + out + " gets the default one, track 2"}, told)
		heard, _ := clickAt(t, out)
		assert.InDelta(t, 0.3, heard, 0.025, ext)
	}
}
