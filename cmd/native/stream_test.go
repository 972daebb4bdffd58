package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/tests/testenv"
)

// piped runs the program with bytes on its standard input.
func piped(t *testing.T, in io.Reader, args ...string) outcome {
	t.Helper()
	temp := t.TempDir()
	cmd := exec.Command(built.program, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "TMP="+temp)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &stdout, &stderr
	err := cmd.Run()
	_, ok := errors.AsType[*exec.ExitError](err)
	require.True(t, err == nil || ok, "%v", err)
	isEmpty(t, temp)
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// Standard input and output carry what files would contain.
func TestStreams(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	clip := demoClip(t, 5, 40, 24)
	some := func(formats ...string) []string {
		if testenv.Short(t) {
			return formats[:1]
		}
		return formats
	}
	for _, format := range some("y4m", "npy", "safetensors") {
		succeed(t, "roundtrip", "-m", tiny, clip, "-o", in("clip."+format), "--fps=12")
	}
	for _, format := range some("safetensors", "latent", "npy") {
		z := in("z." + format)
		succeed(t, "encode", "-m", tiny, clip, "-o", z)
		flags := []string{"encode", "-m", tiny, clip, "-o", "-", "--format", format}
		if format == "safetensors" {
			flags = flags[:6]
		}
		o := piped(t, nil, flags...)
		require.Equal(t, 0, o.code, o.stderr)
		assert.Equal(t, read(t, z), o.stdout, format)
		assert.Contains(t, o.stderr, "encoded ", "messages go to standard error")

		succeed(t, "decode", "-m", tiny, z, "-o", in("d.y4m"))
		o = piped(t, strings.NewReader(read(t, z)), "decode", "-m", tiny, "-", "-o", "-")
		require.Equal(t, 0, o.code, o.stderr)
		assert.Equal(t, read(t, in("d.y4m")), o.stdout, "decoded from %s", format)
	}
	for _, format := range some("npy", "safetensors") {
		out := in("d." + format)
		succeed(t, "decode", "-m", tiny, in("z.safetensors"), "-o", out)
		o := piped(t, nil, "decode", "-m", tiny, in("z.safetensors"), "-o", "-", "--format="+format)
		require.Equal(t, 0, o.code, o.stderr)
		assert.Equal(t, read(t, out), o.stdout, format)
	}
	for _, format := range some("y4m", "npy", "safetensors") {
		out := in("e.npy")
		succeed(t, "encode", "-m", tiny, in("clip."+format), "-o", out)
		o := piped(t, strings.NewReader(read(t, in("clip."+format))), "encode", "-m", tiny, "-", "-o", "-", "--format=npy")
		require.Equal(t, 0, o.code, o.stderr)
		assert.Equal(t, read(t, out), o.stdout, "encoded from %s", format)
	}
	for name, says := range map[string]string{"z.safetensors": ": latent of 16 channels, 2 frames, 3x5 cells", "clip.y4m": ": video of 5 frames of 24x40 pixels, 12 frames/s"} {
		o := piped(t, strings.NewReader(read(t, in(name))), "info", "-")
		require.Equal(t, 0, o.code, o.stderr)
		assert.Contains(t, o.stdout, "standard input"+says)
		assert.Contains(t, piped(t, strings.NewReader(read(t, in(name))), "info", "-", "--json").stdout, `"file": "standard input"`)
	}
	f, err := os.Open(in("clip.y4m")) // not a pipe
	require.NoError(t, err)
	defer f.Close()
	o := piped(t, f, "roundtrip", "-m", tiny, "-", "-o", "-", "--progress=json")
	require.Equal(t, 0, o.code, o.stderr)
	assert.True(t, strings.HasPrefix(o.stdout, "YUV4MPEG2 W24 H40 F12:1 "), "%.60q", o.stdout)
	assert.Contains(t, o.stderr, `"input":"standard input","outputs":["-"]`)
	for line := range strings.Lines(o.stderr) {
		assert.True(t, json.Valid([]byte(line)), "not an event: %q", line)
	}
}

// Video from ffmpeg, to ffmpeg, and a film that is not y4m.
func TestStreamsOfFFmpeg(t *testing.T) {
	t.Parallel()
	needDevice(t)
	if !haveFFmpeg() {
		t.Skip("ffmpeg isn't installed")
	}
	ffmpeg := func(in io.Reader, args ...string) []byte {
		t.Helper()
		cmd := exec.Command("ffmpeg", append([]string{"-v", "error"}, args...)...)
		var out, said bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &said
		require.NoError(t, cmd.Run(), said.String())
		return out.Bytes()
	}
	test := []string{"-f", "lavfi", "-i", "testsrc=size=48x32:rate=25", "-frames:v", "5"}
	for name, video := range map[string][]byte{
		"y4m":   ffmpeg(nil, append(test, "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", "-")...),
		"mkv":   ffmpeg(nil, append(test, "-f", "matroska", "-")...),
		"PNGs":  ffmpeg(nil, append(test, "-f", "image2pipe", "-c:v", "png", "-")...),
		"JPEGs": ffmpeg(nil, append(test, "-f", "image2pipe", "-c:v", "mjpeg", "-")...),
	} {
		z := piped(t, bytes.NewReader(video), "encode", "-m", tiny, "-", "-o", "-")
		require.Equal(t, 0, z.code, "%s: %s", name, z.stderr)
		assert.NotContains(t, z.stderr, "tessera-input", name)
		d := piped(t, strings.NewReader(z.stdout), "decode", "-m", tiny, "-", "-o", "-")
		require.Equal(t, 0, d.code, "%s: %s", name, d.stderr)
		raw := ffmpeg(strings.NewReader(d.stdout), "-i", "-", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
		assert.Len(t, raw, 5*48*32*3, name)
	}
}

// A JPEG and a WebP on standard input are read like files.
func TestStreamedPictures(t *testing.T) {
	needDevice(t)
	dir := t.TempDir()
	for _, path := range pictures(t, dir) {
		if filepath.Base(path) == "alpha.webp" {
			continue // the warning names the file
		}
		out := filepath.Join(dir, "z.npy")
		file := tessera(t, "encode", "-m", tiny, path, "-o", out)
		require.Equal(t, 0, file.code, file.stderr)
		o := piped(t, strings.NewReader(read(t, path)), "encode", "-m", tiny, "-", "-o", "-", "--format=npy")
		require.Equal(t, 0, o.code, o.stderr)
		assert.Equal(t, read(t, out), o.stdout, path)
		assert.Equal(t, strings.Contains(file.stderr, "is rotated as"), strings.Contains(o.stderr, "is rotated as"), "%s: %s", path, o.stderr)
	}
}

// Input that is not a video or latent is reported as what it is.
func TestStreamsOfAnotherKind(t *testing.T) {
	npz := read(t, "../../media/testdata/latents/named.npz")
	o := piped(t, strings.NewReader(npz), "encode", "-m", tiny, "-", "-o", "-")
	assert.Equal(t, job.ExitInput, o.code)
	assert.Contains(t, o.stderr, "standard input: holds a latent, expected a video")
	o = piped(t, strings.NewReader("\xff\xd8\xff\xe0 and so on"), "decode", "-m", tiny, "-", "-o", "-")
	assert.Equal(t, job.ExitInput, o.code)
	assert.Contains(t, o.stderr, "standard input: not a latent, expected .safetensors")
	o = piped(t, strings.NewReader("version https://git-lfs.github.com/spec/v1\noid sha256:20678548\nsize 501324814\n"), "decode", "-m", tiny, "-", "-o", "-")
	assert.Equal(t, job.ExitInput, o.code)
	assert.Contains(t, o.stderr, "standard input: is a Git LFS pointer, which stands for the file")
}

// Formats that cannot be streamed are refused before anything is read.
func TestRefusedStreams(t *testing.T) {
	z := latentFile(t, 16, 1, 2, 2)
	refuse(t, []refusal{
		{name: "a format that can't", args: "decode -m nowhere z.npy -o - --format=mp4", code: job.ExitUsage, want: "--format=mp4: unknown or cannot be streamed, expected y4m, npy or safetensors"},
		{name: "of a latent", args: "encode -m nowhere v -o - --format=y4m", code: job.ExitUsage, want: "expected safetensors, latent or npy"},
		{name: "format of a name", args: "decode -m nowhere z.npy -o OUT.npy --format=y4m", code: job.ExitUsage, want: "the file extension sets the format"},
		{name: "a folder", args: "demo -o -", code: job.ExitUsage, want: "a folder can't go to standard output"},
		{name: "a batch", args: "decode -m " + tiny + " " + latentFile(t, 2, 16, 2, 2, 2) + " -o -", code: job.ExitUsage, want: "is a batch of 2 clips"},
	})
	o := tessera(t, "decode", "-m", tiny, z, "-o", "-", "--json")
	assert.Equal(t, job.ExitUsage, o.code)
	assert.Contains(t, o.stdout, "--json with --output=-")
	for want, in := range map[string]string{
		"standard input: is empty": "",
		"standard input: ":         "no latent at all",
		"shape [16,1,2]":           strings.Replace(read(t, z), "[16,1,2,2]", "[16,1,2]  ", 1),
	} {
		o := piped(t, strings.NewReader(in), "decode", "-m", tiny, "-", "-o", "-")
		assert.Equal(t, job.ExitInput, o.code, want)
		assert.Contains(t, o.stderr, strings.SplitN(want, " [", 2)[0], "of %.20q", in)
		assert.NotContains(t, o.stderr, "tessera-input")
		assert.Empty(t, o.stdout)
	}
	if runtime.GOOS == "windows" {
		return
	}
	both, err := os.OpenFile(z, os.O_RDWR|os.O_APPEND, 0)
	require.NoError(t, err)
	defer both.Close()
	for _, input := range []string{z, "-"} {
		cmd := exec.Command(built.program, "decode", "-m", tiny, input, "-o", "-")
		var said bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = both, both, &said
		assert.Error(t, cmd.Run())
		assert.Equal(t, job.ExitUsage, cmd.ProcessState.ExitCode(), said.String())
		assert.Contains(t, said.String(), "standard output is the input")
	}
}
