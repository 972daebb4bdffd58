package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/batch"
	"tessera/app/job"
	"tessera/app/terminal"
	"tessera/format/safetensors"
)

// only returns the one file in a folder that matches a pattern.
func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	return found[0]
}

// musubi-tuner finds its caches by the end of their names, which contains frames and
// size, and its tensors by their names without the last two parts. The numbers are a
// latent's in a pipeline's scale, in bfloat16.
func TestMusubiCache(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	clip, picture := demoClip(t, 5, 32, 48), only(t, demoClip(t, 1, 32, 48), "*.png")
	plain := filepath.Join(dir, "plain.safetensors")
	for _, c := range []struct {
		model, input, output string
		file, key            string
		meta                 map[string]string
	}{
		{wan21(t), clip, "my_clip", "my_clip_00000-005_0048x0032_wan.safetensors", "latents_2x4x6_bfloat16", map[string]string{
			"architecture": "wan", "width": "48", "height": "32", "format_version": "1.0.1", "frame_count": "5",
		}},
		{wan21(t), picture, "photo", "photo_0048x0032_wan.safetensors", "latents_1x4x6_bfloat16", map[string]string{
			"architecture": "wan", "width": "48", "height": "32", "format_version": "1.0.1",
		}},
		{qwen(t), picture, "photo", "photo_0048x0032_qi.safetensors", "latents_1x4x6_bfloat16", map[string]string{
			"architecture": "qwen_image", "width": "48", "height": "32", "format_version": "1.0.1",
		}},
	} {
		r := succeedJSON(t, "encode", "-m", c.model, c.input, "-o", filepath.Join(dir, c.output+".safetensors"), "--cache=musubi")
		path := filepath.Join(dir, c.file)
		assert.Equal(t, terminal.FileNames(path), r.Outputs)
		succeed(t, "encode", "-m", c.model, c.input, "-o", plain)
		got, meta := readTensor(t, path)
		want, was := readTensor(t, plain)
		assert.Equal(t, c.key, got.name)
		assert.Equal(t, want.shape, got.shape)
		for i, v := range want.data {
			require.InDelta(t, v, got.data[i], math.Abs(float64(v))/256, "value %d", i)
		}
		for key, value := range c.meta {
			assert.Equal(t, value, meta[key], key)
			delete(meta, key)
		}
		assert.Equal(t, was, meta, "what decode needs")
		f, err := safetensors.Open(path)
		require.NoError(t, err)
		x, _ := f.Tensor(c.key)
		assert.Equal(t, safetensors.BF16, x.DType)
		f.Close()
		succeed(t, "decode", "-m", c.model, path, "-o", filepath.Join(dir, "again.npy"), "-q")
	}
}

// The flags name other trainers' caches.
func TestLatentNames(t *testing.T) {
	needDevice(t)
	dir := t.TempDir()
	succeed(t, "batch", "-m", wan21(t), demoClip(t, 5, 24, 40), "-o", filepath.Join(dir, "x.safetensors"), "--op=encode", "-q",
		"--latent-name={name}-{width:5}x{height}-{frames:3}.safetensors", "--latent-key=vae.{T}.{H}.{W}.{dtype}", "--latent-dtype=float16")
	x, _ := readTensor(t, filepath.Join(dir, "x-00040x24-005.safetensors"))
	assert.Equal(t, "vae.2.3.5.float16", x.name)
	assert.FileExists(t, filepath.Join(dir, "x.safetensors.done.json"))
	o := succeed(t, "batch", "-m", wan21(t), demoClip(t, 5, 24, 40), "-o", filepath.Join(dir, "x.safetensors"), "--op=encode", "-q", "--resume",
		"--latent-name={name}-{width:5}x{height}-{frames:3}.safetensors", "--latent-key=vae.{T}.{H}.{W}.{dtype}", "--latent-dtype=float16")
	assert.Contains(t, o.stdout, batch.Skipped)
}

// Clips that a trainer cannot use, and invalid names, are refused before the work.
func TestRefusedCaches(t *testing.T) {
	odd, four := demoClip(t, 1, 24, 32), demoClip(t, 4, 32, 32)
	in := "encode -m " + wan21(t) + " " + four + " -o OUT.safetensors "
	refuse(t, []refusal{
		{name: "another model", args: "encode -m " + tiny + " " + four + " -o OUT.safetensors --cache=musubi", code: job.ExitInput, want: "the checkpoint is of SeedVR2, expected Wan 2.1 or Qwen-Image"},
		{name: "sides", args: "encode -m " + wan21(t) + " " + odd + " -o OUT.safetensors --cache=musubi", code: job.ExitInput, want: "a video of 32x24, expected sides in multiples of 16"},
		{name: "frames", args: in + "--cache=musubi", code: job.ExitInput, want: "4 frames, expected 1, 5, 9 and so on"},
		{name: "pictures", args: "encode -m " + qwen(t) + " " + four + " -o OUT.safetensors --cache=musubi", code: job.ExitInput, want: "4 frames, expected one picture for Qwen-Image"},
		{name: "scale", args: in + "--cache=musubi --scale=none", code: job.ExitUsage, want: "with --scale=none or --moments, expected neither"},
		{name: "moments", args: in + "--cache=musubi --moments", code: job.ExitUsage, want: "with --scale=none or --moments, expected neither"},
		{name: "format", args: "encode -m " + wan21(t) + " " + four + " -o OUT.npy --latent-key=x", code: job.ExitUsage, want: `extension ".npy", expected .safetensors for a cache`},
		{name: "stream", args: "encode -m " + wan21(t) + " " + four + " -o - --latent-key=x", code: job.ExitUsage, want: "a cache of latents is a file"},
		{name: "folder", args: in + "--latent-name=a/b", code: job.ExitUsage, want: "expected a name without a folder"},
		{name: "placeholder", args: in + "--latent-name={fps}", code: job.ExitUsage, want: "--latent-name: {fps} is unknown, expected {name}"},
	})
}
