// Where checkpoints are published: the table of format/known, which `go test ./tests -run TestPlaces -update` writes.

/**
 * Licence: undefined where it is only on the page of the repository.
 * @type {{model: string, file: string, from: string, path: string, size: number, licence?: string}[]}
 */
export const places = [
  { model: 'SeedVR2', file: 'seedvr2_ema_vae_fp16.safetensors', from: 'Comfy-Org/SeedVR2', path: 'vae/seedvr2_ema_vae_fp16.safetensors', size: 501324814, licence: 'Apache-2.0' },
  { model: 'SeedVR2', file: 'ema_vae.pth', from: 'ByteDance-Seed/SeedVR2-3B', path: 'ema_vae.pth', size: 1002691902 },
  { model: 'Wan 2.1', file: 'wan_2.1_vae.safetensors', from: 'Comfy-Org/Wan_2.1_ComfyUI_repackaged', path: 'split_files/vae/wan_2.1_vae.safetensors', size: 253815318 },
  { model: 'Wan 2.1', file: 'Wan2.1_VAE.pth', from: 'Wan-AI/Wan2.1-T2V-1.3B', path: 'Wan2.1_VAE.pth', size: 507609880, licence: 'Apache-2.0' },
  { model: 'Wan 2.2', file: 'wan2.2_vae.safetensors', from: 'Comfy-Org/Wan_2.2_ComfyUI_Repackaged', path: 'split_files/vae/wan2.2_vae.safetensors', size: 1409400960 },
  { model: 'Wan 2.2', file: 'Wan2.2_VAE.pth', from: 'Wan-AI/Wan2.2-TI2V-5B', path: 'Wan2.2_VAE.pth', size: 2818839170, licence: 'Apache-2.0' },
  { model: 'Qwen-Image', file: 'qwen_image_vae.safetensors', from: 'Comfy-Org/Qwen-Image_ComfyUI', path: 'split_files/vae/qwen_image_vae.safetensors', size: 254e6, licence: 'Apache-2.0' },
  { model: 'Qwen-Image 2.1', file: 'qwen_image_2.1_vae_bf16.safetensors', from: 'Comfy-Org/Qwen-Image-2.1', path: 'vae/qwen_image_2.1_vae_bf16.safetensors', size: 675509688 },
  { model: 'HunyuanVideo', file: 'hunyuan_video_vae_bf16.safetensors', from: 'Comfy-Org/HunyuanVideo_repackaged', path: 'split_files/vae/hunyuan_video_vae_bf16.safetensors', size: 493e6 },
  { model: 'HunyuanVideo 1.5', file: 'hunyuanvideo15_vae_fp16.safetensors', from: 'Comfy-Org/HunyuanVideo_1.5_repackaged', path: 'split_files/vae/hunyuanvideo15_vae_fp16.safetensors', size: 2521292758 },
  { model: 'HunyuanImage 2.1', file: 'hunyuan_image_2.1_vae_fp16.safetensors', from: 'Comfy-Org/HunyuanImage_2.1_ComfyUI', path: 'split_files/vae/hunyuan_image_2.1_vae_fp16.safetensors', size: 811e6 },
  { model: 'LTX-2', file: 'LTX2_video_vae_bf16.safetensors', from: 'Kijai/LTXV2_comfy', path: 'VAE/LTX2_video_vae_bf16.safetensors', size: 2445e6 },
  { model: 'LTX-2.3', file: 'LTX23_video_vae_bf16.safetensors', from: 'Kijai/LTX2.3_comfy', path: 'vae/LTX23_video_vae_bf16.safetensors', size: 1452e6 },
  { model: 'Mochi 1', file: 'mochi_vae.safetensors', from: 'Comfy-Org/mochi_preview_repackaged', path: 'split_files/vae/mochi_vae.safetensors', size: 901e6 },
  { model: 'CogVideoX', file: 'diffusion_pytorch_model.safetensors', from: 'zai-org/CogVideoX-5b', path: 'vae/diffusion_pytorch_model.safetensors', size: 431221142 },
  { model: 'Cosmos 1.0', file: 'cosmos_cv8x8x8_1.0.safetensors', from: 'comfyanonymous/cosmos_1.0_text_encoder_and_VAE_ComfyUI', path: 'vae/cosmos_cv8x8x8_1.0.safetensors', size: 211e6 },
  { model: 'Stable Diffusion', file: 'vae-ft-mse-840000-ema-pruned.safetensors', from: 'stabilityai/sd-vae-ft-mse-original', path: 'vae-ft-mse-840000-ema-pruned.safetensors', size: 334641190 },
  { model: 'SDXL', file: 'sdxl_vae.safetensors', from: 'stabilityai/sdxl-vae', path: 'sdxl_vae.safetensors', size: 334641164 },
  { model: 'Stable Diffusion 3', file: 'diffusion_pytorch_model.safetensors', from: 'stabilityai/stable-diffusion-3.5-large', path: 'vae/diffusion_pytorch_model.safetensors', size: 167666902 },
  { model: 'FLUX.1', file: 'ae.safetensors', from: 'Comfy-Org/Lumina_Image_2.0_Repackaged', path: 'split_files/vae/ae.safetensors', size: 335304388 },
  { model: 'FLUX.2', file: 'flux2-vae.safetensors', from: 'Comfy-Org/flux2-dev', path: 'split_files/vae/flux2-vae.safetensors', size: 336213556 },
  { model: 'TAEHV for Wan 2.1', file: 'taew2_1.safetensors', from: 'Kijai/WanVideo_comfy', path: 'taew2_1.safetensors', size: 23e6 },
  { model: 'TAESD', file: 'diffusion_pytorch_model.safetensors', from: 'madebyollin/taesd', path: 'diffusion_pytorch_model.safetensors', size: 9793292 },
];
