package job

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
	"tessera/vae"
)

// published has the statistics of Wan 2.1's latents (vae2_1.py), and narrow
// deviations as small as Wan 2.2's.
var published, narrow = statistics(
	[]float64{-0.7571, -0.7089, -0.9113, 0.1075, -0.1745, 0.9653, -0.1517, 1.5508, 0.4134, -0.0715, 0.5517, -0.3632, -0.1922, -0.9497, 0.2503, -0.2921},
	[]float64{2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743, 3.2687, 2.1526, 2.8652, 1.5579, 1.6382, 1.1253, 2.8251, 1.9160},
), statistics(
	[]float64{-0.2289, -0.0052, -0.1323, -0.2339, -0.2799, 0.0174, 0.1838, 0.1557, -0.1382, 0.0542, 0.2813, 0.0891, 0.1570, -0.0098, 0.0375, -0.1825},
	[]float64{0.4765, 1.0364, 0.4514, 1.1677, 0.5313, 0.4990, 0.4818, 0.5013, 0.8158, 1.0344, 0.5894, 1.0901, 0.6885, 0.6165, 0.8454, 0.4978},
)

func statistics(mean, deviation []float64) vae.Config {
	c := wan21
	c.Mean = mean
	for _, s := range deviation {
		c.Scale = append(c.Scale, 1/s)
	}
	return c
}

// drawn returns a latent of the model with the given contrast and scale.
func drawn(c vae.Config, contrast float64, scale string) latent.Latent {
	r := rand.New(rand.NewPCG(1, 2))
	z := latent.Latent{Channels: c.Latent, Frames: 2, Height: 8, Width: 8}
	for i := range c.Latent {
		for range 2 * 8 * 8 {
			v := contrast * r.NormFloat64()
			if scale == latent.ScaleNone {
				v = v/c.Scale[i] + c.Mean[i]
			}
			z.Data = append(z.Data, float32(v))
		}
	}
	return z
}

// Doubt warns if numbers without metadata are far from the model's usual ones, or look
// like the other scale; it does not warn about usual numbers with more or less contrast.
func TestDoubt(t *testing.T) {
	const pipeline, none = latent.ScalePipeline, latent.ScaleNone
	seed := seedvr2
	seed.Mean = make([]float64, 16)
	for range 16 {
		seed.Scale = append(seed.Scale, 0.9152)
	}
	for name, c := range map[string]vae.Config{"Wan 2.1": published, "as narrow as Wan 2.2": narrow} {
		for _, contrast := range []float64{0.65, 1, 1.2} {
			for _, scale := range []string{pipeline, none} {
				d, err := Decode(c, drawn(c, contrast, scale), "z", Choices{Scale: scale})
				require.NoError(t, err)
				assert.Empty(t, d.Warnings, "%s: %v in %s as asked", name, contrast, scale)
				z := drawn(c, contrast, scale)
				z.ComfyUI = scale == none
				d, err = Decode(c, z, "z", Choices{})
				require.NoError(t, err)
				assert.Empty(t, d.Warnings, "%s: %v in %s", name, contrast, scale)
			}
		}
	}
	colour := drawn(published, 0.3, pipeline)
	for i := range colour.Data {
		colour.Data[i] += 2 - 4*float32(i/128%2)
	}
	for name, c := range map[string]struct {
		model vae.Config
		z     latent.Latent
	}{
		"a flat colour":                     {published, colour},
		"twice the contrast, scales alike":  {seed, drawn(seed, 2, pipeline)},
		"a third of the contrast, as alike": {seed, drawn(seed, 0.35, pipeline)},
	} {
		d, err := Decode(c.model, c.z, "z", Choices{})
		require.NoError(t, err)
		assert.Empty(t, d.Warnings, name)
	}
	own, comfy := drawn(published, 1, none), drawn(published, 1, pipeline)
	comfy.ComfyUI = true
	huge, flat := drawn(seed, 20, pipeline), drawn(seed, 0, pipeline)
	for says, c := range map[string]struct {
		model vae.Config
		z     latent.Latent
	}{
		"z: its values look like the VAE's own, --scale none: their deviation is 2.2":               {published, own},
		"z: its values look like a pipeline's, --scale pipeline: their deviation is 0.98":           {published, comfy},
		"z: its values look like the VAE's own, --scale none: their deviation is 0.65":              {narrow, drawn(narrow, 0.9, none)},
		"times as large as usual for SeedVR2: is it a latent of this model?":                        {seed, huge},
		"z: its values are 0 times as large as usual for SeedVR2":                                   {seed, flat},
		"z: its values look like the VAE's own, --scale none: their deviation is 4.":                {published, drawn(published, 2, none)},
		"z: its values look like a pipeline's, --scale pipeline: their deviation is 0.59, usually ": {published, latent.Latent{Channels: 16, Frames: 2, Height: 8, Width: 8, ComfyUI: true, Data: drawn(published, 0.6, pipeline).Data}},
	} {
		d, err := Decode(c.model, c.z, "z", Choices{})
		require.NoError(t, err)
		require.Len(t, d.Warnings, 1, says)
		assert.Contains(t, d.Warnings[0], says)
		c.z.Meta = map[string]string{latent.MetaScale: d.Scale}
		d, err = Decode(c.model, c.z, "z", Choices{})
		require.NoError(t, err)
		assert.Empty(t, d.Warnings, "with metadata: %s", says)
	}
}
