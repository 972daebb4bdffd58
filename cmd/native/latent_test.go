package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/app/terminal"
	"tessera/tests/synthetic"
)

// A latent names the checkpoint that made it; with another model there is a warning or
// refusal.
func TestLatentKnowsItsModel(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir, clip := t.TempDir(), demoClip(t, 1, 16, 24)
	z, out := filepath.Join(dir, "z.safetensors"), filepath.Join(dir, "out.png")
	succeed(t, "encode", "-m", wan21(t), clip, "-o", z)
	_, meta := readTensor(t, z)
	var m modelInfo
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "info", wan21(t), "--json").stdout), &m))
	assert.Equal(t, "wan2.1", meta["tessera.family"])
	assert.Equal(t, "Wan 2.1", meta["tessera.model"])
	assert.Equal(t, "tiny_wan21.safetensors", meta["tessera.checkpoint"])
	assert.Len(t, m.Print, 32)
	assert.Equal(t, m.Print, meta["tessera.fingerprint"])
	assert.Contains(t, succeed(t, "info", z).stdout, "tessera.checkpoint: tiny_wan21.safetensors")

	own := succeed(t, "decode", "-m", wan21(t), z, "-o", out)
	assert.NotContains(t, own.stderr, "a latent of")
	r := succeedJSON(t, "decode", "-m", tiny, z, "-o", out, "--scale=pipeline")
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], `a latent of "Wan 2.1" ("tiny_wan21.safetensors"), decoding with "SeedVR2" ("tiny-seedvr2.safetensors")`)
	in := " " + z + " -o OUT.png"
	refuse(t, []refusal{
		{name: "another family", args: "decode -m " + tiny + in, code: job.ExitInput, want: `decoding with "SeedVR2" ("tiny-seedvr2.safetensors"); its scaling statistics differ; pass --scale to override`},
		{name: "other channels", args: "decode -m " + wan22(t) + in, code: job.ExitInput, want: `expected 48 channels first or last: it is of the model "Wan 2.1"`},
	})
	other := wan(t, "tiny_wan21_other.safetensors", otherWan())
	o := succeed(t, "decode", "-m", other, z, "-o", out)
	assert.Contains(t, o.stderr, `decoding with "Wan 2.1" ("tiny_wan21_other.safetensors"), another file of that model`)
}

// The numbers of a file without metadata are checked; with metadata they are not.
func TestLatentNumbers(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	z, out := filepath.Join(dir, "z.safetensors"), filepath.Join(dir, "out.png")
	data := make([]float32, 16*8*8)
	for i := range data {
		data[i] = float32(3 - 6*(i%2)) // a deviation of 3
	}
	writeTensors(t, z, nil, tensor{"latent", []int{16, 1, 8, 8}, data})
	r := succeedJSON(t, "decode", "-m", wan21(t), z, "-o", out)
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], "z.safetensors: its values look like the VAE's own, --scale none: their deviation is 3.00, usually 2.23")
	assert.Empty(t, succeedJSON(t, "decode", "-m", wan21(t), z, "-o", out, "--scale=none").Warnings)
	writeTensors(t, z, map[string]string{"tessera.scale": "pipeline"}, tensor{"latent", []int{16, 1, 8, 8}, data})
	assert.Empty(t, succeedJSON(t, "decode", "-m", wan21(t), z, "-o", out).Warnings)
}

// numbers returns n numbers of a latent.
func numbers(n int) []float32 {
	wide, data := make([]float64, n), make([]float32, n)
	synthetic.Fill("batch", wide)
	for i, v := range wide {
		data[i] = float32(v)
	}
	return data
}

