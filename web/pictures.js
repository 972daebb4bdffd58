// Pictures that can be shown without an engine: the frames of a clip before it is
// encoded, and a latent's channels side by side.

/** @import {OpenClip} from './clips.js' */

/**
 * @typedef {object} Pictures
 * @property {number} count
 * @property {number} height
 * @property {number} width
 * @property {number} fps
 * @property {(i: number) => Promise<Uint8ClampedArray<ArrayBuffer>>} get frame i, [H, W, 4]
 * @property {(i: number) => Uint8ClampedArray<ArrayBuffer>|undefined} now frame i if it is available without waiting
 */

/** @param {OpenClip} clip @returns {Pictures} */
export function ofClip(clip) {
  return {
    count: clip.frames, height: clip.height, width: clip.width, fps: clip.fps || 24,
    get: (i) => (clip.look ?? clip.readFrame)(i), now: () => undefined,
  };
}

/** A latent in memory; strides locate number (c, t, y, x). @typedef {{values: Float32Array, strides: number[]}} Numbers */

/** Larger latents are not shown. */
const most = 64 << 20;

const gap = 2; // pixels between channels
const across = 512; // approximate width of all channels in pixels
const fps = 6; // of latent frames

/** Makes a picture opaque, as a model of 3 channels sees it. @param {Uint8ClampedArray<ArrayBuffer>} rgba */
export function opaque(rgba) {
  for (let i = 3; i < rgba.length; i += 4) rgba[i] = 255;
  return rgba;
}

/**
 * The channels of a latent, each in grays of its range; undefined for a file that this page can't read.
 * @param {Blob} file
 * @param {number[]} shape [C, T, h, w], from the engine
 * @returns {Promise<Pictures|undefined>}
 */
export async function ofLatent(file, shape) {
  const numbers = file.size <= most ? await read(file, shape).catch(() => undefined) : undefined;
  if (!numbers) return undefined;
  const [channels, count, h, w] = shape;
  const columns = divisor(channels, Math.sqrt((channels * h) / w));
  const rows = channels / columns;
  const scale = Math.max(1, Math.floor(across / (columns * w)));
  const width = columns * (w * scale + gap) - gap;
  const height = rows * (h * scale + gap) - gap;
  const ranges = Array.from({ length: channels }, (_, c) => range(numbers, c, shape));
  const draw = (/** @type {number} */ t) => {
    const rgba = new Uint8ClampedArray(4 * height * width);
    for (let c = 0; c < channels; c++) {
      const top = Math.floor(c / columns) * (h * scale + gap);
      const left = (c % columns) * (w * scale + gap);
      channel(rgba, width, top, left, scale, [h, w], (y, x) => ranges[c](at(numbers, c, t, y, x)));
    }
    return rgba;
  };
  return { count, height, width, fps, get: async (i) => draw(i), now: draw };
}

/**
 * The divisor of n whose ratio to the wanted number is closest to 1.
 * @param {number} n
 * @param {number} wanted
 */
function divisor(n, wanted) {
  const all = Array.from({ length: n }, (_, i) => i + 1).filter((d) => n % d === 0);
  const far = (/** @type {number} */ d) => Math.abs(Math.log(d / wanted));
  return all.reduce((a, b) => (far(b) < far(a) ? b : a));
}

/**
 * Draws one channel in squares.
 * @param {Uint8ClampedArray} rgba
 * @param {number} width
 * @param {number} top
 * @param {number} left
 * @param {number} scale
 * @param {[number, number]} size in cells
 * @param {(y: number, x: number) => number} gray
 */
function channel(rgba, width, top, left, scale, [h, w], gray) {
  for (let y = 0; y < h * scale; y++) {
    for (let x = 0; x < w * scale; x++) {
      const g = gray(Math.floor(y / scale), Math.floor(x / scale));
      rgba.set([g, g, g, 255], 4 * ((top + y) * width + left + x));
    }
  }
}

/**
 * @param {Numbers} n
 * @param {number} c
 * @param {number} t
 * @param {number} y
 * @param {number} x
 */
function at({ values, strides: [sc, st, sy, sx] }, c, t, y, x) {
  return values[c * sc + t * st + y * sy + x * sx];
}

/**
 * Converts a number of channel c to gray: black and white are three deviations from its mean.
 * @param {Numbers} n
 * @param {number} c
 * @param {number[]} shape
 */
