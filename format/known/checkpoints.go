//go:build !first

package known

// Checkpoints are the checkpoints that pull downloads, one or more per family. Sizes and
// hashes come from public listings; docs/reference/models.md lists other files that
// Tessera reads.
var Checkpoints = []Checkpoint{
	{Name: "seedvr2", Model: "SeedVR2", Repo: "Comfy-Org/SeedVR2", Path: "vae/seedvr2_ema_vae_fp16.safetensors", Size: 501_324_814, SHA256: "20678548f420d98d26f11442d3528f8b8c94e57ee046ef93dbb7633da8612ca1", Licence: "Apache-2.0"},
	{Name: "seedvr2-f32", Model: "SeedVR2", Repo: "ByteDance-Seed/SeedVR2-3B", Path: "ema_vae.pth", Size: 1_002_691_902, SHA256: "c7df8a67e68b7f9aca3d5d2153d2ce8ab4373687741a0f9ce87cb356ace51cac"},
	{Name: "wan2.1", Model: "Wan 2.1", Repo: "Comfy-Org/Wan_2.1_ComfyUI_repackaged", Path: "split_files/vae/wan_2.1_vae.safetensors", Size: 253_815_318, SHA256: "2fc39d31359a4b0a64f55876d8ff7fa8d780956ae2cb13463b0223e15148976b"},
	{Name: "wan2.1-f32", Model: "Wan 2.1", Repo: "Wan-AI/Wan2.1-T2V-1.3B", Path: "Wan2.1_VAE.pth", Size: 507_609_880, SHA256: "38071ab59bd94681c686fa51d75a1968f64e470262043be31f7a094e442fd981", Licence: "Apache-2.0"},
	{Name: "wan2.2", Model: "Wan 2.2", Repo: "Comfy-Org/Wan_2.2_ComfyUI_Repackaged", Path: "split_files/vae/wan2.2_vae.safetensors", Size: 1_409_400_960, SHA256: "e40321bd36b9709991dae2530eb4ac303dd168276980d3e9bc4b6e2b75fed156"},
	{Name: "wan2.2-f32", Model: "Wan 2.2", Repo: "Wan-AI/Wan2.2-TI2V-5B", Path: "Wan2.2_VAE.pth", Size: 2_818_839_170, SHA256: "20eb789667fa5e60e7516bf509512f6cb61f01b0aa0695eadaea930c13892b36", Licence: "Apache-2.0"},
	{Name: "qwen-image", Model: "Qwen-Image", Repo: "Comfy-Org/Qwen-Image_ComfyUI", Path: "split_files/vae/qwen_image_vae.safetensors", Size: 254e6, About: true, Licence: "Apache-2.0"},
	{Name: "qwen-image-2.1", Model: "Qwen-Image 2.1", Repo: "Comfy-Org/Qwen-Image-2.1", Path: "vae/qwen_image_2.1_vae_bf16.safetensors", Size: 675_509_688, SHA256: "bb21f7473051e1ac368515dd3f2e15cd44d7a11748ee8823e1ddca3e4876b7c9"},
	{Name: "hunyuanvideo", Model: "HunyuanVideo", Repo: "Comfy-Org/HunyuanVideo_repackaged", Path: "split_files/vae/hunyuan_video_vae_bf16.safetensors", Size: 493e6, About: true},
	{Name: "hunyuanvideo1.5", Model: "HunyuanVideo 1.5", Repo: "Comfy-Org/HunyuanVideo_1.5_repackaged", Path: "split_files/vae/hunyuanvideo15_vae_fp16.safetensors", Size: 2_521_292_758, SHA256: "e7c3091949c27e2d"},
	{Name: "hunyuanimage2.1", Model: "HunyuanImage 2.1", Repo: "Comfy-Org/HunyuanImage_2.1_ComfyUI", Path: "split_files/vae/hunyuan_image_2.1_vae_fp16.safetensors", Size: 811e6, About: true},
	{Name: "ltx2", Model: "LTX-2", Repo: "Kijai/LTXV2_comfy", Path: "VAE/LTX2_video_vae_bf16.safetensors", Size: 2445e6, About: true},
	{Name: "ltx2.3", Model: "LTX-2.3", Repo: "Kijai/LTX2.3_comfy", Path: "vae/LTX23_video_vae_bf16.safetensors", Size: 1452e6, About: true},
	{Name: "mochi1", Model: "Mochi 1", Repo: "Comfy-Org/mochi_preview_repackaged", Path: "split_files/vae/mochi_vae.safetensors", Size: 901e6, About: true},
	{Name: "cogvideox-5b", Model: "CogVideoX", Repo: "zai-org/CogVideoX-5b", Path: "vae/diffusion_pytorch_model.safetensors", File: "cogvideox-5b_vae.safetensors", Size: 431_221_142},
	{Name: "cosmos1", Model: "Cosmos 1.0", Repo: "comfyanonymous/cosmos_1.0_text_encoder_and_VAE_ComfyUI", Path: "vae/cosmos_cv8x8x8_1.0.safetensors", Size: 211e6, About: true},
	{Name: "sd", Model: "Stable Diffusion", Repo: "stabilityai/sd-vae-ft-mse-original", Path: "vae-ft-mse-840000-ema-pruned.safetensors", Size: 334_641_190, SHA256: "735e4c3a447a3255"},
	{Name: "sdxl", Model: "SDXL", Repo: "stabilityai/sdxl-vae", Path: "sdxl_vae.safetensors", Size: 334_641_164, SHA256: "63aeecb90ff7bc1c"},
	{Name: "sd3", Model: "Stable Diffusion 3", Repo: "stabilityai/stable-diffusion-3.5-large", Path: "vae/diffusion_pytorch_model.safetensors", File: "sd3.5_vae.safetensors", Size: 167_666_902, SHA256: "8f53304a79335b55"},
	{Name: "flux", Model: "FLUX.1", Repo: "Comfy-Org/Lumina_Image_2.0_Repackaged", Path: "split_files/vae/ae.safetensors", Size: 335_304_388, SHA256: "afc8e28272cd15db"},
	{Name: "flux2", Model: "FLUX.2", Repo: "Comfy-Org/flux2-dev", Path: "split_files/vae/flux2-vae.safetensors", Size: 336_213_556, SHA256: "d64f3a68e1cc4f9f"},
	{Name: "taew2_1", Model: "TAEHV for Wan 2.1", Repo: "Kijai/WanVideo_comfy", Path: "taew2_1.safetensors", Size: 23e6, About: true},
	{Name: "taesd", Model: "TAESD", Repo: "madebyollin/taesd", Path: "diffusion_pytorch_model.safetensors", File: "taesd.safetensors", Size: 9_793_292},
}
