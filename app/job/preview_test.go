package job

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/latent"
	"tessera/tests/synthetic"
	"tessera/vae"
)

// CogVideoX's tiny autoencoder makes as many frames as CogVideoX. A preview by one that
// does not has its own number.
func TestFramesOfPreview(t *testing.T) {
	a := gpu.Info{Limits: gpu.DefaultLimits}
	path := filepath.Join(t.TempDir(), "taecvx.safetensors")
	require.NoError(t, synthetic.CreateTAEHV(path, synthetic.TAEHVConfig{Encoder: 8, Decoder: []int{16, 8, 8, 8}}))
	m, err := vae.Published("cogvideox", a, vae.Settings{})
	require.NoError(t, err)
	for _, c := range []struct {
		latent, frames int // frames of the clip that was encoded; 0: unknown
		decoded, other int // frames of the decode, and of a preview that lacks three
	}{
		{1, 0, 1, 1},
		{2, 0, 8, 5},
		{2, 8, 8, 5},
		{2, 7, 7, 5},
		{2, 3, 3, 3},
		{3, 0, 9, 9},
		{3, 6, 6, 6},
		{4, 0, 16, 13},
	} {
		z := latent.Latent{Channels: 16, Frames: c.latent, Height: 2, Width: 3}
		if c.frames > 0 {
			z.Meta = latent.Original{Frames: c.frames, Height: 16, Width: 24}.Meta(latent.KindLatent)
		}
		d, err := Decode(m.Config, z, "z", Choices{})
		require.NoError(t, err)
		require.Equal(t, c.decoded, d.Clip.Frames, "%+v", c)
		for batch, frames := range map[int]int{2: c.decoded, 0: c.other} {
			tiny, err := vae.Inspect(path, a, vae.Settings{})
			require.NoError(t, err)
			require.Equal(t, 2, tiny.Config.Full)
			tiny.Config.Full = batch
			p, err := d.Preview(m.Config, tiny)
			require.NoError(t, err)
			assert.Equal(t, frames, p.Clip.Frames, "%+v", c)
			assert.Equal(t, frames, p.Options.Frames, "%+v", c)
			assert.Equal(t, c.decoded, d.Clip.Frames, "the decode itself")
			plan, err := p.Plan(t.Context(), tiny)
			require.NoError(t, err)
			assert.Equal(t, []int{frames, 16, 24}, []int{plan.Output().Frames, plan.Output().Height, plan.Output().Width}, "%+v", c)
			require.NoError(t, tiny.Close())
		}
	}
}
