//go:build !first

package vae

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format"
	"tessera/format/known"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/tests/synthetic"
)

// A file with a tensor of an unsupported VAE is refused by that VAE's name: as a separate
// file, behind a prefix, and among tensors that a family would accept.
func TestOthers(t *testing.T) {
	files := map[string][]safetensors.Spec{ // tensors that a family recognises
		kl:        {{Name: "encoder.conv_in.weight", Shape: []int{2, 3, 3, 3}}, {Name: "encoder.mid.block_1.norm1.weight", Shape: []int{2}}},
		hunyuan15: {{Name: "encoder.conv_in.conv.weight", Shape: []int{2, 3, 3, 3, 3}}, {Name: "encoder.norm_out.gamma", Shape: []int{2, 1, 1, 1}}},
		ltx:       {{Name: "decoder.up_blocks.0.res_blocks.0.conv1.conv.weight", Shape: []int{2, 2, 3, 3, 3}}},
	}
	tensors := map[string][]string{
		"Kandinsky 6's super-resolution VAE":  {"encoder.down.0.downsample.spatial_conv.weight", "decoder.up.4.upsample.spatial_conv.bias"},
		"a VQ model (VQGAN, MoVQ)":            {"quantize.embedding.weight", "vquantizer.embedding.weight"},
		"a K-VAE of Kandinsky":                {"decoder.mid.block_1.norm1.conv_y.weight", "encoder.down.0.downsample.linear.weight", "decoder.up.1.block.0.norm1.conv_y.weight"},
		"VidTok's VAE":                        {"decoder.up_temporal.1.upsample.mix_factor", "encoder.down_temporal.0.block.0.norm1.norm.weight"},
		"the VAE of Stable Video Diffusion":   {"decoder.time_conv_out.weight", "decoder.mid.block_1.time_stack.in_layers.0.weight", "decoder.up_blocks.0.resnets.0.time_mixer.mix_factor", "decoder.mid_block.resnets.0.temporal_res_block.norm1.weight"},
		"an AsymmetricAutoencoderKL":          {"decoder.condition_encoder.layers.0.weight"},
		"Allegro's VAE":                       {"decoder.temp_conv_in.weight", "encoder.temp_conv_in.bias"},
		"the consistency decoder of DALL·E 3": {"decoder_unet.conv_in.weight"},
		"AudioLDM's VAE, for sound":           {"encoder.conv_in.weight", "decoder.conv_out.weight"},
		"LTX-2.5's diffusion decoder":         {"decoder.det_stages.0.0.norm1.weight", "decoder.diff_blocks.0.attn.to_q.weight"},
		"EasyAnimate's VAE":                   {"decoder.up_blocks.0.convs.0.norm1.weight", "encoder.down_blocks.0.convs.0.conv1.weight"},
		"the VAE of MiniMax-H3":               {"decoder.transformer_blocks.0.attn.to_q.weight", "decoder.register_tokens"},
		"a DC-AE, as in Sana":                 {"decoder.stages.0.0.main.conv.weight", "encoder.stages.0.op_list.0.main.conv.weight", "decoder.project_in.conv.weight", "encoder.project_in.weight", "decoder.up_blocks.0.0.conv.weight", "encoder.down_blocks.0.0.conv1.weight"},
		"Mage's VAE":                          {"student.dconv_encoder.blocks.0.conv.weight", "encoder.patch_cond_embed.weight", "decoder.y_embedder.decoder.conv_in.weight"},
		"an RAE":                              {"decoder.decoder_layers.0.layernorm_before.weight", "decoder.decoder_embed.weight", "decoder.trainable_cls_token"},
		"Wan-Alpha's change of Wan 2.1's VAE": {"vae_fgr.decoder.conv1.conv3D.lora_A.weight", "vae_pha.decoder.conv1.conv3D.lora_B.weight"},
		"LTX-2's VAE for sound":               {"decoder.conv_in.conv.weight", "encoder.conv_in.conv.weight"},
		"a VAE or vocoder for sound":          {"decoder.block.0.conv_t1.weight_v", "decoder.layers.0.parametrizations.weight.original1", "decoder.conv_in.weight", "decoder.conv_in.conv.weight"},
		"an LTX-Video VAE before LTX-2":       {"decoder.mid_block.resnets.0.conv1.conv.weight"},
		"an LTX-Video VAE before LTX-2, with time steps": {
			"decoder.timestep_scale_multiplier", "decoder.last_time_embedder.timestep_embedder.linear_1.weight", "decoder.last_scale_shift_table",
			"decoder.time_embedder.timestep_embedder.linear_1.weight", "decoder.up_blocks.0.time_embedder.timestep_embedder.linear_1.weight", "decoder.up_blocks.0.res_blocks.0.scale_shift_table",
		},
		"an LTX-Video VAE before LTX-2, with noise in its layers": {"decoder.up_blocks.0.res_blocks.0.per_channel_scale1", "encoder.down_blocks.0.res_blocks.0.per_channel_scale2"},
		"an LTX-Video VAE before LTX-2, with shortcuts":           {"encoder.down_blocks.1.norm3.weight", "encoder.down_blocks.1.conv_shortcut.conv.weight"},
	}
	refusedAt := func(path, says, tensor string) {
		t.Helper()
		_, err := Inspect(path, gpu.Info{}, Settings{})
		require.ErrorIs(t, err, ErrUnknownModel)
		require.ErrorIs(t, err, ErrBadModel)
		assert.ErrorContains(t, err, "other.safetensors: is "+says)
		assert.Equal(t, "recognised by the tensor "+tensor, known.Detail(err))
	}
	refused := func(specs []safetensors.Spec, says, tensor string) {
		t.Helper()
		refusedAt(fileOf(t, specs), says, tensor)
	}
	shapes := map[string][]int{
		"LTX-2's VAE for sound": {2, 2, 2, 2}, "a VAE or vocoder for sound": {2, 2, 2},
		"encoder.conv_in.weight": {2, 1, 2, 2}, "decoder.conv_out.weight": {1, 2, 2, 2},
	}
	for is, names := range tensors {
		for _, name := range names {
			spec := safetensors.Spec{Name: name, Shape: shapes[is]}
			if strings.HasPrefix(is, "AudioLDM") {
				spec.Shape = shapes[name]
			}
			says := is + ", which Tessera does not read\n`tessera models` lists the VAEs that it reads"
			alone, err := safetensors.Open(fileOf(t, []safetensors.Spec{spec}))
			require.NoError(t, err)
			k, tensor := known.ByTensors(format.Shapes{File: alone}, "")
			require.NoError(t, alone.Close())
			if tensor != "" {
				require.Equal(t, is, k.Is)
				refused([]safetensors.Spec{spec}, says, name)
				spec.Name = "vae." + name
				refused([]safetensors.Spec{spec}, says, spec.Name)
				spec.Name = name
			}
			liked := false
			for like, specs := range files {
				f, err := safetensors.Open(fileOf(t, append(slices.DeleteFunc(slices.Clone(specs), func(x safetensors.Spec) bool { return x.Name == name }), spec)))
				require.NoError(t, err)
				k, tensor := known.ByTensors(format.Shapes{File: f}, like)
				at := slices.IndexFunc(families, func(fam *family) bool { return fam.told(f) })
				path := f.Name()
				require.NoError(t, f.Close())
				if tensor == "" || k.Is != is {
					continue
				}
				liked = true
				require.GreaterOrEqual(t, at, 0, "%s: no family takes it", is)
				assert.Equal(t, like, families[at].name, is)
				refusedAt(path, says, name)
			}
			assert.True(t, liked || tensor != "", "%s: nothing tells %s", is, name)
		}
	}
}

