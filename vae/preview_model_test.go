package vae

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/tests/synthetic"
)

// Which tiny autoencoder decodes which model's latents. If its file does not name a
// model, it becomes one that fits; one for another model is refused.
func TestStandInFor(t *testing.T) {
	of := func(family, model string) Config {
		m, err := Published(family, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
		require.NoError(t, err)
		if c := m.Config; model == "" || c.Model == model {
			return c
		}
		c := m.Config
		c.Model = model
		for _, x := range c.alike() {
			if _, name := x.model(); name == model {
				x.take(&c)
			}
		}
		return c
	}
	hv := func(file string, c synthetic.TAEHVConfig) Config {
		m, err := Inspect(tinyTAEHV(t, file, c), gpu.Info{}, Settings{})
		require.NoError(t, err, file)
		defer m.Close()
		m.Config.Name(file)
		return m.Config
	}
	sd := func(file string, c synthetic.TAESDConfig) Config {
		path := filepath.Join(t.TempDir(), file+".safetensors")
		c.Encoder, c.Decoder = []int{8, 8, 8, 8}, []int{8, 8, 8, 8}
		require.NoError(t, synthetic.CreateTAESD(path, c))
		m, err := Inspect(path, gpu.Info{}, Settings{})
		require.NoError(t, err, file)
		defer m.Close()
		m.Config.Name(file)
		return m.Config
	}
	hv16, hv32 := synthetic.TAEHVConfig{}, synthetic.TAEHVConfig{Latent: 32, Patch: 2}
	for _, c := range []struct {
		tiny Config
		of   Config
		want string // its model; "" is an error
	}{
		{hv("taew2_1", hv16), of(wan21, ""), "TAEHV for Wan 2.1"},
		{hv("taew2_1", hv16), of(wan21, "Qwen-Image"), "TAEHV for Wan 2.1"},
		{hv("lighttaew2_1", hv16), of(wan21, ""), "LightTAE for Wan 2.1"},
		{hv("model", hv16), of(hunyuan, ""), "TAEHV for HunyuanVideo"},
		{hv("taecvx", hv16), of(cogVideoX, ""), "TAEHV for CogVideoX"},
		{hv("model", hv16), of(cogVideoX, ""), "TAEHV for CogVideoX"},
		{hv("taecvx", hv16), of(hunyuan, ""), ""},
		{hv("taehv", hv16), of(wan21, ""), ""},
		{hv("taew2_1", hv16), of("seedvr2", ""), ""},
		{hv("taew2_1", hv16), of(kl, "FLUX.1"), ""},
		{hv("taew2_2", synthetic.TAEHVConfig{Latent: 48, Patch: 2}), of(wan22, ""), "TAEHV for Wan 2.2"},
		{hv("taew2_2", synthetic.TAEHVConfig{Latent: 48}), of(wan22, ""), ""}, // cells of 8x8
		{hv("model", hv32), of(hunyuan15, ""), "TAEHV for HunyuanVideo 1.5"},
		{hv("lighttaehy1_5", hv32), of(hunyuan15, ""), "LightTAE for HunyuanVideo 1.5"},
		{hv("taeltx2_3", synthetic.TAEHVConfig{Latent: 128, Patch: 4, Halves: true}), of(ltx, "LTX-2.3"), "TAEHV for LTX-2.3"},
		{hv("taeltx2_3", synthetic.TAEHVConfig{Latent: 128, Patch: 4, Halves: true}), of(ltx, "LTX-2"), ""},
		{sd("taesd", synthetic.TAESDConfig{}), of(kl, "Stable Diffusion"), "TAESD"},
		{sd("taesd", synthetic.TAESDConfig{}), of(kl, "SDXL"), ""},
		{sd("taesdxl", synthetic.TAESDConfig{}), of(kl, "SDXL"), "TAESDXL"},
		{sd("taef2", synthetic.TAESDConfig{Latent: 32}), of(flux2, ""), "TAEF2"},
		{sd("taef2", synthetic.TAESDConfig{Latent: 32}), of(wan21, ""), ""},
	} {
		got, err := c.tiny.StandInFor(c.of)
		if c.want == "" {
			require.ErrorIs(t, err, ErrBadModel, "%s for %s", c.tiny.Model, c.of.Model)
			assert.ErrorContains(t, err, c.tiny.File+" is "+c.tiny.Model+", which decodes latents of ")
			assert.ErrorContains(t, err, "expected one for those of the model: "+c.of.Model)
			continue
		}
		if assert.NoError(t, err, "%s for %s", c.tiny.Model, c.of.Model) {
			assert.Equal(t, c.want, got.Model)
			assert.False(t, got.Assumed)
		}
	}
	half := hv("taew2_1_encoder", synthetic.TAEHVConfig{Lacks: "decoder"})
	_, err := half.StandInFor(of(wan21, ""))
	assert.ErrorContains(t, err, "has no decoder")
}

// A substitute reads a latent with the statistics of the model that made it. TAEF2 reads
// FLUX.2's normalised latents, and has no statistics to convert them to the VAE's own
// numbers.
func TestStatisticsOfStandIn(t *testing.T) {
	of := publishedFlux2()
	of.Family = flux2
	of.Mean, of.Scale = make([]float64, 128), make([]float64, 128)
	for i := range of.Mean {
		of.Mean[i], of.Scale[i] = float64(i)/64, 1+float64(i)/128
	}
	tiny := Config{Family: taesd, Model: "TAEF2", Latent: 32, Channels: 3, Spatial: 8, Temporal: 1, pipeline: true, unpacks: true}
	got, err := tiny.StandInFor(of)
	require.NoError(t, err)
	const own = 0.75
	for channel, row := range []int{0, 1, 6, 7} {
		scale, mean := got.network(channel, 0, row, true)
		for x := range 2 {
			at := 4*channel + row%2*2 + x
			assert.InDelta(t, (own-of.Mean[at])*of.Scale[at], own/scale[x]+mean[x], 1e-12)
		}
		scale, mean = got.network(channel, 0, row, false)
		assert.Equal(t, [4]float64{1, 1, 0, 0}, [4]float64{scale[0], scale[1], mean[0], mean[1]}, "of a pipeline")
	}
}
