// The functions that engine_test.go runs in the browser. Each uses the engine in one
// way and returns plain values, with bytes as base64.

import { connect } from './engine.js';

/** @type {Promise<import('../../../web/engine.js').Engine>} */
let engine;

/** @param {Uint8Array|Uint8ClampedArray} bytes */
function base64(bytes) {
  let text = '';
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
}

/** @param {string} text */
function bytes(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

/** @param {string} url */
async function open(url) {
  engine = connect('browser');
  const e = await engine;
  return { device: await e.device(), model: await e.open(url) };
}

/** @param {object} options */
async function plan(options) {
  return (await engine).plan(options);
}

/**
 * * Runs a job to its end and collects its events.
 * @param {AsyncIterable<any>} job
 */
async function gather(job) {
  const all = { frames: [], tiles: [], quality: [], progress: [], plans: [], loaded: 0, latent: '', done: null, order: [] };
  for await (const e of job) {
    all.order.push(e.type);
    switch (e.type) {
      case 'frame': all.frames.push({ ...e, rgba: base64(e.rgba) }); break;
      case 'tile': all.tiles.push({ ...e, rgba: base64(e.rgba) }); break;
      case 'quality': all.quality.push({ ...e, psnr: Number.isFinite(e.psnr) ? e.psnr : null }); break;
      case 'progress': all.progress.push(e); break;
      case 'plan': all.plans.push(e.plan); break;
      case 'loading': all.loaded = e.loaded; break;
      case 'latent': all.latent = base64(new Uint8Array(await e.file.arrayBuffer())); break;
      case 'done': all.done = e; break;
    }
  }
  return all;
}

/**
 * @param {string} latent
 * @param {object} options
 */
async function decode(latent, options) {
  return gather((await engine).decode(new File([bytes(latent)], 'z.safetensors'), options));
}

/**
 * @param {string} kind encode or roundtrip
 * @param {{frames: number, height: number, width: number}} info
 * @param {string} pixels all frames, RGBA
 * @param {object} options
 */
async function clip(kind, info, pixels, options) {
  const all = bytes(pixels);
  const size = 4 * info.height * info.width;
  const readFrame = async (t) => all.slice(t * size, (t + 1) * size);
  return gather((await engine)[kind]({ ...info, fps: 12, readFrame }, options));
}

/**
 * * Cancels after the first event of a type, and returns the error's code and text.
 * @param {string} latent
 * @param {string} when
 * @param {object} options
 */
async function cancel(latent, when, options) {
  const job = (await engine).decode(new File([bytes(latent)], 'z.safetensors'), options);
  try {
    for await (const e of job) if (e.type === when) job.cancel();
  } catch (error) {
    return { code: error.code, message: error.message };
  }
  return { code: 'ended' };
}

/**
 * @param {string} name
 * @param {string} data
 */
async function openBroken(name, data) {
  try {
    await (await engine).open(new File([bytes(data)], name));
  } catch (error) {
    return { code: error.code, message: error.message };
  }
  return { code: 'opened' };
}

Object.assign(globalThis, { test: { open, plan, decode, clip, cancel, openBroken } });
