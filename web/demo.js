// The clip that comes with the page: its latent, and the original frames.

import { mosaic } from './stage.js';

/** @import {OpenClip} from './clips.js' */
/** @import {Source} from './source.js' */

/** The small model that comes with the page. */
export const checkpoint = 'tiny-seedvr2.safetensors';

/** Millions of its parameters, and of those of the full model. */
export const size = { n: 2.6, of: 250 };

const fps = 12; // the clip specifies no rate
const cell = 8; // pixels along a latent cell's side

/**
 * A part of the demo: latent frames from the first, and cells around the flower.
 * @typedef {{frames: number, height: number, width: number}} Part
 */

/** @type {Part} */
export const whole = { frames: 5, height: 32, width: 32 };

/** The part that a processor decodes within a minute: the whole first picture. @type {Part} */
export const small = { frames: 1, height: 32, width: 32 };

/**
 * Parses a part from an address: `?demo=2x8x8`.
 * @param {string|null} text
 * @returns {Part|undefined}
 */
export function parsePart(text) {
  const found = /^([1-5])x(\d\d?)x(\d\d?)$/.exec(text ?? '');
  if (!found) return undefined;
  const [frames, height, width] = found.slice(1).map(Number);
  return height >= 2 && height <= 32 && width >= 2 && width <= 32 ? { frames, height, width } : undefined;
}

/** The corner of a part in cells, centred on the flower as far as the frame allows. @param {Part} p */
function corner(p) {
  return { y: Math.max(0, Math.min(10 - (p.height >> 1), 32 - p.height)), x: Math.max(0, Math.min(9 - (p.width >> 1), 32 - p.width)) };
}

/**
 * The latent of a part, as a file whose numbers are computed on demand.
 * @param {Part} part
 * @returns {Source}
 */
export function latent(part) {
  const shape = [16, part.frames, part.height, part.width];
  const size = 4 * shape.reduce((n, d) => n * d);
  const header = safetensors(shape, size, {
    'tessera.kind': 'latent', 'tessera.scale': 'pipeline', 'tessera.fps': String(fps),
    'tessera.frames': String(4 * part.frames - 3),
    'tessera.height': String(cell * part.height), 'tessera.width': String(cell * part.width),
  });
  /** @type {Promise<Blob>|undefined} */ let whole;
  return {
    name: 'demo.safetensors', size: header.byteLength + size,
    async read(offset, length) {
      if (offset + length <= header.byteLength) return header.slice(offset, offset + length).buffer;
      whole ??= numbers(part).then((data) => new Blob([header, data]));
      whole.catch(() => { whole = undefined; });
      return (await whole).slice(offset, offset + length).arrayBuffer();
    },
  };
}

/** @param {Part} part */
async function numbers(part) {
  const data = await (await get('demo/latent.safetensors')).arrayBuffer();
  const n = Number(new DataView(data).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 8, n)));
  const [channels, frames, height, width] = header.latent.shape;
  const all = new Float32Array(data.slice(8 + n));
  const out = new Float32Array(channels * part.frames * part.height * part.width);
  const { y, x } = corner(part);
  let to = 0;
  for (let c = 0; c < channels; c++) {
    for (let t = 0; t < part.frames; t++) {
      for (let r = 0; r < part.height; r++, to += part.width) {
        const from = ((c * frames + t) * height + y + r) * width + x;
        out.set(all.subarray(from, from + part.width), to);
      }
    }
  }
  return out;
}

/**
 * The head of a file of one latent.
 * @param {number[]} shape
 * @param {number} size bytes of its numbers
 * @param {Record<string, string>} metadata
 */
function safetensors(shape, size, metadata) {
  let text = JSON.stringify({ __metadata__: metadata, latent: { dtype: 'F32', shape, data_offsets: [0, size] } });
  text = text.padEnd(Math.ceil(text.length / 8) * 8);
  const bytes = new Uint8Array(8 + text.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(new TextEncoder().encode(text), 8);
  return bytes;
}

/** @param {string} path */
async function get(path) {
  const response = await fetch(new URL(path, import.meta.url));
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
  return response;
}

/**
 * An original frame, cropped to the part.
 * @param {number} i
 * @param {Part} part
 */
async function frame(i, part) {
  const picture = await (await get(`demo/frame_${String(i).padStart(4, '0')}.png`)).blob();
  const { y, x } = corner(part);
  return createImageBitmap(picture, cell * x, cell * y, cell * part.width, cell * part.height,
    { colorSpaceConversion: 'none', premultiplyAlpha: 'none' });
}

/** A part's first frame in dark blocks, the background for its result. @param {Part} part */
export async function blocks(part) {
  const { data } = mosaic(await frame(0, part), part.width);
  return data.map((x, i) => (i % 4 === 3 ? x : 0.45 * x));
}

/**
 * The original frames of a part, read on demand.
 * @param {Part} part
 * @returns {OpenClip}
 */
export function clip(part) {
  /** @type {Map<number, Promise<Uint8ClampedArray<ArrayBuffer>>>} */
  const kept = new Map();
  const read = async (/** @type {number} */ i) => {
    const image = await frame(i, part);
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext('2d', { willReadFrequently: true }));
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height).data;
  };
  return {
    name: 'demo', frames: 4 * part.frames - 3, height: cell * part.height, width: cell * part.width, fps,
    async readFrame(i) {
      let pixels = kept.get(i);
      if (!pixels) kept.set(i, pixels = read(i));
      return new Uint8ClampedArray(await pixels);
    },
    close() {},
  };
}
