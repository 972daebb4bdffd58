package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// A guess about a video is one line, and in the JSON; what the user states is not
// guessed.
func TestVideoColour(t *testing.T) {
	clip := ffmpegClip(t, "x.mkv", "color=0xC83C28:s=32x32:r=25:d=0.2", "-c:v", "ffv1", "-pix_fmt", "yuv444p")
	const says = "x.mkv: names no colour matrix: read as BT.601, which ffmpeg, diffusers and imageio write; --matrix bt709 reads it as HD video"
	o := succeed(t, "info", clip)
	assert.Contains(t, o.stderr, "tessera: warning: ")
	assert.Contains(t, o.stderr, says+"\n")
	assert.Contains(t, succeed(t, "info", clip, "--json").stdout, says)
	for _, command := range []string{"encode", "roundtrip"} {
		refusal{name: command, args: command + " -m " + tiny + " " + clip + " -o OUT.npy --matrix rgb", code: job.ExitUsage,
			want: `--matrix must be one of "bt601","bt709","bt2020","default"`}.test(t)
	}
	needDevice(t)
	latent := filepath.Join(t.TempDir(), "z.safetensors")
	r := succeedJSON(t, "encode", "-m", tiny, clip, "-o", latent)
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], says)
	assert.Empty(t, succeedJSON(t, "encode", "-m", tiny, clip, "-o", latent, "--matrix", "bt709").Warnings)
}

// A cover is not the video: info names both tracks, and --track can read the cover.
func TestVideoTracks(t *testing.T) {
	t.Parallel()
	clip := filepath.Join("..", "..", "media", "testdata", "video", "cover-first.mp4")
	const says = "has 2 video tracks: reads track 2 (64x48, h264, default), not track 1 (32x32, mjpeg, a cover); --track chooses another"
	if !haveFFmpeg() {
		t.Skip("no ffmpeg")
	}
	o := succeed(t, "info", clip)
	assert.Contains(t, o.stdout, ": video of 9 frames of 64x48 pixels, 10 frames/s\n  "+says)
	refusal{name: "encode", args: "encode -m " + tiny + " " + clip + " -o OUT.npy --track 3", code: job.ExitInput,
		want: "cover-first.mp4: has no video track 3, only track 1 (32x32, mjpeg, a cover), track 2 (64x48, h264, default)"}.test(t)
	needDevice(t)
	latent := filepath.Join(t.TempDir(), "z.safetensors")
	o = succeed(t, "encode", "-m", tiny, clip, "-o", latent)
	assert.Contains(t, o.stderr, says)
	assert.Contains(t, succeed(t, "info", latent).stdout, "tessera.frames: 9\n")
	o = succeed(t, "encode", "-m", tiny, clip, "-o", latent, "--track", "1")
	assert.NotContains(t, o.stderr, says)
	assert.Contains(t, succeed(t, "info", latent).stdout, "tessera.frames: 1\n")
}

// A latent keeps the shape of pixels.
func TestVideoAspect(t *testing.T) {
	t.Parallel()
	clip := ffmpegClip(t, "x.mkv", "color=0xC83C28:s=32x32:r=25:d=0.2", "-vf", "setsar=64/45", "-c:v", "ffv1", "-pix_fmt", "bgr0")
	assert.Contains(t, succeed(t, "info", clip).stdout, "x.mkv: video of 5 frames of 32x32 pixels, 25 frames/s, each 64/45 as wide as high\n")
	needDevice(t)
	dir := t.TempDir()
	latent, out := filepath.Join(dir, "z.safetensors"), filepath.Join(dir, "out.y4m")
	succeed(t, "encode", "-m", tiny, clip, "-o", latent)
	succeed(t, "decode", "-m", tiny, latent, "-o", out)
	head, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Contains(t, string(head[:80]), " A64:45 ")
	o := succeed(t, "encode", "-m", tiny, clip, "-o", filepath.Join(dir, "z.npy"))
	assert.Contains(t, o.stderr, "z.npy: .npy keeps no metadata: it will decode to square pixels, not 64/45")
}

