// Decode a latent with a checkpoint, both files of this machine, and show the frames.

import { connect } from 'tessera-vae';

/** @param {string} id */
const file = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id)).files?.[0];
const status = /** @type {HTMLOutputElement} */ (document.getElementById('status'));
const frames = /** @type {HTMLElement} */ (document.getElementById('frames'));

async function decode() {
  const checkpoint = file('checkpoint'), latent = file('latent');
  if (!checkpoint || !latent) return;
  frames.replaceChildren();
  const engine = await connect('browser');
  try {
    await engine.open(checkpoint);
    for await (const event of engine.decode(latent)) {
      if (event.type === 'progress') status.value = `${Math.round(100 * event.done)} %`;
      if (event.type === 'frame') show(event);
    }
    status.value = 'done';
  } finally {
    engine.close();
  }
}

/** @param {{width: number, height: number, rgba: Uint8ClampedArray<ArrayBuffer>}} frame */
function show({ width, height, rgba }) {
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  canvas.getContext('2d')?.putImageData(new ImageData(rgba, width, height), 0, 0);
  frames.append(canvas);
}

document.addEventListener('change', () => decode().catch((error) => { status.value = error.message; }));
