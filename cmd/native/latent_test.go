package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/tests/synthetic"
)

// A latent tells which checkpoint made it, and other models are warned of or
// refused.
func TestLatentKnowsItsModel(t *testing.T) {
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
		{name: "another family", args: "decode -m " + tiny + in, code: job.ExitInput, want: `decoding with "SeedVR2" ("tiny-seedvr2.safetensors"), which has not the statistics that scaled it; --scale takes it all the same`},
		{name: "other channels", args: "decode -m " + wan22(t) + in, code: job.ExitInput, want: `expected 48 channels first or last: it is of the model "Wan 2.1"`},
	})
	other := wan(t, "tiny_wan21_other.safetensors", otherWan())
	o := succeed(t, "decode", "-m", other, z, "-o", out)
	assert.Contains(t, o.stderr, `decoding with "Wan 2.1" ("tiny_wan21_other.safetensors"), another file of that model`)
}

// A file that tells nothing has its numbers looked at, and one that tells not.
func TestLatentNumbers(t *testing.T) {
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
	assert.Contains(t, r.Warnings[0], "z.safetensors: its numbers look like the VAE's own, --scale none: their deviation is 3.00, and usually 2.23 there")
	assert.Empty(t, succeedJSON(t, "decode", "-m", wan21(t), z, "-o", out, "--scale=none").Warnings)
	writeTensors(t, z, map[string]string{"tessera.scale": "pipeline"}, tensor{"latent", []int{16, 1, 8, 8}, data})
	assert.Empty(t, succeedJSON(t, "decode", "-m", wan21(t), z, "-o", out).Warnings)
}

// otherWan is a Wan 2.1 with weights of its own.
func otherWan() synthetic.WanConfig { return synthetic.WanConfig{Dim: 8} }
