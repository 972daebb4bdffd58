//go:build !first

package known

// kinds are recognised by the names of tensors. The first that fits counts: a LoRA has
// names of the model that it changes, and MoVQ has norms with K-VAE's names.
var kinds = []Kind{
	// VAEs that no family supports.

	// HunyuanVideo 1.5's norms and names in the encoder, with other samplers.
	{Is: "Kandinsky 6's super-resolution VAE", tensors: []string{"encoder.down.*.downsample.spatial_conv.", "decoder.up.*.upsample.spatial_conv."}, like: "hunyuanvideo1.5", unread: true},
	// AutoencoderKL's networks, with a codebook between them.
	{Is: "a VQ model (VQGAN, MoVQ)", tensors: []string{"quantize.", "vquantizer."}, like: "kl", unread: true},
	// AutoencoderKL's encoder, with another downsampler.
	{Is: "a K-VAE of Kandinsky", tensors: []string{"decoder.mid.block_1.norm1.conv_y.", "encoder.down.0.downsample.linear.", ".norm1.conv_y."}, like: "kl", unread: true},
	{Is: "VidTok's VAE", tensors: []string{"decoder.up_temporal.", "encoder.down_temporal."}, unread: true},
	// AutoencoderKL's encoder, and a decoder with layers over time between
	// AutoencoderKL's.
	{Is: "the VAE of Stable Video Diffusion", tensors: []string{"decoder.time_conv_out.", "decoder.*.time_stack.", "decoder.*.mix_factor", "decoder.*.temporal_res_block."}, like: "kl", unread: true},
	// AutoencoderKL, and a network that reads a mask.
	{Is: "an AsymmetricAutoencoderKL", tensors: []string{"decoder.condition_encoder."}, like: "kl", unread: true},
	// AutoencoderKL's layers, with layers over time between them.
	{Is: "Allegro's VAE", tensors: []string{"decoder.temp_conv_in.", "encoder.temp_conv_in."}, like: "kl", unread: true},
	// AutoencoderKL's encoder, and a diffusion model.
	{Is: "the consistency decoder of DALL·E 3", tensors: []string{"decoder_unet."}, like: "kl", unread: true},
	// AutoencoderKL for spectrograms.
	{Is: "AudioLDM's VAE, for sound", tensors: []string{"encoder.conv_in.weight"}, shape: []int{0, 1, 0, 0}, like: "kl", unread: true},
	{Is: "AudioLDM's VAE, for sound", tensors: []string{"decoder.conv_out.weight"}, shape: []int{1, 0, 0, 0}, like: "kl", unread: true},
	// LTX-2's layers and names, with others.
	{Is: "an LTX-Video VAE before LTX-2, with time steps", tensors: []string{
		"decoder.timestep_scale_multiplier", "decoder.last_time_embedder.", "decoder.last_scale_shift_table", "decoder.time_embedder.", "decoder.*.time_embedder.", ".scale_shift_table",
	}, like: "ltx2", unread: true},
	{Is: "an LTX-Video VAE before LTX-2, with noise in its layers", tensors: []string{"decoder.*.per_channel_scale", ".per_channel_scale"}, like: "ltx2", unread: true},
	{Is: "an LTX-Video VAE before LTX-2, with shortcuts", tensors: []string{".norm3.", ".conv_shortcut."}, like: "ltx2", unread: true},
	{Is: "LTX-2.5's diffusion decoder", tensors: []string{"decoder.det_stages.", "decoder.diff_blocks."}, unread: true},
	{Is: "EasyAnimate's VAE", tensors: []string{"decoder.up_blocks.0.convs.", "encoder.down_blocks.0.convs."}, unread: true},
	{Is: "the VAE of MiniMax-H3", tensors: []string{"decoder.transformer_blocks.", "decoder.register_tokens"}, unread: true},
	{Is: "a DC-AE, as in Sana", tensors: []string{"decoder.stages.", "encoder.stages.", "decoder.project_in.", "encoder.project_in.", "decoder.up_blocks.0.0.", "encoder.down_blocks.0.0."}, unread: true},
	{Is: "Mage's VAE", tensors: []string{"student.dconv_encoder.", "encoder.patch_cond_embed.", "decoder.y_embedder."}, unread: true},
	{Is: "an RAE", tensors: []string{"decoder.decoder_layers.", "decoder.decoder_embed.", "decoder.trainable_cls_token"}, unread: true},
	{Is: "Wan-Alpha's change of Wan 2.1's VAE", tensors: []string{"vae_fgr.decoder.", "vae_pha.decoder."}, unread: true},
	{Is: "LTX-2's VAE for sound", tensors: []string{"decoder.conv_in.conv.weight", "encoder.conv_in.conv.weight"}, shape: []int{0, 0, 0, 0}, unread: true},
	// Convolutions along one axis.
	{Is: "a VAE or vocoder for sound", tensors: []string{"*.weight_v", "*.parametrizations.weight.original1", "decoder.conv_in.weight", "decoder.conv_in.conv.weight"}, shape: []int{0, 0, 0}, unread: true},
	// Last of the VAEs, because other models have this name too.
	{Is: "an LTX-Video VAE before LTX-2", tensors: []string{"decoder.mid_block.resnets.0.conv1.conv."}, unread: true},

	// Changes of diffusion models, by the trainers' names: kohya's have _ instead of
	// points.
	{Is: "a LoRA for Wan 2.2 TI2V-5B", tensors: []string{"*blocks.0.self_attn.q.lora_A.", "*blocks.0.self_attn.q.lora_down.", "*unet_blocks_0_self_attn_q.lora_down."}, shape: []int{0, 3072}, takes: "wan2.2"},
	{Is: "a LoRA for Wan", tensors: []string{"*blocks.0.self_attn.q.lora_", "*unet_blocks_0_self_attn_q.lora_"}, takes: "wan2.1"},
	{Is: "a LoRA for Qwen-Image", tensors: []string{"*transformer_blocks.0.img_mlp.net.0.proj.lora_", "*transformer_blocks_0_img_mlp_net_0_proj.lora_", "*transformer_blocks.0.img_mod.1.lora_"}, takes: "qwen-image"},
	{Is: "a LoRA for HunyuanVideo", tensors: []string{"*double_blocks.0.img_attn_qkv.lora_"}, takes: "hunyuanvideo"},
	{Is: "a LoRA for FLUX.1 or HunyuanVideo", tensors: []string{"*double_blocks_0_img_attn_qkv"}, takes: "flux hunyuanvideo"},
	{Is: "a LoRA for FLUX.1", tensors: []string{"*double_blocks.0.img_attn.qkv.lora_", "*single_transformer_blocks.0.attn.to_q.lora_"}, takes: "flux"},
	{Is: "a LoRA for SDXL", tensors: []string{"lora_te2_", "lora_unet_input_blocks_4_1_transformer_blocks_1_", "lora_unet_down_blocks_1_attentions_0_transformer_blocks_1_"}, takes: "sdxl"},
	{Is: "a LoRA for Stable Diffusion", tensors: []string{"lora_unet_down_blocks_0_attentions_0_"}, takes: "sd"},
	{Is: "a LoRA", tensors: []string{"*.lora_A.", "*.lora_B.", "*.lora_down.", "*.lora_up.", "*.hada_w1_a", "*.lokr_w1", "*.dora_scale"}},
	{Is: "a ControlNet", tensors: []string{"controlnet_blocks.", "controlnet_down_blocks.", "control_model.", "input_hint_block.", "controlnet_cond_embedding."}},
	{Is: "an IP-Adapter", tensors: []string{"ip_adapter.", "image_proj."}},
	{Is: "AnimateDiff's motion module", tensors: []string{"down_blocks.0.motion_modules."}, takes: "sd"},

	// Diffusion models, by their authors' names, which ComfyUI uses too, and by
	// diffusers'.
	{Is: "the diffusion model of Wan 2.2 TI2V-5B", tensors: []string{"patch_embedding.weight"}, shape: []int{0, 48, 1, 2, 2}, takes: "wan2.2"},
	{Is: "the diffusion model of Wan 2.1 or Wan 2.2 A14B", tensors: []string{"blocks.0.self_attn.q.", "condition_embedder.text_embedder."}, takes: "wan2.1"},
	{Is: "the diffusion model of SeedVR2", tensors: []string{"vid_in.proj.", "blocks.0.attn.proj_qkv.vid.", "blocks.0.ada.txt."}, takes: "seedvr2"},
	{Is: "the diffusion model of Qwen-Image", tensors: []string{"transformer_blocks.0.img_mod."}, takes: "qwen-image"},
	{Is: "the diffusion model of FLUX.2", tensors: []string{"double_stream_modulation_img."}, takes: "flux2"},
	{Is: "the diffusion model of Chroma", tensors: []string{"distilled_guidance_layer."}, takes: "flux"},
	{Is: "the diffusion model of HunyuanVideo 1.5", tensors: []string{"vision_in.proj."}, takes: "hunyuanvideo1.5"},
	{Is: "the diffusion model of HunyuanImage 2.1", tensors: []string{"byt5_in."}, takes: "hunyuanimage2.1"},
	{Is: "the diffusion model of HunyuanVideo", tensors: []string{"double_blocks.0.img_attn_qkv.", "txt_in.individual_token_refiner.", "context_embedder.token_refiner."}, takes: "hunyuanvideo"},
	{Is: "the diffusion model of FLUX.1", tensors: []string{"double_blocks.0.img_attn.qkv.", "double_blocks.0.img_attn.norm.", "single_transformer_blocks.0."}, takes: "flux"},
	{Is: "the diffusion model of Stable Diffusion 3", tensors: []string{"joint_blocks.0.", "transformer_blocks.0.ff_context."}, takes: "sd3"},
	{Is: "the diffusion model of LTX-2 or LTX-2.3", tensors: []string{"transformer_blocks.0.audio_attn1.", "audio_patchify_proj.", "audio_adaln_single."}, takes: "ltx2 ltx2.3"},
	{Is: "the diffusion model of an LTX-Video before LTX-2", tensors: []string{"patchify_proj."}, unread: true},
	{Is: "the diffusion model of Mochi 1", tensors: []string{"blocks.0.attn.qkv_x.", "t5_yproj."}, takes: "mochi1"},
	{Is: "the diffusion model of CogVideoX", tensors: []string{"patch_embed.text_proj."}, takes: "cogvideox-5b"},
	{Is: "the diffusion model of Cosmos 1.0", tensors: []string{"blocks.block0.blocks.0."}, takes: "cosmos1"},
	{Is: "the diffusion model of Anima", tensors: []string{"llm_adapter.blocks."}, takes: "qwen-image"},
	{Is: "the diffusion model of Cosmos Predict 2", tensors: []string{"blocks.0.adaln_modulation_self_attn."}, takes: "wan2.1"},
	{Is: "the diffusion model of HiDream-I1", tensors: []string{"double_stream_blocks.0.block."}, takes: "flux"},
	{Is: "the diffusion model of Lumina 2 or Z-Image", tensors: []string{"noise_refiner.0."}, takes: "flux"},
	{Is: "the diffusion model of AuraFlow", tensors: []string{"double_layers.0."}, takes: "sdxl"},
	{Is: "the diffusion model of Kandinsky 5", tensors: []string{"visual_transformer_blocks."}, takes: "hunyuanvideo flux"},
	{Is: "the diffusion model of Sana", tensors: []string{"transformer_blocks.0.ff.conv_inverted."}, unread: true},
	{Is: "the U-Net of SDXL", tensors: []string{"label_emb.0.0.", "add_embedding.linear_1."}, takes: "sdxl"},
	{Is: "the U-Net of Stable Diffusion", tensors: []string{"input_blocks.0.0.", "down_blocks.0.attentions.0.transformer_blocks."}, takes: "sd"},
	{Is: "a diffusion model", tensors: []string{"double_blocks.0.", "transformer_blocks.0.", "single_blocks.0."}},

	// Text encoders, and other models that accompany them.
	{Is: "UMT5, the text encoder of Wan", tensors: []string{"shared.weight", "token_embedding.weight"}, shape: []int{256384, 0}, takes: "wan2.1"},
	{Is: "T5, a text encoder", tensors: []string{"encoder.block.0.layer.0.SelfAttention."}},
	{Is: "CLIP, a text encoder", tensors: []string{"text_model.encoder.layers.", "transformer.resblocks.0."}},
	{Is: "an image encoder (CLIP, SigLIP)", tensors: []string{"vision_model.encoder.layers.", "visual.transformer."}},
	{Is: "Qwen3-VL, a text encoder of Qwen-Image 2.1", tensors: []string{"visual.deepstack_merger_list."}, takes: "qwen-image-2.1"},
	{Is: "Qwen2.5-VL, a text encoder of Qwen-Image and HunyuanVideo 1.5", tensors: []string{"visual.blocks.0."}, takes: "qwen-image hunyuanvideo1.5"},
	{Is: "a language model, which pipelines have as a text encoder", tensors: []string{"layers.0.self_attn.q_proj.", "layers.0.self_attn.qkv_proj."}},
	{Is: "an embedding (textual inversion)", tensors: []string{"emb_params", "clip_g", "clip_l"}, shape: []int{0, 0}},
	{Is: "an upscaler (ESRGAN)", tensors: []string{"body.0.rdb1.", "model.1.sub.0.", "RRDB_trunk.0."}},
	{Is: "a model that makes frames between others (RIFE)", tensors: []string{"flownet.block0.", "block0.conv0.0."}},
}

