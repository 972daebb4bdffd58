package vae

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// The published size has the published number of tensors and parameters, and equals what
// Published plans for.
func TestPublishedCosmos(t *testing.T) {
	testPublished(t, cosmos, synthetic.Cosmos(synthetic.CosmosConfig{}), 310, 105_653_696, "attentions.0.to_")
}

// diffusers' names and the original ones, in whole files and halves, are one model, which
// decodes and encodes to the same bits. Buffers beside the weights are ignored.
func TestNamesOfCosmos(t *testing.T) {
	for name, want := range map[string]string{
		"encoder.conv_in.conv_t.bias":                          "encoder.conv_in.1.conv3d.bias",
		"encoder.down_blocks.0.downsamplers.0.conv2.weight":    "encoder.down.0.downsample.conv2.conv3d.weight",
		"encoder.down_blocks.2.resnets.1.conv1.conv_s.weight":  "encoder.down.2.block.1.conv1.0.conv3d.weight",
		"encoder.down_blocks.0.resnets.0.conv_shortcut.weight": "encoder.down.0.block.0.nin_shortcut.conv3d.weight",
		"decoder.mid_block.temp_attentions.0.norm.norm.weight": "decoder.mid.attn_1.1.norm.norm.weight",
		"decoder.mid_block.attentions.0.to_out.0.bias":         "decoder.mid.attn_1.0.proj_out.conv3d.bias",
		"decoder.up_blocks.0.resnets.2.norm2.norm.bias":        "decoder.up.2.block.2.norm2.norm.bias",
		"decoder.up_blocks.1.upsamplers.0.conv3.weight":        "decoder.up.1.upsample.conv3.conv3d.weight",
		"post_quant_conv.weight":                               "post_quant_conv.conv3d.weight",
		"decoder.norm_out.norm.weight":                         "decoder.norm_out.norm.weight",
	} {
		assert.Equal(t, want, cosmosOriginal(name))
	}
	path := cosmosCheckpoint(t)
	original := withOthers(t, named(t, path, cosmosOriginal), "encoder.patcher3d.wavelets", "decoder.unpatcher3d.wavelets", "decoder.unpatcher3d._arange", "encoder.patcher3d.patch_size_buffer")
	c := testNames(t, madeLatent(5, 2, 1, 2), noiseClip(9, 8, 16), []layout{
		{path, "diffusers", ""},
		{original, "original", ""},
		{named(t, path, func(s string) string { return "vae." + cosmosOriginal(s) }), "original", ""},
		{half(t, path, "", "encoder."), "diffusers", "encoder"},
		{half(t, original, "", "decoder."), "original", "decoder"},
	})
	require.Equal(t, []int{5, 8, 8, 1, 2, 4}, []int{c.Latent, c.Spatial, c.Temporal, c.Groups, c.Blocks, c.Patch})
	require.Equal(t, cosmos, c.Family)
}

// A pipeline's latents are (mu - mean) * 0.5 / deviation, with numbers for each channel
// and latent frame; from the 16th frame on, with those of the 16th. There are no
// variances.
func TestStatisticsOfCosmos(t *testing.T) {
	c := publishedCosmos
	cosmosFamily.complete(&c)
	c.Mean, c.Frames, c.Scale = cosmosMean, cosmosFrames, make([]float64, len(cosmosStd))
	for i, std := range cosmosStd {
		c.Scale[i] = cosmosSigma / std
	}
	for _, at := range []struct {
		channel, frame int
		mean, std      float64 // diffusers' numbers
	}{{0, 0, 0.11362758, 0.56700271}, {0, 1, -0.0171717, 0.65488982}, {1, 0, 0.19125476, 0.85245121}, {15, 15, -0.03885176, 0.64914775}, {15, 40, -0.03885176, 0.64914775}} {
		scale, mean := c.network(at.channel, at.frame, 0, false)
		assert.InDelta(t, at.mean, mean[0], 1e-12)
		assert.InDelta(t, 0.5/at.std, scale[1], 1e-12)
	}
	dev := gputest.Open(t)
	m := open(t, dev, made(t, "cosmos16.safetensors", func(path string) error {
		return synthetic.CreateCosmos(path, synthetic.CosmosConfig{Encoder: []int{8, 8, 8, 8}, Decoder: []int{8, 8, 8, 8}})
	}), F32)
	testStatistics(t, m, noiseClip(17, 8, 8), Options{}, func(channel, frame int, mu float64) float64 {
		at := channel*cosmosFrames + frame
		return (mu - cosmosMean[at]) * 0.5 / cosmosStd[at]
	})
	_, err := m.PlanEncode(t.Context(), 9, 8, 8, EncodeOptions{Moments: true})
	require.ErrorContains(t, err, "produces latents, not distributions")
}

