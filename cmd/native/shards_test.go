package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/batch"
	"tessera/app/job"
	"tessera/tests/synthetic"
)

// split writes the tiny model to three files and returns their index.
func split(t *testing.T) string {
	t.Helper()
	index, err := synthetic.Split(tiny, t.TempDir(), 3)
	require.NoError(t, err)
	return index
}

// Every command accepts the index of a checkpoint in several files, and its files count
// as inputs.
func TestShardIndex(t *testing.T) {
	t.Parallel()
	needDevice(t)
	index, dir, z := split(t), t.TempDir(), latentFile(t, 16, 2, 2, 3)
	folder := filepath.Dir(index)
	shard := filepath.Join(folder, "diffusion_pytorch_model-00002-of-00003.safetensors")
	path := func(name string) string { return filepath.Join(dir, name) }
	succeed(t, "decode", "-m", tiny, z, "-o", path("want.npy"))
	succeed(t, "decode", "-m", index, z, "-o", path("got.npy"))
	assert.Equal(t, readNPY(t, path("want.npy")), readNPY(t, path("got.npy")))

	o := succeed(t, "info", index)
	assert.Contains(t, o.stdout, index+": SeedVR2 VAE (seedvr2)")
	assert.Contains(t, o.stdout, "in 250 tensors")
	succeed(t, "plan", "-m", index, "--size=64x64")

	// Latents identify the model by its shards, wherever they are.
	succeed(t, "encode", "-m", index, demoClip(t, 1, 16, 24), "-o", path("made.safetensors"))
	assert.NotContains(t, succeed(t, "decode", "-m", index, path("made.safetensors"), "-o", path("a.npy")).stderr, "another file")
	assert.Contains(t, succeed(t, "decode", "-m", tiny, path("made.safetensors"), "-o", path("b.npy")).stderr, "another file of that model")

	// A batch makes clips again after a shard has changed.
	command := []string{"batch", "-m", index, z, "-o", path("{name}.y4m"), "--resume"}
	for i, status := range []string{batch.Done, batch.Skipped, batch.Done} {
		if i == 2 {
			all, meta, err := synthetic.Read(shard)
			require.NoError(t, err)
			all[0].Data[0] ^= 1
			require.NoError(t, synthetic.Create(shard, all, meta))
		}
		assert.Equal(t, map[string]string{"latent": status}, statuses(t, succeed(t, command...).stdout), i)
	}

	refuse(t, []refusal{
		{name: "output", args: "encode -m " + index + " " + path("want.npy") + " -o " + shard, code: job.ExitUsage, want: "is the checkpoint's shard " + shard},
		{name: "folder", args: "decode -m " + folder + " " + z + " -o OUT.npy", code: job.ExitInput, want: folder + ": a folder, not a regular file: the checkpoint in it is " + index},
	})
	require.NoError(t, os.Remove(shard))
	for _, args := range []string{"decode -m " + index + " " + z + " -o OUT.npy", "info " + index, "plan -m " + index + " --size=64x64", "bench decode -m " + index} {
		refuse(t, []refusal{{name: strings.Fields(args)[0], args: args, code: job.ExitInput, want: index + `: shard "` + filepath.Base(shard) + `": `}})
	}
}

// The server uses a checkpoint in several files, by the name of its index, like a single
// file.
func TestServeShardIndex(t *testing.T) {
	t.Parallel()
	needDevice(t)
	address, _ := served(t, "-m", split(t), "-m", tiny)
	z, _ := readTensor(t, latentFile(t, 16, 1, 2, 3))
	ask := func(model string) []byte {
		_, got := post(t, address+"/v1/decode"+asked([]int{1, 16, 1, 2, 3}, "output_type=pt&model="+model), float32s(z.data))
		return got
	}
	assert.Equal(t, ask("tiny-seedvr2"), ask("diffusion_pytorch_model"))
}