// A batch of clips gives numbered outputs, each equal to its clip's own decode.
func TestDecodeBatch(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	const n = 16 * 2 * 2 * 3
	data := numbers(2 * n)
	batch := writeTensors(t, path("batch.safetensors"), nil, tensor{"samples", []int{2, 16, 2, 2, 3}, data})
	o := succeed(t, "decode", "-m", tiny, batch, "-o", path("out.npy"))
	assert.Contains(t, o.stderr, "batch.safetensors: a batch of 2 clips: writing "+path("out_000.npy")+" to "+path("out_001.npy"))
	for i := range 2 {
		one := writeTensors(t, path("one.safetensors"), nil, tensor{"samples", []int{16, 2, 2, 3}, data[i*n:][:n]})
		succeed(t, "decode", "-m", tiny, one, "-o", path("one.npy"))
		same(t, "clip", path("one.npy"), path(fmt.Sprintf("out_%03d.npy", i)))
	}
	_, err := os.Stat(path("out.npy"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	r := succeedJSON(t, "decode", "-m", tiny, batch, "-o", path("frames"), "--fps=30")
	require.Len(t, r.Warnings, 1, "each warning occurs once")
	assert.Equal(t, path("frames_000")+": cannot store a frame rate: 30 frames/s is dropped; also for 1 more of the batch", r.Warnings[0])
	assert.Equal(t, terminal.FileNames(path("frames_000"), path("frames_001")), r.Outputs)
	assert.Equal(t, 10, r.Frames)
	assert.Equal(t, []int{2, 16, 2, 2, 3}, r.Latent)
	for _, folder := range r.Outputs {
		files, _ := filepath.Glob(filepath.Join(string(folder), "frame_*.png"))
		assert.Len(t, files, 5, folder)
	}
	assert.Contains(t, succeed(t, "info", batch).stdout, "batch of 2 latents of 16 channels")

	o = tessera(t, "decode", "-m", tiny, batch, "-o", path("out.npy"), "--no-clobber")
	assert.Equal(t, job.ExitUsage, o.code)
	assert.Contains(t, o.stderr, "out_000.npy: exists, and --no-clobber is set")
	itself := writeTensors(t, path("b_001.safetensors"), nil, tensor{"samples", []int{2, 16, 2, 2, 3}, data})
	o = tessera(t, "decode", "-m", tiny, itself, "-o", path("b.safetensors"))
	assert.Equal(t, job.ExitUsage, o.code)
	assert.Contains(t, o.stderr, "b_001.safetensors is the input")
}

// In ComfyUI's files the batch comes first, even where the channels would fit.
func TestDecodeComfyBatch(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	z, out := filepath.Join(dir, "z.latent"), filepath.Join(dir, "out")
	writeTensors(t, z, nil, tensor{"latent_tensor", []int{16, 16, 8, 8}, numbers(16 * 16 * 64)}, tensor{"latent_format_version_0", []int{0}, nil})
	r := succeedJSON(t, "decode", "-m", tiny, z, "-o", out)
	assert.Equal(t, 16, r.Frames)
	assert.True(t, r.Pictures)
	files, _ := filepath.Glob(filepath.Join(out, "frame_*.png"))
	assert.Len(t, files, 16)
	assert.Contains(t, succeed(t, "info", z).stdout, "batch of pictures of 16 channels, 16 frames")
}

// Moments decode like their mean, or like the sample that encoding draws.
func TestDecodeMoments(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir, clip := t.TempDir(), demoClip(t, 5, 16, 24)
	path := func(name string) string { return filepath.Join(dir, name) }
	succeed(t, "encode", "-m", tiny, clip, "-o", path("moments.safetensors"), "--moments")
	succeed(t, "encode", "-m", tiny, clip, "-o", path("mean.safetensors"), "--scale=none")
	succeed(t, "encode", "-m", tiny, clip, "-o", path("drawn.safetensors"), "--scale=none", "--sample", "--seed=7")
	decode := func(name string, flags ...string) []float32 {
		succeed(t, append([]string{"decode", "-m", tiny, path(name), "-o", path("out.npy")}, flags...)...)
		return readNPY(t, path("out.npy"))
	}
	assert.Equal(t, decode("mean.safetensors"), decode("moments.safetensors"))
	assert.LessOrEqual(t, nmse32(decode("drawn.safetensors"), decode("moments.safetensors", "--sample", "--seed=7")), 1e-10)
	assert.Greater(t, nmse32(decode("drawn.safetensors"), decode("moments.safetensors", "--sample")), 1e-8)

	moments, _ := readTensor(t, path("moments.safetensors")) // as diffusers would write them
	writeTensors(t, path("bare.safetensors"), nil, tensor{"parameters", append([]int{1}, moments.shape...), moments.data})
	assert.Equal(t, decode("moments.safetensors"), decode("bare.safetensors"), "named as diffusers does")
	bare := writeTensors(t, path("bare.safetensors"), nil, tensor{"latent", append([]int{1}, moments.shape...), moments.data})
	assert.Equal(t, decode("moments.safetensors"), decode("bare.safetensors", "--layout=BMFHW"))
	refuse(t, []refusal{
		{name: "moments unsaid", args: "decode -m " + tiny + " " + bare + " -o OUT.npy", code: job.ExitInput, want: "of 16 channels; --layout=BMFHW reads 32 of them as means and log-variances"},
		{name: "sample of a latent", args: "decode -m " + tiny + " " + path("mean.safetensors") + " -o OUT.npy --sample", code: job.ExitInput, want: "holds a latent, expected moments to draw a sample from"},
		{name: "seed alone", args: "decode -m " + tiny + " " + path("moments.safetensors") + " -o OUT.npy --seed=7", code: job.ExitUsage, want: "--seed=7 without --sample"},
		{name: "scale", args: "decode -m " + tiny + " " + path("moments.safetensors") + " -o OUT.npy --scale=pipeline", code: job.ExitInput, want: "holds moments, which are unscaled, expected --scale none"},
	})
}

// Files of torch.save and numpy.savez are decoded, with a note.
func TestDecodeForeign(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	var first []float32
	for _, name := range []string{"named.npz", "packed.npz", "alone.pt", "samples.pt", "cached.pth"} {
		z, out := filepath.Join("..", "..", "media", "testdata", "latents", name), filepath.Join(dir, "out.npy")
		r := succeedJSON(t, "decode", "-m", tiny, z, "-o", out)
		assert.Equal(t, 5, r.Frames, name)
		if got := readNPY(t, out); first == nil {
			first = got
		} else {
			assert.Equal(t, first, got, name)
		}
		assert.Contains(t, succeed(t, "info", z).stdout, name+": latent of 16 channels, 2 frames, 3x2 cells")
	}
}

// otherWan returns a Wan 2.1 with other weights.
func otherWan() synthetic.WanConfig { return synthetic.WanConfig{Dim: 8} }
