// Detects what a dropped or picked file is: a checkpoint, a latent, a picture or a
// video.

/** torch: a file of torch.save, which only the engine can read. @typedef {'checkpoint'|'latent'|'torch'|'picture'|'video'|'unknown'} Kind */

const pictures = /\.(png|jpe?g|webp|avif|gif|bmp)$/i;
const videos = /\.(mp4|m4v|mov|webm|mkv|ts|ogv)$/i;

/** A checkpoint has hundreds of tensors, a latent one or a few. */
const few = 8;

/**
 * @param {File} file
 * @returns {Promise<Kind>}
 */
export async function kindOf(file) {
  if (/\.(latent|np[yz])$/i.test(file.name)) return 'latent';
  if (/\.pth?$/i.test(file.name)) return 'torch';
  if (/\.safetensors$/i.test(file.name)) return (await tensors(file)) <= few ? 'latent' : 'checkpoint';
  if (file.type.startsWith('image/') || pictures.test(file.name)) return 'picture';
  if (file.type.startsWith('video/') || videos.test(file.name)) return 'video';
  return 'unknown';
}

/**
 * The number of tensors. If the header can't be read, a large number, so that the engine opens the file and reports
 * why.
 * @param {File} file
 */
async function tensors(file) {
  try {
    const n = Number(new DataView(await file.slice(0, 8).arrayBuffer()).getBigUint64(0, true));
    if (n > 100e6) return Infinity;
    const header = JSON.parse(await file.slice(8, 8 + n).text());
    return Object.keys(header).filter((name) => name !== '__metadata__').length;
  } catch {
    return Infinity;
  }
}
