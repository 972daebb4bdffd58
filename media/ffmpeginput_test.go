//go:build !js

package media

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlaylists: a file that names others is refused, whatever it is called.
func TestPlaylists(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=32x32:d=0.2", "-c:v", "mpeg2video", "-f", "mpegts", filepath.Join(dir, "part.ts"))
	const hls = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\npart.ts\n#EXT-X-ENDLIST\n"
	const concat = "ffconcat version 1.0\nfile part.ts\n"
	const dash = `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT1S" ` +
		`profiles="urn:mpeg:dash:profile:isoff-main:2011"><Period><AdaptationSet mimeType="video/mp2t">` +
		`<Representation id="1" bandwidth="1000"><BaseURL>part.ts</BaseURL></Representation></AdaptationSet></Period></MPD>`
	for _, c := range []struct{ name, text, want string }{
		{"list.m3u8", hls, "is of the format hls, which may name other files"}, {"list.mp4", hls, "is of the format hls, which may name other files"}, {"list%03d.mp4", hls, "is of the format hls, which may name other files"},
		{"parts.ffconcat", concat, "is of the format concat, which may name other files"}, {"parts.mkv", concat, "is of the format concat, which may name other files"},
		{"x.mpd", dash, ""}, // not every ffmpeg knows it
	} {
		path := filepath.Join(dir, c.name)
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o666))
		clip, err := Open(context.Background(), path, 3)
		if err == nil {
			clip.Close()
		}
		require.ErrorContains(t, err, c.name+": "+c.want)
		require.ErrorIs(t, err, ErrInput)
	}
}

// TestNamesLikePatterns: beside a picture whose name has %03d in it lie three
// that the name would stand for.
func TestNamesLikePatterns(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	f := Format{Height: 48, Width: 64, Frames: 1}
	for _, ext := range []string{".bmp", ".tiff"} {
		png := filepath.Join(dir, "x.png")
		path := filepath.Join(dir, "x%03d"+ext)
		for _, name := range []string{"x001", "x002", "x003"} {
			ffmpeg(t, "-f", "lavfi", "-i", "color=red:s=32x32", "-frames:v", "1", filepath.Join(dir, name+ext))
		}
		writeClip(t, png, f)
		plain := filepath.Join(dir, "plain"+ext)
		ffmpeg(t, "-i", png, plain)
		require.NoError(t, os.Rename(plain, path))
		frame := readFrame(t, openClip(t, path, f), 0)
		require.InDeltaSlice(t, quantised(testFrame(0, f.Height, f.Width)), frame, 1e-6)
	}
}
