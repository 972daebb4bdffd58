package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/synthetic"
)

// Both directions of Cosmos 1.0 run on the whole clip.
func TestCosmosForPeople(t *testing.T) {
	t.Parallel()
	path := made(t, "cosmos.safetensors", func(path string) error {
		return synthetic.CreateCosmos(path, synthetic.CosmosConfig{Encoder: []int{8, 16, 24, 24}, Decoder: []int{24, 24, 24, 16}})
	})
	info := tesseraEnv(t, noDevice, "info", path, "--progress=none")
	require.Zero(t, info.code, info.stderr)
	for _, line := range []string{
		"Cosmos 1.0 VAE (cosmos1)", "8, 16, 24, 24, with 0, 2, 2, 2 blocks", "24, 24, 24, 16, with 0, 3, 3, 3 blocks",
		"16 channels, 1 frame per 8, 1 cell per 8x8 pixels",
	} {
		assert.Contains(t, info.stdout, line)
	}
	for _, direction := range []string{"decode", "encode"} {
		plan := tesseraEnv(t, noDevice, "plan", "-m", path, "--op="+direction, "--frames=25", "--size=320x192", "--progress=none")
		require.Zero(t, plan.code, plan.stderr)
		assert.Contains(t, plan.stdout, "one tile\n")
		assert.NotContains(t, plan.stdout, "NaN")
	}
}