// One tile reads a video while ffmpeg decodes it, without disk space for frames. Several
// tiles report the needed space first, and are refused without it.
func TestRoomForVideo(t *testing.T) {
	clip := ffmpegClip(t, "x.mkv", "testsrc2=s=64x48:r=25:d=0.4", "-c:v", "ffv1", "-pix_fmt", "bgr0")
	needDevice(t)
	dir := t.TempDir()
	latent := filepath.Join(dir, "z.npy")
	none := []string{"TMPDIR=" + filepath.Join(dir, "none"), "TMP=" + filepath.Join(dir, "none")}
	o := tesseraEnv(t, none, "encode", "-m", tiny, clip, "-o", latent, "--moments")
	require.Equal(t, 0, o.code, o.stderr)
	assert.NotContains(t, o.stderr, "temporary files")
	o = tesseraEnv(t, none, "roundtrip", "-m", tiny, clip, "-o", filepath.Join(dir, "out.y4m"))
	require.Equal(t, 0, o.code, o.stderr)
	whole, err := os.ReadFile(latent)
	require.NoError(t, err)

	tiled := []string{"encode", "-m", tiny, clip, "-o", latent, "--moments", "--tile", "32", "--overlap", "16"}
	o = succeed(t, tiled...)
	assert.Contains(t, o.stderr, "encode: temporary files in "+os.TempDir()+" take 90.0 KiB for decoded frames, which every tile reads\n")
	folder := ffmpegFrames(t, clip)
	again := filepath.Join(dir, "again.npy")
	succeed(t, append([]string{"encode", "-m", tiny, folder, "-o", again}, tiled[6:]...)...)
	sameBytes(t, again, latent)
	succeed(t, "encode", "-m", tiny, folder, "-o", again, "--moments")
	got, err := os.ReadFile(again)
	require.NoError(t, err)
	assert.Equal(t, got, whole, "one tile of a video, of a folder")

	// A round trip reports the space for both directions before the first.
	trip := []string{"roundtrip", "-m", tiny, clip, "-o", "-", "--format=npy", "--tile", "48", "--overlap", "16"}
	const parts = " take 90.0 KiB for decoded frames, which every tile reads and 360.1 KiB for the output until it is complete, since its frames are interleaved"
	o = succeed(t, trip...)
	assert.Equal(t, 1, strings.Count(o.stderr, "temporary files"), o.stderr)
	assert.Contains(t, o.stderr, "roundtrip: temporary files in "+os.TempDir()+parts+"\n")
	assert.Contains(t, succeed(t, "decode", "-m", tiny, latentFile(t, 16, 1, 2, 2), "-o", "-", "--format=safetensors").stderr,
		"decode: temporary files in "+os.TempDir()+" take 3.1 KiB for the output until it is complete")

	small := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small).CombinedOutput(); err != nil {
		t.Skipf("a small file system can't be mounted: %s", out)
	}
	defer func() {
		out, err := exec.Command("umount", small).CombinedOutput()
		assert.NoError(t, err, "umount: %s", out)
	}()
	o = tesseraEnv(t, []string{"TMPDIR=" + small}, tiled...)
	assert.Equal(t, job.ExitFailed, o.code)
	assert.Contains(t, o.stderr, "tessera: encode: temporary files in "+small+" take 90.0 KiB for decoded frames, which every tile reads; 64.0 KiB is free there; TMPDIR names another folder")
	isEmpty(t, small)
	o = tesseraEnv(t, []string{"TMPDIR=" + small}, trip...)
	assert.Equal(t, job.ExitFailed, o.code)
	assert.Contains(t, o.stderr, "tessera: roundtrip: temporary files in "+small+parts+"; ")
	assert.Contains(t, o.stderr, " KiB is free there; TMPDIR names another folder, and --tile off and --memory make them smaller; --format y4m needs none for the output")
	assert.Empty(t, o.stdout)
	isEmpty(t, small)
	// For a decode it is the space in which tiles are blended.
	o = tesseraEnv(t, []string{"TMPDIR=" + small}, "decode", "-m", tiny, latentFile(t, 16, 9, 32, 32), "-o", filepath.Join(dir, "x.npy"), "--tile", "64", "--memory", "24MiB")
	assert.Equal(t, job.ExitFailed, o.code)
	assert.Contains(t, o.stderr, "tessera: decode: temporary files in "+small+" take ")
	assert.Contains(t, o.stderr, " for what the memory of the device has no room for; 64.0 KiB is free there")
	isEmpty(t, small)
}

