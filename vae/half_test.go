package vae

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
)

// half writes a file without the tensors whose names begin with any of the prefixes.
func half(t *testing.T, from, prefix string, without ...string) string {
	t.Helper()
	n := 0
	path := changed(t, from, func(x *synthetic.Raw) bool {
		drop := slices.ContainsFunc(without, func(w string) bool { return strings.HasPrefix(x.Name, w) })
		if drop {
			n++
		}
		x.Name = prefix + x.Name
		return !drop
	})
	require.Positive(t, n)
	return path
}

// halved returns checkpoints of all families and layouts, with the names that belong to
// the encoder and to the decoder alone.
func halved(t *testing.T) map[string][3]string {
	all := map[string][3]string{
		"seedvr2": {filepath.Join("..", "assets", "tiny-seedvr2.safetensors"), "", ""},
		"taesd":   {tinyCheckpoint("taesd_small", small12)(t), "", ""},
		"layered": {tiny(t, synthetic.WanConfig{Dim: 12, Channels: 4}), "conv1.", "conv2."},
		"upscale": {tiny(t, synthetic.WanConfig{Dim: 12, Outputs: 12}), "conv1.", "conv2."},
	}
	for name, c := range map[string]synthetic.WanConfig{"wan2.1": {Dim: 4}, "wan2.2": {Nested: true, Dim: 4, Decoder: 8}, "qwen2.1": {Still: true, Dim: 4, Decoder: 8}} {
		paths := inLayouts(t, c)
		all[name] = [3]string{paths["original"], "conv1.", "conv2."}
		all[name+", diffusers"] = [3]string{paths["diffusers"], "quant_conv.", "post_quant_conv."}
	}
	for name, rename := range map[string]func(string) string{"kl": nil, "kl, diffusers": func(name string) string { return klDiffusers(name, 4) }} {
		all[name] = [3]string{smallKL(t, "half.safetensors", synthetic.KLConfig{Quant: true, Name: rename}), "quant_conv.", "post_quant_conv."}
	}
	all["ltx2"] = [3]string{smallLTX(t, ltx20Small, nil), "", ""}
	all["ltx2, diffusers"] = [3]string{smallLTX(t, ltx23Small, inDiffusers), "", ""}
	return all
}

// A file with one of the networks is recognised by it, in every family and layout, with
// or without the other's quantisation, and behind a prefix.
func TestHalves(t *testing.T) {
	for name, c := range halved(t) {
		t.Run(name, func(t *testing.T) {
			whole, err := Inspect(c[0], gpu.Info{}, Settings{})
			require.NoError(t, err)
			defer whole.Close()
			for _, lacks := range []string{"encoder", "decoder"} {
				own := c[1]
				if lacks == "decoder" {
					own = c[2]
				}
				for _, path := range []string{half(t, c[0], "", lacks+"."), half(t, c[0], "vae.", lacks+"."), half(t, c[0], "", lacks+".", cmp.Or(own, lacks+"."))} {
					m, err := Inspect(path, gpu.Info{}, Settings{})
					require.NoError(t, err)
					defer m.Close()
					want := whole.Config
					want.Lacks = lacks
					if lacks == "decoder" {
						want.Upscale = 0
					}
					if want.is(ltx) { // its networks have different blocks
						want.ltx, want.Blocks = m.Config.ltx, m.Config.Blocks
					}
					if lacks == "encoder" {
						want.Widths, want.TimeDown, want.tiny.encoder = []int{}, []bool{}, nil
					} else {
						want.Decoder, want.TimeUp, want.tiny.decoder = []int{}, []bool{}, nil
					}
					assert.Equal(t, want, m.Config)
					_, encode := m.PlanEncode(t.Context(), 1, 32, 32, EncodeOptions{})
					_, decode := m.PlanDecode(t.Context(), 1, 2, 2, DecodeOptions{})
					if lacks == "encoder" {
						encode, decode = decode, encode
						require.EqualError(t, decode, "vae: the checkpoint has no encoder and cannot encode: use a checkpoint that has one")
					} else {
						require.EqualError(t, decode, "vae: the checkpoint has no decoder and cannot decode: use a checkpoint that has one")
					}
					require.ErrorIs(t, decode, ErrBadModel)
					if encode != nil { // an adapter of no limits has no room
						require.NotErrorIs(t, encode, ErrBadModel)
					}
				}
			}
		})
	}
}

// Half a checkpoint gives the whole one's results, to the bit.
func TestHalvesRun(t *testing.T) {
	dev := gputest.Open(t)
	for name, c := range halved(t) {
		t.Run(name, func(t *testing.T) {
			whole := open(t, dev, c[0], F32)
			z := Latent{Channels: whole.Config.Latent, Frames: 2, Height: 2, Width: 2}
			for i := range z.Channels * 8 {
				z.Data = append(z.Data, float32(i%13)/7-1)
			}
			decoder := open(t, dev, half(t, c[0], "", "encoder."), F32)
			pixels := decodeAll(t, whole, z, DecodeOptions{})
			require.Equal(t, pixels, decodeAll(t, decoder, z, DecodeOptions{}))
			s := whole.Config.Decoded()
			clip := floats{len(pixels) / (whole.Config.Channels * 4 * s * s), 2 * s, 2 * s, pixels}
			encoder := open(t, dev, half(t, c[0], "", "decoder."), F32)
			require.Equal(t, encodeAll(t, whole, clip, EncodeOptions{}), encodeAll(t, encoder, clip, EncodeOptions{}))
		})
	}
}

// Pruned decoders of Wan 2.2 are Wan 2.2's with narrower stages: decoders alone, with
// diffusers' names, as the generator beside a discriminator, and with heads from their
// training.
func TestPrunedWan22(t *testing.T) {
	const dim = 20
	paths := inLayouts(t, synthetic.WanConfig{Nested: true, Dim: dim, Decoder: dim / 2})
	path := withOthers(t, half(t, paths["diffusers"], "", "encoder.", "quant_conv."), "dynamic_feature_projection_heads.0.weight")
	f, err := safetensors.Open(path)
	require.NoError(t, err)
	defer f.Close()
	torch := strings.Replace(path, ".safetensors", ".pth", 1)
	require.NoError(t, pthtest.Convert(torch, f, pthtest.Options{Key: "gen_model"}))
	for _, path := range []string{path, torch} {
		m, err := Inspect(path, gpu.Info{}, Settings{})
		require.NoError(t, err)
		defer m.Close()
		assert.Equal(t, wan22, m.Config.Family)
		assert.Equal(t, "Wan 2.2", m.Config.Model)
		assert.Equal(t, "encoder", m.Config.Lacks)
		assert.Equal(t, []int{40, 40, 20, 10}, m.Config.Decoder)
	}
}

// A file with part of a network is refused, with the missing tensors.
func TestHalfANetwork(t *testing.T) {
	_, err := Inspect(half(t, tiny(t, synthetic.WanConfig{Dim: 8}), "", "encoder.middle.", "encoder.head."), gpu.Info{}, Settings{})
	require.ErrorIs(t, err, ErrBadModel)
	require.ErrorContains(t, err, "missing: encoder.middle.")
	_, err = Inspect(half(t, tiny(t, synthetic.WanConfig{Dim: 8}), "", "encoder.", "conv2."), gpu.Info{}, Settings{})
	require.ErrorContains(t, err, "2 missing: conv2.weight; conv2.bias")
}
