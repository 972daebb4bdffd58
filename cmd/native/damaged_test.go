package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// ffmpegClip returns a video of 32 x 32 pixels that ffmpeg makes with args.
func ffmpegClip(t *testing.T, name, source string, args ...string) string {
	t.Helper()
	if !haveFFmpeg() {
		t.Skip("no ffmpeg")
	}
	path := filepath.Join(t.TempDir(), name)
	args = append([]string{"-v", "error", "-f", "lavfi", "-i", source}, append(args, path)...)
	out, err := exec.Command("ffmpeg", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// A truncated video ends the job with the reason, unless damage is accepted.
func TestDamagedVideo(t *testing.T) {
	t.Parallel()
	whole := ffmpegClip(t, "whole.mkv", "testsrc2=s=32x32:r=25:d=1", "-c:v", "mpeg4", "-g", "1")
	data, err := os.ReadFile(whole)
	require.NoError(t, err)
	cut := filepath.Join(filepath.Dir(whole), "cut.mkv")
	write(t, cut, data[:len(data)*7/10])
	const want = `cut.mkv: damaged: ffmpeg says "File ended prematurely"; `
	for _, command := range []string{"encode", "roundtrip"} {
		refusal{name: command, args: command + " -m " + tiny + " " + cut + " -o OUT.npy", code: job.ExitInput, want: want}.test(t)
		refusal{name: command, args: command + " -m " + tiny + " " + cut + " -o OUT.npy", code: job.ExitInput,
			want: " of about 25; --accept-damaged keeps what can be read"}.test(t)
	}
	needDevice(t)
	latent := filepath.Join(t.TempDir(), "z.safetensors")
	o := succeed(t, "encode", "-m", tiny, cut, "-o", latent, "--accept-damaged", "--matrix=bt601")
	assert.Contains(t, o.stderr, "tessera: warning: "+cut+`: damaged: ffmpeg says "File ended prematurely"; `)
	assert.FileExists(t, latent)
	r := succeedJSON(t, "encode", "-m", tiny, cut, "-o", latent, "--accept-damaged", "--matrix=bt601")
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], " frames read of about 25")
	assert.Less(t, r.Frames, 25)
}

// info of a video decodes no frames: the disk has no room for them.
func TestInfoOfVideo(t *testing.T) {
	none := []string{"TMPDIR=" + filepath.Join(t.TempDir(), "none")}
	path := ffmpegClip(t, "x.mkv", "testsrc2=s=32x48:r=25:d=1", "-c:v", "ffv1", "-pix_fmt", "bgr0")
	o := tesseraEnv(t, none, "info", path)
	require.Equal(t, 0, o.code, o.stderr)
	assert.Equal(t, path+": video of 25 frames of 32x48 pixels, 25 frames/s\n", o.stdout)
	assert.Empty(t, o.stderr)

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	cut := filepath.Join(filepath.Dir(path), "cut.mkv")
	write(t, cut, data[:len(data)*7/10])
	o = tesseraEnv(t, none, "info", cut)
	require.Equal(t, 0, o.code, o.stderr)
	assert.Contains(t, o.stdout, ": video of about ")
	assert.Contains(t, o.stderr, `tessera: warning: `+cut+`: damaged: ffmpeg says "File ended prematurely"`)
	o = tesseraEnv(t, none, "info", cut, "--json")
	assert.Contains(t, o.stdout, `"frames_estimated": true`)
}
