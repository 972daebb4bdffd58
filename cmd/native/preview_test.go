//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/format/safetensors"
	"tessera/tests/synthetic"
)

// tae returns a small TAEHV.
func tae(t testing.TB, name string, latent int) string {
	t.Helper()
	return made(t, name, func(path string) error {
		return synthetic.CreateTAEHV(path, synthetic.TAEHVConfig{Latent: latent, Encoder: 8, Decoder: []int{16, 8, 8, 8}})
	})
}

// wanLatent writes a file with latents of Wan 2.1.
func wanLatent(t testing.TB, clips, frames int) string {
	t.Helper()
	all := make([]float64, clips*16*frames*3*4)
	synthetic.Fill("latent", all)
	data := make([]float32, len(all))
	for i, v := range all {
		data[i] = float32(v)
	}
	return writeTensors(t, filepath.Join(t.TempDir(), "z.safetensors"), nil, tensor{"samples", []int{clips, 16, frames, 3, 4}, data})
}

// A preview equals the tiny model's decode. It is beside the output before the output's
// first tile, and removed at the end. The output does not change.
func TestPreview(t *testing.T) {
	t.Parallel()
	needDevice(t)
	model, small := wan21(t), tae(t, "taew2_1.safetensors", 16)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	read := func(name string) []byte {
		data, err := os.ReadFile(in(name))
		require.NoError(t, err)
		return data
	}
	z := wanLatent(t, 1, 1)
	succeed(t, "decode", "-m", small, z, "-o", in("want.png"))
	succeed(t, "decode", "-m", model, z, "-o", in("plain.tiff"), "--tile", "16", "--overlap", "8")

	args := []string{"decode", "-m", model, "--preview-model", small, z, "-o", in("out.tiff"), "--tile", "16", "--overlap", "8", events}
	cmd, said := stalled(t, args...)
	require.Eventually(t, func() bool { _, err := os.Stat(in("out.preview.png")); return err == nil }, time.Minute, 10*time.Millisecond)
	assert.NoFileExists(t, in("out.tiff"))
	assert.Equal(t, read("want.png"), read("out.preview.png"), "the preview is not the tiny model's decode")
	first, rest, _ := strings.Cut(said(), "\n")
	require.NoError(t, cmd.Wait())
	assert.Contains(t, first, "preview: "+in("out.preview.png")+", until the output is complete")
	assert.Contains(t, rest, `"event":"progress","stage":"decode","done":0`)
	assert.NoFileExists(t, in("out.preview.png"))
	assert.Equal(t, read("plain.tiff"), read("out.tiff"), "the output is not what it is without a preview")

	require.NoError(t, os.Remove(in("out.tiff")))
	cmd, said = stalled(t, args...)
	require.Eventually(t, func() bool { _, err := os.Stat(in("out.preview.png")); return err == nil }, time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	said()
	cmd.Wait()
	assert.Equal(t, job.ExitInterrupted, cmd.ProcessState.ExitCode())
	assert.NoFileExists(t, in("out.preview.png"))
	assert.NoFileExists(t, in("out.tiff"))
}

// CogVideoX and its tiny autoencoder decode two latent frames to eight frames.
func TestPreviewOfCogVideoX(t *testing.T) {
	t.Parallel()
	needDevice(t)
	if !haveFFmpeg() {
		t.Skip("no ffmpeg, which writes previews of clips")
	}
	model := made(t, "tiny_cogvideox_5b.safetensors", func(path string) error {
		return synthetic.CreateCogVideoX(path, synthetic.CogVideoXConfig{Widths: []int{32, 32, 32, 32}, DType: safetensors.F32})
	})
	dir := t.TempDir()
	out := filepath.Join(dir, "out.npy")
	o := succeed(t, "decode", "-m", model, "--preview-model", tae(t, "taecvx.safetensors", 16), wanLatent(t, 1, 2), "-o", out, "--scale", "pipeline")
	assert.Contains(t, o.stderr, "preview: "+filepath.Join(dir, "out.preview.mp4"))
	assert.NoFileExists(t, filepath.Join(dir, "out.preview.mp4"))
	assert.Contains(t, o.stdout, "8 frames")
	assert.FileExists(t, out)
}

// stalled starts the program with a full error output: it waits at its first line there,
// until the output is read.
func stalled(t *testing.T, args ...string) (cmd *exec.Cmd, read func() string) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, w.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	filled, err := w.Write(make([]byte, 1<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	cmd = exec.Command(built.program, args...)
	cmd.Stderr = w
	require.NoError(t, cmd.Start())
	w.Close()
	return cmd, func() string {
		defer r.Close()
		all, err := io.ReadAll(r)
		require.NoError(t, err)
		return string(all[filled:])
	}
}

// Each clip of a batch has a preview. The preview's model must be for the model's
// latents.
func TestPreviewsOfBatch(t *testing.T) {
	t.Parallel()
	needDevice(t)
	if !haveFFmpeg() {
		t.Skip("no ffmpeg, which writes previews of clips")
	}
	model, small, dir := wan21(t), tae(t, "taew2_1.safetensors", 16), t.TempDir()
	out := filepath.Join(dir, "out.npy")
	z := wanLatent(t, 2, 2)
	o := succeed(t, "decode", "-m", model, "--preview-model", small, z, "-o", out)
	for _, name := range []string{"out_000.preview.mp4", "out_001.preview.mp4"} {
		assert.Contains(t, o.stderr, "preview: "+filepath.Join(dir, name))
		assert.NoFileExists(t, filepath.Join(dir, name))
	}
	assert.FileExists(t, filepath.Join(dir, "out_001.npy"))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "is.preview.mp4"), []byte("x"), 0o600))
	one := wanLatent(t, 1, 2)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--preview-model=" + tae(t, "taew2_2.safetensors", 48), job.ExitInput, "taew2_2.safetensors is TAEHV for Wan 2.2, which decodes latents of Wan 2.2 (48 latent channels, cells of 8x8 pixels, 4 frames in a latent frame), expected one for those of tiny_wan21.safetensors: Wan 2.1 (16 latent channels, cells of 8x8 pixels, 4 frames in a latent frame)"},
		{"--preview-model=" + tae(t, "taehv_hunyuan.safetensors", 16), job.ExitInput, "which decodes latents of HunyuanVideo (16 latent channels,"},
		{"--preview-model=" + z, job.ExitInput, "--preview-model=" + z},
		{"--no-clobber --preview-model=" + small + " -o " + filepath.Join(dir, "is.npy"), job.ExitUsage, "is.preview.mp4: exists, and --no-clobber is set"},
		{"--preview-model=" + small + " -o -", job.ExitUsage, "--preview-model with --output=-"},
		{"--preview-model=" + small + " --alpha-model=" + model, job.ExitUsage, "--preview-model and --alpha-model: expected one of the two"},
	} {
		o := tessera(t, append([]string{"decode", "-m", model, one, "-o", filepath.Join(dir, "never.npy")}, strings.Fields(c.args)...)...)
		assert.Equal(t, c.code, o.code, o.stderr)
		assert.Contains(t, o.stderr, c.want)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "is.preview.mp4"), filepath.Join(dir, "out_000.npy"), filepath.Join(dir, "out_001.npy")}, left)
}
