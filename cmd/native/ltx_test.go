package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/synthetic"
)

// Stages of LTX-2.3 differ in their blocks, and there is no attention to compare.
func TestLTXForPeople(t *testing.T) {
	t.Parallel()
	path := made(t, "ltx23.safetensors", func(path string) error {
		return synthetic.CreateLTX(path, synthetic.LTXConfig{New: true, Encoder: []int{8, 16, 32, 64, 64}, Decoder: []int{16, 8, 16, 8, 4}, Latent: 4})
	})
	info := tesseraEnv(t, noDevice, "info", path, "--progress=none")
	require.Zero(t, info.code, info.stderr)
	for _, line := range []string{
		"LTX-2.3 VAE (ltx2)", "8, 16, 32, 64, 64, with 4, 6, 4, 2, 2 blocks", "16, 8, 16, 8, 4, with 2, 2, 4, 6, 4 blocks",
		"4 channels, 1 frame per 8, 1 cell per 32x32 pixels",
	} {
		assert.Contains(t, info.stdout, line)
	}
	plan := tesseraEnv(t, noDevice, "plan", "-m", path, "--frames=121", "--size=640x352", "--progress=none")
	require.Zero(t, plan.code, plan.stderr)
	assert.Contains(t, plan.stdout, "one tile, 16 slices")
	assert.NotContains(t, plan.stdout, "NaN")
	assert.NotContains(t, plan.stdout, "attention")
}