// architectures are the values of general.architecture in GGUF files, with the VAEs of
// their pipelines.
var architectures = map[string]Kind{
	"wan":          {Is: "the diffusion model of Wan 2.1 or Wan 2.2", takes: "wan2.1 wan2.2"},
	"flux":         {Is: "the diffusion model of FLUX.1", takes: "flux"},
	"qwen_image":   {Is: "the diffusion model of Qwen-Image", takes: "qwen-image"},
	"qwen_image21": {Is: "the diffusion model of Qwen-Image 2.1", takes: "qwen-image-2.1"},
	"sd1":          {Is: "the U-Net of Stable Diffusion", takes: "sd"},
	"sdxl":         {Is: "the U-Net of SDXL", takes: "sdxl"},
	"sd3":          {Is: "the diffusion model of Stable Diffusion 3", takes: "sd3"},
	"hyvid":        {Is: "the diffusion model of HunyuanVideo", takes: "hunyuanvideo hunyuanvideo1.5"},
	"cosmos":       {Is: "the diffusion model of Cosmos", takes: "cosmos1 wan2.1"},
	"hidream":      {Is: "the diffusion model of HiDream-I1", takes: "flux"},
	"lumina2":      {Is: "the diffusion model of Lumina 2 or Z-Image", takes: "flux"},
	"aura":         {Is: "the diffusion model of AuraFlow", takes: "sdxl"},
	"t5":           {Is: "T5, a text encoder"},
	"t5encoder":    {Is: "T5, a text encoder"},
	"llama":        {Is: "a language model"},
	"qwen2vl":      {Is: "Qwen2.5-VL, a text encoder of Qwen-Image and HunyuanVideo 1.5", takes: "qwen-image hunyuanvideo1.5"},
	"qwen3vl":      {Is: "Qwen3-VL, a text encoder of Qwen-Image 2.1", takes: "qwen-image-2.1"},
}
