package vae

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// narrowHunyuanImage returns a checkpoint with one channel per group.
func narrowHunyuanImage(t testing.TB) string {
	return hunyuanImageFile(t, synthetic.HunyuanImageConfig{Widths: []int{32, 32, 32, 32, 32, 32}, Latent: 4})
}

// diffusersImage returns diffusers' name for a tensor of a file with two blocks per
// stage.
func diffusersImage(name string) string { return hunyuanImageDiffusers(name, 2) }

// diffusers' names, from a table of AutoencoderKLHunyuanImage's.
func TestDiffusersNamesOfHunyuanImage(t *testing.T) {
	for name, want := range map[string]string{
		"encoder.conv_in.weight":              "encoder.conv_in.weight",
		"encoder.down.0.block.1.norm2.bias":   "encoder.down_blocks.1.norm2.bias",
		"encoder.down.0.downsample.conv.bias": "encoder.down_blocks.2.conv.bias",
		"encoder.down.5.block.1.conv2.weight": "encoder.down_blocks.16.conv2.weight",
		"encoder.mid.block_2.conv1.weight":    "encoder.mid_block.resnets.1.conv1.weight",
		"encoder.mid.attn_1.norm.weight":      "encoder.mid_block.attentions.0.norm.weight",
		"decoder.mid.attn_1.k.bias":           "decoder.mid_block.attentions.0.to_k.bias",
		"decoder.mid.attn_1.proj_out.weight":  "decoder.mid_block.attentions.0.proj.weight",
		"decoder.up.2.block.1.conv2.weight":   "decoder.up_blocks.9.conv2.weight",
		"decoder.up.3.upsample.conv.weight":   "decoder.up_blocks.15.conv.weight",
		"decoder.up.5.block.2.conv2.bias":     "decoder.up_blocks.22.conv2.bias",
		"decoder.norm_out.weight":             "decoder.norm_out.weight",
	} {
		assert.Equal(t, want, diffusersImage(name))
	}
}

// Files with diffusers' names or prefixes decode and encode to the same bits.
func TestNamesOfHunyuanImage(t *testing.T) {
	path := narrowHunyuanImage(t)
	files := []layout{{path, "original", ""}, {named(t, path, diffusersImage), "diffusers", ""}}
	if !testenv.Short(t) {
		files = append(files, layout{named(t, path, func(s string) string { return "vae." + s }), "original", ""},
			layout{named(t, path, func(s string) string { return "first_stage_model." + diffusersImage(s) }), "diffusers", ""})
	}
	c := testNames(t, madeLatent(4, 1, 1, 2), noiseClip(1, 32, 64), files)
	require.Equal(t, hunyuanImage, c.Family)
	require.Equal(t, []int{32, 2, 4}, []int{c.Spatial, c.Blocks, c.Latent})
}

// A pipeline's latents are the network's times a factor.
func TestScaleOfHunyuanImage(t *testing.T) {
	m := open(t, gputest.Open(t), narrowHunyuanImage(t), F32)
	testStatistics(t, m, noiseClip(1, 32, 64), Options{}, func(_, _ int, mu float64) float64 { return 0.75289 * mu })
}

// A file of one network runs its direction, in either layout, and is not mistaken for
// AutoencoderKL's.
func TestHalvesOfHunyuanImage(t *testing.T) {
	for _, path := range []string{narrowHunyuanImage(t), named(t, narrowHunyuanImage(t), diffusersImage)} {
		testHalves(t, path)
	}
}