function range(n, c, [, count, h, w]) {
  let sum = 0;
  let squares = 0;
  for (let t = 0; t < count; t++) {
    for (let y = 0; y < h; y++) {
      for (let x = 0; x < w; x++) {
        const v = at(n, c, t, y, x);
        sum += v;
        squares += v * v;
      }
    }
  }
  const mean = sum / (count * h * w);
  const deviation = Math.sqrt(Math.max(1e-12, squares / (count * h * w) - mean * mean));
  return (/** @type {number} */ v) => 128 + (127 * (v - mean)) / (3 * deviation);
}

/**
 * The numbers of a latent file.
 * @param {Blob & {name?: string}} file
 * @param {number[]} shape
 * @returns {Promise<Numbers|undefined>}
 */
async function read(file, shape) {
  const bytes = await file.arrayBuffer();
  const npy = new Uint8Array(bytes, 0, 6)[0] === 0x93;
  const { dims, type, from } = npy ? npyHeader(bytes) : safetensorsHeader(bytes);
  const [c, t, h, w] = shape;
  const squeezed = dims.length > 4 && dims[0] === 1 ? dims.slice(1) : dims;
  /** @type {[number[], number[]][]} */
  const layouts = [
    [[c, t, h, w], [t * h * w, h * w, w, 1]], [[t, h, w, c], [1, h * w * c, w * c, c]],
    [[t, c, h, w], [h * w, c * h * w, w, 1]], [[c, h, w], [h * w, 0, w, 1]],
    [[1, c * t, h, w], [t * h * w, h * w, w, 1]], // ComfyUI's samplers write SeedVR2's latents so
  ];
  if (/\.latent$/i.test(file.name ?? '')) layouts.unshift(layouts.splice(2, 1)[0]); // batches first
  const found = layouts.find(([d]) => String(d) === String(squeezed));
  if (!found) return undefined;
  return { values: floats(bytes, from, c * t * h * w, type), strides: found[1] };
}

/** A header: where the numbers begin, their dimensions and type. @typedef {{dims: number[], type: string, from: number}} Header */

/** @param {ArrayBuffer} bytes @returns {Header} */
function safetensorsHeader(bytes) {
  const n = Number(new DataView(bytes).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, n)));
  const names = Object.keys(header).filter((k) => k !== '__metadata__');
  const name = ['latent', 'latent_tensor', 'latents', 'samples'].find((k) => k in header) ?? names.find((k) => /^latents_\d/.test(k)) ?? names[0] ?? '';
  const { shape, dtype, data_offsets: [first] } = header[name];
  return { dims: shape, type: dtype, from: 8 + n + first };
}

/** @param {ArrayBuffer} bytes @returns {Header} */
function npyHeader(bytes) {
  const view = new DataView(bytes);
  const old = view.getUint8(6) === 1;
  const n = old ? view.getUint16(8, true) : view.getUint32(8, true);
  const from = (old ? 10 : 12) + n;
  const text = new TextDecoder('latin1').decode(new Uint8Array(bytes, from - n, n));
  const type = /** @type {Record<string, string>} */ ({ '<f4': 'F32', '<f2': 'F16' })[/'descr':\s*'([^']*)'/.exec(text)?.[1] ?? ''];
  if (!type || !/'fortran_order':\s*False/.test(text)) throw new Error('not understood here');
  const dims = /'shape':\s*\(([^)]*)\)/.exec(text)?.[1].split(',').filter((d) => d.trim()).map(Number) ?? [];
  return { dims, type, from };
}

/**
 * @param {ArrayBuffer} bytes
 * @param {number} from
 * @param {number} count
 * @param {string} type
 */
function floats(bytes, from, count, type) {
  if (type === 'F32') return new Float32Array(bytes.slice(from, from + 4 * count));
  const halves = new Uint16Array(bytes.slice(from, from + 2 * count));
  if (type === 'BF16') return new Float32Array(Uint32Array.from(halves, (h) => h << 16).buffer);
  if (type === 'F16') return Float32Array.from(halves, half);
  throw new Error(`${type} is not understood here`);
}

/** @param {number} h bits of a half */
function half(h) {
  const exponent = (h >> 10) & 31;
  const fraction = h & 1023;
  const size = exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024);
  return h & 0x8000 ? -size : size;
}
