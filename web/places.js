// Where checkpoints are published, as docs/models.md has it; a test compares them.

/**
 * Licence: undefined where it is only on the page that the link leads to.
 * @type {{model: string, file: string, from: string, size: number, licence?: string}[]}
 */
export const places = [
  { model: 'SeedVR2', file: 'ema_vae_fp16.safetensors', from: 'Comfy-Org/SeedVR2', size: 501324814, licence: 'Apache-2.0' },
  { model: 'SeedVR2', file: 'ema_vae.pth', from: 'ByteDance-Seed/SeedVR2-3B', size: 1002691902 },
  { model: 'Wan 2.1', file: 'Wan2.1_VAE.pth', from: 'Wan-AI/Wan2.1-T2V-1.3B', size: 507609880, licence: 'Apache-2.0' },
  { model: 'Wan 2.1', file: 'wan_2.1_vae.safetensors', from: 'Comfy-Org/Wan_2.1_ComfyUI_repackaged', size: 253815318 },
  { model: 'Wan 2.2', file: 'Wan2.2_VAE.pth', from: 'Wan-AI/Wan2.2-TI2V-5B', size: 2818839170, licence: 'Apache-2.0' },
  { model: 'Wan 2.2', file: 'wan2.2_vae.safetensors', from: 'Comfy-Org/Wan_2.2_ComfyUI_Repackaged', size: 1409400960 },
  { model: 'Qwen-Image', file: 'qwen_image_vae.safetensors', from: 'Comfy-Org/Qwen-Image_ComfyUI', size: 254e6, licence: 'Apache-2.0' },
  { model: 'Qwen-Image 2.1', file: 'qwen_image_2.1_vae_bf16.safetensors', from: 'Comfy-Org', size: 675509688 },
  { model: 'HunyuanVideo', file: 'hunyuan_video_vae_bf16.safetensors', from: 'Comfy-Org/HunyuanVideo_repackaged', size: 493e6 },
  { model: 'HunyuanVideo 1.5', file: 'hunyuanvideo15_vae_fp16.safetensors', from: 'Comfy-Org/HunyuanVideo_1.5_repackaged', size: 2521292758 },
  { model: 'HunyuanImage 2.1', file: 'hunyuan_image_2.1_vae_fp16.safetensors', from: 'Comfy-Org/HunyuanImage_2.1_ComfyUI', size: 811e6 },
  { model: 'LTX-2', file: 'LTX2_video_vae_bf16.safetensors', from: 'Kijai/LTXV2_comfy', size: 2445e6 },
  { model: 'LTX-2.3', file: 'LTX23_video_vae_bf16.safetensors', from: 'Kijai/LTX2.3_comfy', size: 1452e6 },
  { model: 'Mochi 1', file: 'mochi_vae.safetensors', from: 'Comfy-Org/mochi_preview_repackaged', size: 901153808 },
  { model: 'CogVideoX', file: 'vae/diffusion_pytorch_model.safetensors', from: 'zai-org/CogVideoX-5b', size: 431221142 },
  { model: 'Cosmos 1.0', file: 'cosmos_cv8x8x8_1.0.safetensors', from: 'comfyanonymous/cosmos_1.0_text_encoder_and_VAE_ComfyUI', size: 211e6 },
  { model: 'Stable Diffusion', file: 'vae-ft-mse-840000-ema-pruned.safetensors', from: 'stabilityai/sd-vae-ft-mse-original', size: 334641190 },
  { model: 'FLUX.2', file: 'flux2-vae.safetensors', from: 'Comfy-Org/flux2-dev', size: 336213556 },
  { model: 'TAEHV for Wan 2.1', file: 'taew2_1.safetensors', from: 'Kijai/WanVideo_comfy', size: 23e6 },
  { model: 'TAESD', file: 'diffusion_pytorch_model.safetensors', from: 'madebyollin/taesd', size: 9793292 },
];