// The transform of a patch is two transforms of 2x2x2 blocks, one after another; the
// inverse has the same signs.
func TestHaar(t *testing.T) {
	const colours = 2
	patch := make([]float64, colours*64) // [colour, t, y, x]
	for i := range patch {
		patch[i] = math.Sin(float64(3 * i * i))
	}
	// transformed transforms cubes of c channels, [c, t, y, x], which halves their side.
	transformed := func(x []float64, c, side int) []float64 {
		half := side / 2
		var out []float64
		for kind := range 8 {
			for ch := range c {
				for p := range half * half * half {
					sum := 0.0
					for b := range 8 {
						at := (((ch*side+p/(half*half)*2+b/4)*side+p/half%half*2+b/2%2)*side + p%half*2 + b%2)
						sign := 1.0
						for axis := range 3 {
							if kind>>axis&1 == 1 && b>>axis&1 == 1 {
								sign = -sign
							}
						}
						sum += sign * x[at]
					}
					out = append(out, sum/8)
				}
			}
		}
		return out
	}
	want := transformed(transformed(patch, colours, 4), 8*colours, 2)
	got, back := make([]float64, len(want)), make([]float64, len(patch))
	for o := range got {
		for i, v := range patch {
			got[o] += v / 64 * float64(haar(o, i/64, i/16%4, i/4%4, i%4, colours))
		}
	}
	for i := range back {
		for o, v := range got {
			back[i] += v * float64(haar(o, i/64, i/16%4, i/4%4, i%4, colours))
		}
	}
	assert.InDeltaSlice(t, want, got, 1e-12)
	assert.InDeltaSlice(t, patch, back, 1e-12)
}

// A clip is processed at once, also with --chunk; unfolded, in bands of rows and with
// weights on the host the result is the same. Only feathered tiles are supported.
func TestCosmosAtOnce(t *testing.T) {
	m := open(t, gputest.Open(t), cosmosCheckpoint(t), F32)
	z, clip := noiseLatent5(3, 5, 4), noiseClip(17, 40, 32)
	decoded, encoded, p, _ := within(t, m, z, clip, Options{}, 0)
	require.Equal(t, 1, p.Slices)
	require.Len(t, decoded, 3*17*40*32)
	for name, c := range map[string]struct {
		m       *Model
		o       Options
		binding int64
	}{
		"unfolded":  {unfolded(t, m), Options{}, 0},
		"bands":     {m, Options{Chunk: 1, Internals: Internals{Least: true}}, 96 << 10},
		"offloaded": {m, Options{Offload: OffloadOn, Internals: Internals{Across: 400}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "bands" {
				testenv.Long(t)
			}
			d, e, p, _ := within(t, c.m, z, clip, c.o, c.binding)
			assert.Equal(t, 1, p.Slices)
			closeTo(t, d, decoded, 1e-11, "decoded")
			closeTo(t, e, encoded, 1e-11, "encoded")
		})
	}
	o := Options{Tiling: Feather, Tile: tiling.Choice{Tile: tiling.Square(24)}, Overlap: tiling.Square(8), Unscaled: true}
	p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
	require.NoError(t, err)
	require.Greater(t, len(p.Tiles.Tiles), 1)
	tiled, err := framesOf(p.Run(t.Context(), z, Watch{}))
	require.NoError(t, err)
	require.Len(t, tiled, len(decoded))
	require.NotEqual(t, decoded, tiled)
	for _, how := range []Tiling{Exact, Diffusers} {
		o.Tiling = how
		_, err = m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
		require.ErrorIs(t, err, ErrTiling)
	}
}

// Files whose tensors contradict their names are refused with what was found.
func TestUnfitCosmos(t *testing.T) {
	testUnfit(t, cosmosCheckpoint(t), []unfit{
		{"encoder.conv_in.conv_s.weight", []int{16, 24, 1, 3, 3}, "encoder.conv_in.conv_s.weight is [16 24 1 3 3], expected [16 192 1 3 3]"},
		{"decoder.up_blocks.1.upsamplers.0.conv3.weight", nil, "found 1 samplers in the encoder and 0 in the decoder"},
		{"encoder.down_blocks.0.downsamplers.0.conv2.weight", nil, "1 missing: encoder.down_blocks.0.downsamplers.0.conv2.weight"},
		{"encoder.down_blocks.2.resnets.0.conv1.conv_s.weight", []int{1025, 32, 1, 3, 3}, "found a stage of 1025 channels, expected at most 1024"},
		{"decoder.conv_in.conv_s.weight", []int{40, 5, 3, 3}, "expected 5 dimensions"},
		{"decoder.mid_block.temp_attentions.0.to_k.weight", []int{40, 40, 3, 1, 1}, "expected [40 40]"},
	})
}
