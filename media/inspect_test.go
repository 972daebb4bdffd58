//go:build !js

package media

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInspect compares the headers' description with Open's, and runs without ffmpeg,
// which decodes.
func TestInspect(t *testing.T) {
	needFFmpeg(t)
	dir, spools := t.TempDir(), t.TempDir()
	source := []string{"-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=2"}
	file := func(name string, args ...string) string {
		path := filepath.Join(dir, name)
		ffmpeg(t, append(args, path)...)
		return path
	}
	from := func(args ...string) []string { return append(source[:len(source):len(source)], args...) }
	mp4 := file("x.mp4", from("-c:v", "libx264", "-g", "10")...)
	rotated := filepath.Join(dir, "rotated.mp4")
	turn90(t, mp4, rotated)
	folder, y4m := filepath.Join(dir, "folder"), filepath.Join(dir, "x.y4m")
	writeClip(t, folder, Format{Height: 8, Width: 6, Frames: 3})
	writeClip(t, y4m, Format{Height: 8, Width: 6, Frames: 3})
	for _, c := range []struct {
		path  string
		about bool
	}{
		{mp4, false}, {folder, false}, {y4m, false},
		{file("x.mkv", "-i", mp4, "-c", "copy"), false},
		{file("trimmed.mp4", "-ss", "0.5", "-i", mp4, "-c", "copy"), false},
		{rotated, false},
		{file("x.webm", from("-c:v", "libvpx-vp9", "-deadline", "realtime")...), false},
		{file("vp8.webm", from("-c:v", "libvpx", "-deadline", "realtime", "-auto-alt-ref", "0")...), true},
		{file("x.bmp", from("-frames:v", "1")...), false},
		{file("x.gif", from()...), false},
	} {
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			clip, err := Open(context.Background(), c.path, 3)
			require.NoError(t, err)
			h, w := clip.Size()
			want := Summary{Format: Format{Height: h, Width: w, Frames: clip.Frames(), FPS: clip.FPS()}, About: c.about}
			require.NoError(t, clip.Close())
			path := os.Getenv("PATH")
			t.Setenv("PATH", onlyFFprobe(t))
			got, err := Inspect(context.Background(), c.path)
			t.Setenv("PATH", path)
			require.NoError(t, err)
			got.Warnings, got.Notes = nil, nil
			assert.Equal(t, want, got)
		})
	}
	data, err := os.ReadFile(filepath.Join(dir, "x.mkv"))
	require.NoError(t, err)
	cut := filepath.Join(dir, "cut.mkv")
	require.NoError(t, os.WriteFile(cut, data[:len(data)*6/10], 0o666))
	t.Setenv("TMPDIR", spools)
	got, err := Inspect(context.Background(), cut)
	require.NoError(t, err)
	assert.True(t, got.About)
	assert.Equal(t, `ffmpeg says "File ended prematurely"`, got.Damage)
	_, err = Inspect(context.Background(), filepath.Join(dir, "none.mp4"))
	require.ErrorIs(t, err, ErrInput)
	only(t, spools)
}

// onlyFFprobe returns a PATH without ffmpeg.
func onlyFFprobe(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	real, err := exec.LookPath("ffprobe")
	require.NoError(t, err)
	if err := os.Symlink(real, filepath.Join(dir, filepath.Base(real))); err != nil {
		t.Skip(err)
	}
	return dir
}