// fileOf writes a checkpoint of zeros.
func fileOf(t *testing.T, specs []safetensors.Spec) string {
	t.Helper()
	var all []synthetic.Raw
	for _, s := range specs {
		s.DType = safetensors.F32
		n := 4
		for _, d := range s.Shape {
			n *= d
		}
		all = append(all, synthetic.Raw{Spec: s, Data: make([]byte, n)})
	}
	path := filepath.Join(t.TempDir(), "other.safetensors")
	require.NoError(t, synthetic.Create(path, all, nil))
	return path
}

// Every name that can be pulled can be planned, and is planned as its model.
func TestPublishedNames(t *testing.T) {
	for _, c := range known.Checkpoints {
		m, err := Published(c.Name, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
		require.NoError(t, err, c.Name)
		assert.Equal(t, c.Model, m.Config.Model, c.Name)
		assert.True(t, IsPublished(strings.ToUpper(c.Name)), c.Name)
	}
	for name, scale := range map[string]float64{"sd": 0.18215, "sdxl": 0.13025, "flux": 0.3611, "sd3": 1.5305} {
		m, err := Published(name, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
		require.NoError(t, err)
		assert.Equal(t, slices.Repeat([]float64{scale}, m.Config.Latent), m.Config.Scale, name)
	}
	_, ok := flux2Family().publishedAs("FLUX.1")
	assert.False(t, ok)
	assert.False(t, IsPublished("seedvr3"))
}
