package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/format/safetensors"
	"tessera/latent"
	"tessera/media"
	"tessera/tests/synthetic"
)

// A latent of FLUX.2 is packed in files, as in a pipeline, and has 32 channels in the
// VAE: all forms of one latent decode to the same bits, and so do FLUX.1's tokens.
func TestFluxLatents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	made := func(model, latent string, flags ...string) string {
		succeed(t, append([]string{"decode", "-m", model, latent, "-o", path("out.npy"), "--precision=f32"}, flags...)...)
		return read(t, path("out.npy"))
	}
	small := synthetic.KLConfig{Widths: []int{32, 32, 32, 32}, Flux2: true, DType: safetensors.F32}
	flux2 := path("flux2-vae.safetensors")
	require.NoError(t, synthetic.CreateKL(flux2, small))

	z := latent.Latent{Channels: 128, Frames: 1, Height: 1, Width: 2, Data: numbers(256)}
	tokens := make([]float32, 256) // [1,2,128]
	for i, v := range z.Data {
		tokens[i%2*128+i/2] = v
	}
	require.NoError(t, media.WriteLatent(path("z.npy"), z))
	want := made(flux2, path("z.npy"))
	assert.Equal(t, want, made(flux2, writeTensors(t, path("comfy.latent"), nil, tensor{"latent_tensor", []int{1, 128, 1, 2}, z.Data}, tensor{"latent_format_version_0", []int{0}, nil})), "ComfyUI's")
	assert.Equal(t, want, made(flux2, array(t, path("tokens.npy"), []int{1, 2, 128}, tokens), "--size=32x16"), "tokens")
	assert.Equal(t, want, made(flux2, array(t, path("spread.npy"), []int{32, 1, 2, 4}, z.Unpack().Data), "--scale=pipeline"), "unpacked")

	raw := array(t, path("raw.npy"), []int{32, 1, 2, 4}, z.Unpack().Data)
	r := succeed(t, "decode", "-m", flux2, raw, "-o", path("out.npy"), "--precision=f32")
	assert.Contains(t, r.stderr, "raw.npy: has 32 channels, not 128 packed ones, so it is unscaled (--scale none)")
	own := read(t, path("out.npy"))
	assert.NotEqual(t, want, own)
	assert.Equal(t, own, made(flux2, raw, "--scale=none"))
	assert.Equal(t, own, made(flux2, path("z.npy"), "--scale=none"), "packed, and not normalised")

	// encode writes packed latents, of pictures padded to squares, which decode to the
	// pictures' size.
	picture := array(t, path("in.npy"), []int{1, 20, 30, 3}, numbers(20*30*3))
	for name, shape := range map[string][]int{"z.safetensors": {128, 1, 2, 2}, "z.latent": {128, 1, 2, 2}, "own.safetensors": {32, 1, 4, 4}} {
		var flags []string
		if name == "own.safetensors" {
			flags = []string{"--scale=none"}
		}
		succeed(t, append([]string{"encode", "-m", flux2, picture, "-o", path(name), "--precision=f32"}, flags...)...)
		l, err := media.ReadLatent(path(name), 0)
		require.NoError(t, err, name)
		assert.Equal(t, shape, l.Shape(), name)
		r := succeed(t, "decode", "-m", flux2, path(name), "-o", path("out.npy"), "--precision=f32")
		assert.NotContains(t, r.stderr, "warning", name)
		clip, err := media.Open(t.Context(), path("out.npy"), 3)
		require.NoError(t, err)
		h, w := clip.Size()
		assert.Equal(t, []int{20, 30}, []int{h, w}, name)
		clip.Close()
	}

	flux1 := path("ae.safetensors")
	require.NoError(t, synthetic.CreateKL(flux1, synthetic.KLConfig{Widths: []int{32, 32, 32, 32}, Latent: 16, DType: safetensors.F32}))
	one := latent.Latent{Channels: 64, Frames: 1, Height: 1, Width: 2, Data: numbers(128)}
	for i, v := range one.Data {
		tokens[i%2*64+i/2] = v
	}
	packed := array(t, path("flux1.npy"), []int{1, 2, 64}, tokens[:128])
	assert.Equal(t, made(flux1, array(t, path("one.npy"), []int{16, 1, 2, 4}, one.Unpack().Data)), made(flux1, packed, "--size=32x16"), "FLUX.1's tokens")
	refuse(t, []refusal{
		{name: "no size", args: "decode -m " + flux2 + " " + path("tokens.npy") + " -o OUT.npy", code: job.ExitInput, want: "--size=WIDTHxHEIGHT says how they lie"},
		{name: "half a square", args: "decode -m " + flux2 + " " + path("tokens.npy") + " -o OUT.npy --size=24x16", code: job.ExitInput, want: "expected multiples of 16"},
	})
}
