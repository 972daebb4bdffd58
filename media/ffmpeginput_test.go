//go:build !js

package media

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlaylists: a file that names other files is refused, whatever its name.
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
		{"list.m3u8", hls, "is of the format hls, which may name other files"}, {"list.mp4", hls, ""}, {"list%03d.mp4", hls, ""}, // newer versions require hls's own extension
		{"parts.ffconcat", concat, "is of the format concat, which may name other files"}, {"parts.mkv", concat, "is of the format concat, which may name other files"},
		{"x.mpd", dash, ""}, // some versions of ffmpeg do not know it
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

// TestNamesLikePatterns: a picture with %03d in its name lies beside three that the
// pattern would match.
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

// TestChangingVideo: if the pixel format changes in mid-stream no frame is lost; if the
// size changes the video is refused, or scaled if that is accepted.
func TestChangingVideo(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	part := func(size, pixels string) []byte {
		path := filepath.Join(dir, "part.ts")
		ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s="+size+":r=25:d=0.4", "-pix_fmt", pixels, "-c:v", "libx264", path)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return data
	}
	join := func(name string, parts ...[]byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, slices.Concat(parts...), 0o666))
		return path
	}
	f := Format{Height: 96, Width: 160, Frames: 20}
	first := part("160x96", "yuv420p")
	openClip(t, join("same.ts", first, first), f)
	openClip(t, join("pixels.ts", first, part("160x96", "yuv444p")), f)

	size := join("size.ts", first, part("64x48", "yuv420p"))
	_, err := Open(context.Background(), size, 3)
	require.ErrorContains(t, err, "size.ts: changes from 160x96 to 64x48 pixels in mid-stream; expected frames of one size")
	require.ErrorIs(t, err, ErrInput)
	var warnings []string
	clip, err := OpenWith(context.Background(), size, 3, OpenOptions{
		AcceptDamaged: true, Matrix: "bt601", Warn: func(text string) { warnings = append(warnings, text) },
	})
	require.NoError(t, err)
	defer clip.Close()
	h, w := clip.Size()
	require.Equal(t, [3]int{20, 96, 160}, [3]int{clip.Frames(), h, w})
	require.Len(t, warnings, 1)
}

// TestOldFFmpeg reads with an ffmpeg that knows -vsync, but not -fps_mode.
func TestOldFFmpeg(t *testing.T) {
	needFFmpeg(t)
	f := Format{Height: 32, Width: 48, Frames: 3}
	path := filepath.Join(t.TempDir(), "clip.mp4")
	writeClip(t, path, f)
	otherFFmpeg(t, "case \" $* \" in *' -fps_mode '*)\n"+
		"echo \"[fatal] Unrecognized option 'fps_mode'.\" >&2\nexit 1\nesac\n"+
		"for a; do\nshift\n[ \"$a\" != -vsync ] || a=-fps_mode\nset -- \"$@\" \"$a\"\ndone\nexec FFMPEG \"$@\"")
	openClip(t, path, f)
}

// otherFFmpeg replaces ffmpeg by a shell script, in which FFMPEG is the real one.
func otherFFmpeg(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell script as ffmpeg")
	}
	real, err := exec.LookPath("ffmpeg")
	require.NoError(t, err)
	dir := t.TempDir()
	script = "#!/bin/sh\n" + strings.ReplaceAll(script, "FFMPEG", "'"+real+"'")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ffmpeg"), []byte(script), 0o777))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}