// Half an AutoencoderKL has other samplers, and is recognised as such.
func TestKLIsNotHunyuanImage(t *testing.T) {
	for _, half := range []string{"encoder.", "decoder."} {
		path := changed(t, smallKL(t, "kl.safetensors", synthetic.KLConfig{}), func(x *synthetic.Raw) bool { return !strings.HasPrefix(x.Name, half) })
		m, err := Inspect(path, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
		require.NoError(t, err)
		assert.Equal(t, kl, m.Config.Family)
		m.Close()
	}
}

// Files whose tensors contradict their names are refused with what was found.
func TestUnfitHunyuanImage(t *testing.T) {
	testUnfit(t, narrowHunyuanImage(t), []unfit{
		{"decoder.conv_in.weight", []int{32, 4, 9}, "has shape [32 4 9], expected 4 dimensions"},
		{"encoder.down.1.block.0.conv1.weight", []int{33, 32, 3, 3}, "33 channels are not a multiple of 32 norm groups"},
		{"decoder.up.1.upsample.conv.weight", []int{64, 32, 3, 3}, "decoder.up.1.upsample.conv.weight is [64 32 3 3], expected [128 32 3 3]"},
		{"decoder.conv_in.weight", []int{32, 5, 3, 3}, "has 32 channels where it has 5 of a latent"},
		{"encoder.mid.attn_1.q.weight", []int{32, 32, 3, 1}, "encoder.mid.attn_1.q.weight is [32 32 3], expected [32 32]"},
		{"decoder.up.5.block.0.conv1.weight", nil, "found 5 decoder stages, expected 6"},
	})
}

// A picture whose sides are not multiples of 32 is padded, and a feathered tile that
// holds all of it equals one pass.
func TestHunyuanImageInTiles(t *testing.T) {
	m := open(t, gputest.Open(t), narrowHunyuanImage(t), F32)
	clip := noiseClip(1, 70, 50)
	one := encodeAll(t, m, clip, EncodeOptions{})
	require.Len(t, one, 4*3*2)
	for _, how := range []Tiling{Feather, Diffusers} {
		o := Options{Tiling: how, Tile: tiling.Choice{Tile: tiling.Square(96)}, Overlap: tiling.Square(32)}
		require.Equal(t, one, encodeAll(t, m, clip, EncodeOptions{Options: o}), "%s", how)
		o.Tile.Tile = tiling.Square(64)
		p, err := m.PlanEncode(t.Context(), 1, 70, 50, EncodeOptions{Options: o})
		require.NoError(t, err)
		require.Greater(t, len(p.Tiles.Tiles), 1)
		tiled := encodeAll(t, m, clip, EncodeOptions{Options: o})
		require.Len(t, tiled, len(one))
		require.NotEqual(t, one, tiled)
	}
	_, err := m.PlanEncode(t.Context(), 1, 70, 50, EncodeOptions{Options: tiles(Exact, 64, 64, 0)})
	require.ErrorContains(t, err, "exact")
}

// In bands of rows, with activations on the host, and in portions a picture gives the
// same result as at once.
func TestHunyuanImageInBands(t *testing.T) {
	m := open(t, gputest.Open(t), narrowHunyuanImage(t), F32)
	limit := m.info.Limits.MaxBinding
	z, clip := noiseLatent(1, 3, 2), noiseClip(1, 96, 64)
	one := Options{Unscaled: true}
	pixels, latent := decodeAll(t, m, z, DecodeOptions{Options: one}), encodeAll(t, m, clip, EncodeOptions{Options: one})
	for _, o := range []Options{{Unscaled: true}, {Unscaled: true, Internals: Internals{Least: true}}, {Unscaled: true, Offload: OffloadOn, Internals: Internals{Across: 40 << 10}}} {
		m.Unload()
		m.info.Limits.MaxBinding = 100 << 10
		d, err := m.PlanDecode(t.Context(), 1, 3, 2, DecodeOptions{Options: o})
		require.NoError(t, err)
		m.info.Limits.MaxBinding = limit
		whole, err := m.PlanDecode(t.Context(), 1, 3, 2, DecodeOptions{Options: one})
		require.NoError(t, err)
		require.Greater(t, dispatches(d.Plan), dispatches(whole.Plan))
		m.info.Limits.MaxBinding = 100 << 10
		closeTo(t, decodeAll(t, m, z, DecodeOptions{Options: o}), pixels, 1e-11, "decoded")
		closeTo(t, encodeAll(t, m, clip, EncodeOptions{Options: o}), latent, 1e-11, "encoded")
		m.info.Limits.MaxBinding = limit
	}
}
