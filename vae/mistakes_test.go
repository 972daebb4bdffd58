//go:build !first

package vae

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/known"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/tests/synthetic"
)

// gguf returns the beginning of a GGUF file of an architecture.
func gguf(architecture string) string {
	text := func(s string) string { return string(binary.LittleEndian.AppendUint64(nil, uint64(len(s)))) + s }
	head := "GGUF\x03\x00\x00\x00" + strings.Repeat("\x00", 8) + "\x01" + strings.Repeat("\x00", 7)
	return head + text("general.architecture") + "\x08\x00\x00\x00" + text(architecture)
}

// A file given instead of a checkpoint is described in two lines: what it is, and which
// file is meant, with size and address. The text contains no tensor names.
func TestMistakes(t *testing.T) {
	const (
		hub    = "https://huggingface.co/"
		wan21  = "its VAE is wan_2.1_vae.safetensors, 254 MB: `tessera pull wan2.1`, or " + hub + "Comfy-Org/Wan_2.1_ComfyUI_repackaged/resolve/main/split_files/vae/wan_2.1_vae.safetensors"
		wan22  = "its VAE is wan2.2_vae.safetensors, 1.4 GB: `tessera pull wan2.2`, or "
		qwen   = "its VAE is qwen_image_vae.safetensors, 254 MB: `tessera pull qwen-image`, or "
		flux   = "its VAE is ae.safetensors, 335 MB: `tessera pull flux`, or " + hub + "Comfy-Org/Lumina_Image_2.0_Repackaged/resolve/main/split_files/vae/ae.safetensors"
		sdxl   = "its VAE is sdxl_vae.safetensors, 335 MB: `tessera pull sdxl`, or "
		sd     = "its VAE is vae-ft-mse-840000-ema-pruned.safetensors, 335 MB: `tessera pull sd`, or "
		hv     = "its VAE is hunyuan_video_vae_bf16.safetensors, 493 MB: `tessera pull hunyuanvideo`, or "
		others = "take the VAE of its pipeline: `tessera models` lists the known ones"
		input  = "give it as the input, and a checkpoint with -m: `tessera models` lists the known ones"
		page   = "download the file itself: on Hugging Face its address has /resolve/ in place of /blob/"
	)
	for _, c := range []struct {
		tensor string // or a single tensor
		text   string
		shape  []int
		name   string // of the file; default m.safetensors
		is, do string
	}{
		// Diffusion models.
		{tensor: "blocks.0.self_attn.q.weight", is: "the diffusion model of Wan 2.1 or Wan 2.2 A14B, expected a VAE", do: wan21},
		{tensor: "model.diffusion_model.blocks.0.self_attn.q.weight", is: "the diffusion model of Wan 2.1 or Wan 2.2 A14B", do: wan21},
		{tensor: "condition_embedder.text_embedder.linear_1.weight", is: "the diffusion model of Wan 2.1 or Wan 2.2 A14B", do: wan21},
		{tensor: "patch_embedding.weight", shape: []int{2, 48, 1, 2, 2}, is: "the diffusion model of Wan 2.2 TI2V-5B", do: wan22},
		{tensor: "blocks.0.attn.proj_qkv.vid.weight", is: "the diffusion model of SeedVR2", do: "its VAE is seedvr2_ema_vae_fp16.safetensors, 501 MB: `tessera pull seedvr2`, or "},
		{tensor: "transformer_blocks.0.img_mod.1.weight", is: "the diffusion model of Qwen-Image", do: qwen},
		{tensor: "double_stream_modulation_img.lin.weight", is: "the diffusion model of FLUX.2", do: "its VAE is flux2-vae.safetensors, 336 MB: `tessera pull flux2`, or "},
		{tensor: "distilled_guidance_layer.in_proj.weight", is: "the diffusion model of Chroma", do: flux},
		{tensor: "model.diffusion_model.double_blocks.0.img_attn.qkv.weight", is: "the diffusion model of FLUX.1", do: flux},
		{tensor: "single_transformer_blocks.0.proj_mlp.weight", is: "the diffusion model of FLUX.1", do: flux},
		{tensor: "vision_in.proj.0.weight", is: "the diffusion model of HunyuanVideo 1.5", do: "its VAE is hunyuanvideo15_vae_fp16.safetensors, 2.5 GB: `tessera pull hunyuanvideo1.5`, or "},
		{tensor: "byt5_in.fc1.weight", is: "the diffusion model of HunyuanImage 2.1", do: "its VAE is hunyuan_image_2.1_vae_fp16.safetensors, 811 MB: `tessera pull hunyuanimage2.1`, or "},
		{tensor: "double_blocks.0.img_attn_qkv.weight", is: "the diffusion model of HunyuanVideo", do: hv},
		{tensor: "joint_blocks.0.x_block.attn.qkv.weight", is: "the diffusion model of Stable Diffusion 3", do: "its VAE is sd3.5_vae.safetensors, 168 MB: `tessera pull sd3`, or "},
		{tensor: "transformer_blocks.0.audio_attn1.to_q.weight", is: "the diffusion model of LTX-2 or LTX-2.3", do: "take the VAE of its pipeline: LTX-2's is LTX2_video_vae_bf16.safetensors, 2.4 GB: `tessera pull ltx2`; LTX-2.3's is LTX23_video_vae_bf16.safetensors, 1.5 GB: `tessera pull ltx2.3`"},
		{tensor: "blocks.0.attn.qkv_x.weight", is: "the diffusion model of Mochi 1", do: "its VAE is mochi_vae.safetensors, 901 MB: `tessera pull mochi1`, or "},
		{tensor: "patch_embed.text_proj.weight", is: "the diffusion model of CogVideoX", do: "its VAE is cogvideox-5b_vae.safetensors, 431 MB: `tessera pull cogvideox-5b`, or "},
		{tensor: "net.blocks.block0.blocks.0.block.attn.to_q.0.weight", is: "the diffusion model of Cosmos 1.0", do: "its VAE is cosmos_cv8x8x8_1.0.safetensors, 211 MB: `tessera pull cosmos1`, or "},
		{tensor: "blocks.0.adaln_modulation_self_attn.1.weight", is: "the diffusion model of Cosmos Predict 2", do: wan21},
		{tensor: "double_stream_blocks.0.block.adaLN_modulation.1.weight", is: "the diffusion model of HiDream-I1", do: flux},
		{tensor: "noise_refiner.0.attention.qkv.weight", is: "the diffusion model of Lumina 2 or Z-Image", do: flux},
		{tensor: "double_layers.0.attn.w1q.weight", is: "the diffusion model of AuraFlow", do: sdxl},
		{tensor: "model.diffusion_model.label_emb.0.0.weight", is: "the U-Net of SDXL", do: sdxl},
		{tensor: "add_embedding.linear_1.weight", is: "the U-Net of SDXL", do: sdxl},
		{tensor: "model.diffusion_model.input_blocks.0.0.weight", is: "the U-Net of Stable Diffusion", do: sd},
		{tensor: "transformer_blocks.0.attn.to_q.weight", is: "a diffusion model", do: others},
		// Changes of them.
		{tensor: "diffusion_model.blocks.0.self_attn.q.lora_A.weight", shape: []int{2, 5120}, is: "a LoRA for Wan, expected a VAE", do: wan21},
		{tensor: "lora_unet_blocks_0_self_attn_q.lora_down.weight", shape: []int{2, 3072}, is: "a LoRA for Wan 2.2 TI2V-5B", do: wan22},
		{tensor: "transformer_blocks.0.img_mlp.net.0.proj.lora_A.weight", is: "a LoRA for Qwen-Image", do: qwen},
		{tensor: "lora_unet_double_blocks_0_img_attn_qkv.lora_down.weight", is: "a LoRA for FLUX.1 or HunyuanVideo", do: "take the VAE of its pipeline: FLUX.1's is ae.safetensors, 335 MB: `tessera pull flux`; HunyuanVideo's is "},
		{tensor: "transformer.single_transformer_blocks.0.attn.to_q.lora_A.weight", is: "a LoRA for FLUX.1", do: flux},
		{tensor: "lora_te2_text_model_encoder_layers_0_mlp_fc1.lora_down.weight", is: "a LoRA for SDXL", do: sdxl},
		{tensor: "lora_unet_down_blocks_0_attentions_0_proj_in.lora_down.weight", is: "a LoRA for Stable Diffusion", do: sd},
		{tensor: "lora_unet_x.hada_w1_a", is: "a LoRA", do: others},
		{tensor: "controlnet_blocks.0.weight", is: "a ControlNet", do: others},
		{tensor: "ip_adapter.1.to_k_ip.weight", is: "an IP-Adapter", do: others},
		{tensor: "down_blocks.0.motion_modules.0.proj_in.weight", is: "AnimateDiff's motion module", do: sd},
		// Other models of a pipeline.
		{tensor: "shared.weight", shape: []int{256384, 1}, is: "UMT5, the text encoder of Wan", do: wan21},
		{tensor: "encoder.block.0.layer.0.SelfAttention.q.weight", is: "T5, a text encoder", do: others},
		{tensor: "text_model.encoder.layers.0.self_attn.q_proj.weight", is: "CLIP, a text encoder", do: others},
		{tensor: "vision_model.encoder.layers.0.self_attn.q_proj.weight", is: "an image encoder (CLIP, SigLIP)", do: others},
		{tensor: "visual.blocks.0.attn.qkv.weight", is: "Qwen2.5-VL, a text encoder of Qwen-Image and HunyuanVideo 1.5", do: "take the VAE of its pipeline: Qwen-Image's is qwen_image_vae.safetensors, 254 MB: `tessera pull qwen-image`; HunyuanVideo 1.5's is "},
		{tensor: "visual.deepstack_merger_list.0.norm.weight", is: "Qwen3-VL, a text encoder of Qwen-Image 2.1", do: "its VAE is qwen_image_2.1_vae_bf16.safetensors, 676 MB: `tessera pull qwen-image-2.1`, or "},
		{tensor: "model.layers.0.self_attn.q_proj.weight", is: "a language model, which pipelines have as a text encoder", do: others},
		{tensor: "emb_params", shape: []int{2, 3}, is: "an embedding (textual inversion)", do: others},
		{tensor: "body.0.rdb1.conv1.weight", is: "an upscaler (ESRGAN)", do: others},
		{tensor: "flownet.block0.conv0.0.0.weight", is: "a model that makes frames between others (RIFE)", do: others},
		// VAEs that no family supports; TestOthers has all of them.
		{tensor: "decoder.stages.0.0.main.conv.weight", is: "a DC-AE, as in Sana, which Tessera does not read", do: "`tessera models` lists the VAEs that it reads"},
		{tensor: "decoder.register_tokens", is: "the VAE of MiniMax-H3, which Tessera does not read", do: "`tessera models` lists the VAEs that it reads"},
		{tensor: "patchify_proj.weight", is: "the diffusion model of an LTX-Video before LTX-2, which Tessera does not read", do: "`tessera models` lists the VAEs that it reads"},
		// Latents.
		{tensor: "latent", shape: []int{16, 1, 2, 3}, is: "a latent of shape [16 1 2 3], expected a checkpoint", do: input},
		{tensor: "latent_tensor", shape: []int{1, 16, 1, 2, 3}, is: "a latent of shape [1 16 1 2 3], expected a checkpoint", do: input},
		{tensor: "latents_3x6x8_bfloat16", shape: []int{16, 3, 6, 8}, is: "a latent of shape [16 3 6 8], expected a checkpoint", do: input},
		// Unknown files.
		{tensor: "down_blocks.0.resnets.0.conv_shortcut.weight", is: "not a VAE that tessera knows: its 1 tensors match no model", do: "`tessera models` lists the models that it reads"},
		// Files of other formats.
		{text: "version https://git-lfs.github.com/spec/v1\noid sha256:20678548f420d98d26f11442d3528f8b8c94e57ee046ef93dbb7633da8612ca1\nsize 501324814\n", is: "a Git LFS pointer, which stands for the file of 501324814 bytes", do: "fetch the file itself, with git lfs pull, `tessera pull seedvr2`, or " + hub},
		{text: "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", is: "a Git LFS pointer, which stands for the file of 5 bytes", do: "fetch the file itself, with git lfs pull or from its page"},
		{text: "<!DOCTYPE html><html>", is: "a web page", do: page},
		{text: "<!DOCTYPE html><html>", name: "wan_2.1_vae.safetensors", is: "a web page", do: page + "; it is wan_2.1_vae.safetensors, 254 MB: `tessera pull wan2.1`, or "},
		{text: gguf("wan"), name: "wan2.1-t2v-Q4_K_M.gguf", is: "a GGUF file of the diffusion model of Wan 2.1 or Wan 2.2, expected a VAE", do: "take the VAE of its pipeline: Wan 2.1's is wan_2.1_vae.safetensors, 254 MB: `tessera pull wan2.1`; Wan 2.2's is "},
		{text: gguf("flux"), is: "a GGUF file of the diffusion model of FLUX.1, expected a VAE", do: flux},
		{text: gguf("x"), is: "a GGUF file, whose weights are quantised for other programs", do: "take the VAE's .safetensors or .pth"},
		{text: "<?xml version=\"1.0\"?><Error>", is: "an XML text, which servers send in place of a file", do: "download it again"},
		{text: "\x89PNG\r\n\x1a\n0000", is: "a picture", do: input},
		{text: "\x00\x00\x00\x20ftypisom00000", is: "a video", do: input},
		{text: "\x1f\x8b\x08", is: "a gzip archive", do: "unpack it"},
		{text: "\x93NUMPY\x01\x00", is: "a NumPy array, expected named tensors", do: "rename a latent to .npy"},
		{text: "Entry not found", is: `a text that begins with "Entry not found", not a safetensors file`, do: "servers send this in place of a file: download it again"},
		{text: `{"_class_name": "AutoencoderKLWan"}`, name: "config.json", is: "a JSON text, expected named tensors", do: "take the .safetensors or .pth beside it"},
		{text: strings.Repeat("\x00", 80), name: "ae.safetensors", is: "zeros at the start, as after an interrupted download", do: "download it again, ae.safetensors, 335 MB: `tessera pull flux`, or "},
		{text: "PK\x03\x04" + strings.Repeat("x", 100), name: "Wan2.1_VAE.pth", is: "cut short: it has 104 bytes, expected 507609880 as it is published", do: "download it again, Wan2.1_VAE.pth, 508 MB: `tessera pull wan2.1-f32`, or "},
		{text: "\x40\x00\x00\x00\x00\x00\x00\x00{", name: "sdxl_vae.safetensors", is: "cut short: it has 9 bytes, expected 334641164 as it is published", do: "download it again, sdxl_vae.safetensors, 335 MB: `tessera pull sdxl`, or "},
	} {
		path := filepath.Join(t.TempDir(), cmp.Or(c.name, "m.safetensors"))
		if c.tensor != "" {
			shape := c.shape
			if shape == nil {
				shape = []int{1}
			}
			require.NoError(t, os.Rename(fileOf(t, []safetensors.Spec{{Name: c.tensor, Shape: shape}}), path))
		} else {
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o666))
		}
		_, err := Inspect(path, gpu.Info{}, Settings{})
		require.ErrorIs(t, err, ErrBadModel, c.is)
		first, second, _ := strings.Cut(err.Error(), "\n")
		what := c.tensor + cmp.Or(c.name, c.is)
		assert.Contains(t, first, path+": is "+c.is, what)
		assert.True(t, strings.HasPrefix(second, c.do), "%s: %s", what, second)
		assert.NotContains(t, second, "\n", what)
		if c.tensor != "" && !strings.HasPrefix(c.tensor, "latent") {
			assert.NotContains(t, err.Error(), c.tensor)
			assert.Contains(t, known.Detail(err), c.tensor)
		}
	}
}

// An interrupted download reports how much of the file exists.
func TestCutCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vae.safetensors")
	require.NoError(t, synthetic.CreateKL(path, synthetic.KLConfig{Quant: true, DType: safetensors.F16}))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, info.Size()/2))
	_, err = Inspect(path, gpu.Info{}, Settings{})
	require.ErrorIs(t, err, ErrBadModel)
	require.ErrorContains(t, err, fmt.Sprintf("%s: is cut short: it has %d bytes, expected %d by its own header\ndownload it again", path, info.Size()/2, info.Size()))
}
