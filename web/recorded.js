// The picture before any computation: the demo clip as decoded by the program, with its
// originals. tests/web/recorded_test.go writes the files.

import { Frames } from './frames.js';
import { newOutcome } from './outcome.js';

/** @import {Outcome} from './outcome.js' */

const count = 17;
const size = 256; // pixels along a side
const fps = 12;

/** @type {Promise<Outcome>|undefined} */ let loading;

/** The recording, in the form of a job's outcome. @returns {Promise<Outcome>} */
export function recorded() {
  loading ??= load();
  loading.catch(() => { loading = undefined; });
  return loading;
}

async function load() {
  const [decoded, original, quality] = await Promise.all([
    cut('recorded/decoded.webp'), cut('recorded/original.webp'), get('recorded/quality.json').then((r) => r.json()),
  ]);
  const frames = new Frames(count, size, size, fps);
  decoded.forEach((rgba, i) => frames.put(i, rgba));
  return {
    ...newOutcome('demo-recorded'), recorded: true, tiny: true, frames, pictures: frames, quality,
    originals: async (/** @type {number} */ i) => original[i],
  };
}

/** @param {string} path */
async function get(path) {
  const response = await fetch(new URL(path, import.meta.url));
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
  return response;
}

/**
 * The pictures of a strip, stacked vertically.
 * @param {string} path
 */
async function cut(path) {
  const image = await createImageBitmap(await (await get(path)).blob());
  const canvas = new OffscreenCanvas(size, size);
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext('2d', { willReadFrequently: true }));
  const pictures = Array.from({ length: count }, (_, i) => {
    context.drawImage(image, 0, -i * size);
    return context.getImageData(0, 0, size, size).data;
  });
  image.close();
  return pictures;
}
