package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/synthetic"
)

// A decode of Mochi 1 runs in slices, an encode on the whole clip.
func TestMochiForPeople(t *testing.T) {
	t.Parallel()
	path := made(t, "mochi.safetensors", func(path string) error {
		return synthetic.CreateMochi(path, synthetic.MochiConfig{Encoder: []int{32, 32, 32, 32}, Decoder: []int{64, 32, 32, 32}})
	})
	info := tesseraEnv(t, noDevice, "info", path, "--progress=none")
	require.Zero(t, info.code, info.stderr)
	for _, line := range []string{
		"Mochi 1 VAE (mochi1)", "32, 32, 32, 32, with 3, 3, 4, 9 blocks", "64, 32, 32, 32, with 9, 4, 3, 3 blocks",
		"12 channels, 1 frame per 6, 1 cell per 8x8 pixels",
	} {
		assert.Contains(t, info.stdout, line)
	}
	for direction, want := range map[string]string{"decode": "one tile, 5 slices\n", "encode": "one tile\n"} {
		plan := tesseraEnv(t, noDevice, "plan", "-m", path, "--op="+direction, "--frames=25", "--size=320x192", "--progress=none")
		require.Zero(t, plan.code, plan.stderr)
		assert.Contains(t, plan.stdout, want)
		assert.NotContains(t, plan.stdout, "NaN")
	}
}
