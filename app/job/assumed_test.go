package job

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/latent"
	"tessera/media"
	"tessera/tests/synthetic"
	"tessera/vae"
)

// kl returns the configuration of a small AutoencoderKL in a file of that name.
func kl(t *testing.T, name string) vae.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, synthetic.CreateKL(path, synthetic.KLConfig{Widths: []int{32, 32, 32, 32}, Quant: true, DType: safetensors.F32}))
	m, err := vae.Inspect(path, gpu.Info{}, vae.Settings{})
	require.NoError(t, err)
	defer m.Close()
	c := m.Config
	require.NoError(t, c.IdentifyFile(path))
	return c
}

// The AutoencoderKL model is reported only where it is a guess that scales a latent. A
// latent that names its model decides.
func TestAssumedModel(t *testing.T) {
	const doubt = "thing.safetensors: the file does not say which model it is. Assuming Stable Diffusion; SDXL and Playground 2.5 have the same tensors and another latent scale. Choose with --as: sd, sdxl, playground"
	thing, xl := kl(t, "thing.safetensors"), kl(t, "sdxl.safetensors")
	require.Equal(t, []string{"sd", "sdxl", "playground"}, thing.Kinds())
	clip := media.Format{Frames: 1, Height: 16, Width: 16, Channels: 3}
	z := latent.Latent{Channels: 4, Frames: 1, Height: 2, Width: 2}
	for name, c := range map[string]struct {
		config vae.Config
		want   Choices
		doubt  []string
	}{
		"assumed":             {thing, Choices{}, []string{doubt}},
		"assumed, not scaled": {thing, Choices{Scale: latent.ScaleNone}, nil},
		"chosen":              {thing, Choices{As: "sdxl"}, nil},
		"named":               {xl, Choices{}, nil},
	} {
		d, err := Decode(c.config, z, "z.npy", c.want)
		require.NoError(t, err, name)
		assert.Equal(t, c.doubt, d.Warnings, name)
		assert.Equal(t, c.want.As, d.Options.As, name)
		e, err := Encode(c.config, clip, "z.safetensors", c.want)
		require.NoError(t, err, name)
		assert.Equal(t, c.doubt, e.Doubts(), name)
	}
	_, err := Decode(thing, z, "z.npy", Choices{As: "flux"})
	require.ErrorIs(t, err, vae.ErrBadModel)
	require.EqualError(t, err, `vae: Stable Diffusion cannot be opened as "flux", expected sd, sdxl, playground`)
	_, err = Encode(wan21, clip, "z.npy", Choices{As: "sdxl"})
	require.EqualError(t, err, `vae: Wan 2.1 cannot be opened as "sdxl": no other model has its tensors`)

	e, err := Encode(thing, clip, "z.safetensors", Choices{As: "sdxl"})
	require.NoError(t, err)
	z.Meta = e.Meta
	d, err := Decode(thing, z, "z.safetensors", Choices{})
	require.NoError(t, err)
	assert.Equal(t, "sdxl", d.Options.As)
	assert.Empty(t, d.Warnings)
	assert.Equal(t, []string{"z.safetensors: made by SDXL, so the checkpoint is treated as SDXL"}, d.Notes)
	_, err = Decode(thing, z, "z.safetensors", Choices{As: "sd"})
	require.ErrorContains(t, err, `a latent of "SDXL" ("thing.safetensors"), decoding with "Stable Diffusion"`)
}
