//go:build !first

package vae

import (
	"fmt"
	"slices"
	"strings"

	"tessera/format"
)

// other is a VAE that no family reads.
type other struct {
	name string
	// tensors are beginnings of names, after a prefix or none; * stands for any characters.
	// One that begins with a dot is a part of a name. It says something only of files that
	// the family `like` recognises.
	tensors []string
	shape   []int  // of such a tensor, where 0 is any size; nil: any shape
	like    string // the family that would otherwise take the file, and read it wrongly
}

// others are the VAEs that no family reads. The first that fits names a file: MoVQ has
// norms of K-VAE's names, and VidTok weights of Stable Video Diffusion's.
var others = []other{
	// HunyuanVideo 1.5's norms and names in the encoder, with other samplers.
	{name: "Kandinsky 6's super-resolution VAE", tensors: []string{"encoder.down.*.downsample.spatial_conv.", "decoder.up.*.upsample.spatial_conv."}, like: hunyuan15},
	// AutoencoderKL's networks, with a codebook between them.
	{name: "a VQ model (VQGAN, MoVQ)", tensors: []string{"quantize.", "vquantizer."}, like: kl},
	// AutoencoderKL's encoder, with another downsampler.
	{name: "a K-VAE of Kandinsky", tensors: []string{"decoder.mid.block_1.norm1.conv_y.", "encoder.down.0.downsample.linear.", ".norm1.conv_y."}, like: kl},
	{name: "VidTok's VAE", tensors: []string{"decoder.up_temporal.", "encoder.down_temporal."}},
	// AutoencoderKL's encoder, and a decoder with layers over time between its own.
	{name: "the VAE of Stable Video Diffusion", tensors: []string{"decoder.time_conv_out.", "decoder.*.time_stack.", "decoder.*.mix_factor", "decoder.*.temporal_res_block."}, like: kl},
	// AutoencoderKL, and a network that reads a mask.
	{name: "an AsymmetricAutoencoderKL", tensors: []string{"decoder.condition_encoder."}, like: kl},
	// AutoencoderKL's layers, with layers over time between them.
	{name: "Allegro's VAE", tensors: []string{"decoder.temp_conv_in.", "encoder.temp_conv_in."}, like: kl},
	// AutoencoderKL's encoder, and a diffusion model.
	{name: "the consistency decoder of DALL·E 3", tensors: []string{"decoder_unet."}, like: kl},
	// AutoencoderKL, of spectrograms.
	{name: "AudioLDM's VAE, for sound", tensors: []string{"encoder.conv_in.weight"}, shape: []int{0, 1, 0, 0}, like: kl},
	{name: "AudioLDM's VAE, for sound", tensors: []string{"decoder.conv_out.weight"}, shape: []int{1, 0, 0, 0}, like: kl},
	// LTX-2's layers and names, and others.
	{name: "an LTX-Video VAE before LTX-2, with time steps", tensors: []string{
		"decoder.timestep_scale_multiplier", "decoder.last_time_embedder.", "decoder.last_scale_shift_table", "decoder.time_embedder.", "decoder.*.time_embedder.", ".scale_shift_table",
	}, like: ltx},
	{name: "an LTX-Video VAE before LTX-2, with noise in its layers", tensors: []string{"decoder.*.per_channel_scale", ".per_channel_scale"}, like: ltx},
	{name: "an LTX-Video VAE before LTX-2, with shortcuts", tensors: []string{".norm3.", ".conv_shortcut."}, like: ltx},
	{name: "LTX-2.5's diffusion decoder", tensors: []string{"decoder.det_stages.", "decoder.diff_blocks."}},
	{name: "EasyAnimate's VAE", tensors: []string{"decoder.up_blocks.0.convs.", "encoder.down_blocks.0.convs."}},
	{name: "the VAE of MiniMax-H3", tensors: []string{"decoder.transformer_blocks.", "decoder.register_tokens"}},
	{name: "a DC-AE, as in Sana", tensors: []string{"decoder.stages.", "encoder.stages.", "decoder.project_in.", "encoder.project_in.", "decoder.up_blocks.0.0.", "encoder.down_blocks.0.0."}},
	{name: "Mage's VAE", tensors: []string{"student.dconv_encoder.", "encoder.patch_cond_embed.", "decoder.y_embedder."}},
	{name: "an RAE", tensors: []string{"decoder.decoder_layers.", "decoder.decoder_embed.", "decoder.trainable_cls_token"}},
	{name: "Wan-Alpha's change of Wan 2.1's VAE", tensors: []string{"vae_fgr.decoder.", "vae_pha.decoder."}},
	{name: "LTX-2's VAE for sound", tensors: []string{"decoder.conv_in.conv.weight", "encoder.conv_in.conv.weight"}, shape: []int{0, 0, 0, 0}},
	// Convolutions along one axis.
	{name: "a VAE or vocoder for sound", tensors: []string{"*.weight_v", "*.parametrizations.weight.original1", "decoder.conv_in.weight", "decoder.conv_in.conv.weight"}, shape: []int{0, 0, 0}},
	// Last, since other models have this name, too.
	{name: "an LTX-Video VAE before LTX-2", tensors: []string{"decoder.mid_block.resnets.0.conv1.conv."}},
}

// noVAE are the other models of a pipeline, which people take for its VAE.
var noVAE = []other{
	{name: "a diffusion model", tensors: []string{"double_blocks.0.", "joint_blocks.0.", "transformer_blocks.0.", "blocks.0.self_attn.q.", "input_blocks.0.0."}},
	{name: "a text encoder", tensors: []string{"text_model.encoder.", "encoder.block.0.layer.0.SelfAttention."}},
}

// refuseOther is an error that names a file of one of the others: of those that a family
// would take or, where like is "", of all.
func refuseOther(f format.File, like string) error {
	if o, tensor := find(others, f, like); tensor != "" {
		return fmt.Errorf("vae: %s: %w: it is %s (tensor %s), which is not supported, expected %s", f.Name(), errNoFamily, o.name, tensor, expected())
	}
	if o, tensor := find(noVAE, f, ""); like == "" && tensor != "" {
		return fmt.Errorf("vae: %s: %w: it is %s (tensor %s), expected the VAE of its pipeline", f.Name(), errNoFamily, o.name, tensor)
	}
	return nil
}

// find is the first of a list that has a tensor of a file, and that tensor.
func find(list []other, f format.File, like string) (o other, tensor string) {
	names := f.Names()
	for _, o := range list {
		if like != "" && o.like != like {
			continue
		}
		for _, name := range names {
			if slices.ContainsFunc(o.tensors, func(part string) bool { return begins(name, part, like) }) && o.shaped(f, name) {
				return o, name
			}
		}
	}
	return other{}, ""
}

// begins tells whether a tensor's name, or what a prefix leaves of it, begins with a part
// of other.tensors.
func begins(name, part, like string) bool {
	if part[0] == '.' {
		return like != "" && strings.Contains(name, part)
	}
	first, rest, _ := strings.Cut(part, "*")
	if after, ok := strings.CutPrefix(name, first); ok {
		return strings.Contains(after, rest)
	}
	_, after, ok := strings.Cut(name, "."+first)
	return ok && strings.Contains(after, rest)
}

// shaped tells whether a tensor has the shape of the other's.
func (o *other) shaped(f format.File, name string) bool {
	x, ok := f.Tensor(name)
	return ok && (o.shape == nil || slices.EqualFunc(x.Shape, o.shape, func(n, want int) bool { return want == 0 || n == want }))
}