// ffmpegFrames returns a folder with the frames of a lossless video.
func ffmpegFrames(t *testing.T, clip string) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("ffmpeg", "-v", "error", "-i", clip, filepath.Join(dir, "frame_%04d.png")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

func sameBytes(t *testing.T, want, got string) {
	t.Helper()
	a, err := os.ReadFile(want)
	require.NoError(t, err)
	b, err := os.ReadFile(got)
	require.NoError(t, err)
	assert.Equal(t, a, b)
}

// A roundtrip keeps the sound, a decode takes it from a given file, and impossible
// requests are refused before the work.
func TestVideoSound(t *testing.T) {
	t.Parallel()
	clip := ffmpegClip(t, "x.mp4", "testsrc2=s=32x32:r=25:d=0.2", "-f", "lavfi", "-i", "sine=d=0.2", "-c:v", "libx264rgb", "-c:a", "aac")
	for _, r := range []refusal{
		{name: "codec", args: "roundtrip -m " + tiny + " " + clip + " -o OUT.mp4 --codec nonsense", code: job.ExitUsage,
			want: "out.mp4: can't be written with codec nonsense: ffmpeg says \"Unknown encoder 'nonsense'\""},
		{name: "pictures", args: "roundtrip -m " + tiny + " " + clip + " -o OUT --crf 20", code: job.ExitUsage,
			want: "out: has no crf 20, expected .mp4, .mov, .mkv or .webm"},
		{name: "sound of pictures", args: "roundtrip -m " + tiny + " " + clip + " -o OUT.y4m --audio " + clip, code: job.ExitUsage,
			want: "out.y4m: keeps no sound, expected .mp4, .mov, .mkv or .webm for that of " + clip},
		{name: "sound that is the output", args: "roundtrip -m " + tiny + " " + clip + " -o " + clip + " --audio " + clip, code: job.ExitUsage, want: "which it would replace"},
	} {
		t.Run(r.name, r.test)
	}
	needDevice(t)
	dir := t.TempDir()
	codecs := func(path string) string {
		out, err := exec.Command("ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0:nk=1", path).Output()
		require.NoError(t, err)
		return string(out)
	}
	out := filepath.Join(dir, "out.mkv")
	assert.Empty(t, succeedJSON(t, "roundtrip", "-m", tiny, clip, "-o", out).Warnings)
	assert.Equal(t, "h264\naac\n", codecs(out))
	assert.Empty(t, succeedJSON(t, "roundtrip", "-m", tiny, clip, "-o", out, "--audio", "none", "--codec", "ffv1").Warnings)
	assert.Equal(t, "ffv1\n", codecs(out))
	r := succeedJSON(t, "roundtrip", "-m", tiny, clip, "-o", out, "--fps", "5")
	assert.Equal(t, []string{clip + ": its sound is dropped, because --fps 5 plays the video at another speed than 25"}, r.Warnings)
	assert.Equal(t, "h264\n", codecs(out))
	frames := filepath.Join(dir, "frames")
	r = succeedJSON(t, "roundtrip", "-m", tiny, clip, "-o", frames)
	assert.Equal(t, []string{frames + ": cannot store sound: that of " + clip + " is dropped"}, r.Warnings)

	latent := latentFile(t, 16, 2, 4, 4)
	succeed(t, "decode", "-m", tiny, latent, "-o", out, "--audio", clip)
	assert.Equal(t, "h264\naac\n", codecs(out))
	succeed(t, "decode", "-m", tiny, latent, "-o", out)
	assert.Equal(t, "h264\n", codecs(out))
	o := tessera(t, "decode", "-m", tiny, latent, "-o", out, "--audio", out)
	assert.Equal(t, job.ExitUsage, o.code)
	assert.Contains(t, o.stderr, "is the sound "+out+", which it would replace")
}
