// Runs one job and shows its output as it arrives.

import { EngineError } from './engine.js';
import { Frames } from './frames.js';
import { showTiming } from './panels.js';
import { showProblem } from './problems.js';

/** @import {Job} from './engine.js' */
/** @import {Player} from './player.js' */
/** @import {Outcome} from './outcome.js' */
/** @import {ProgressLine, Qualities, QualityPanel} from './panels.js' */
/** @import {Originals, Stage} from './stage.js' */
/** @import {Plan, PlanEvent, Rect, Stage as Direction} from './protocol.js' */

/**
 * The parts of the page that show a job.
 * @typedef {{stage: Stage, player: Player, line: ProgressLine, quality: QualityPanel}} Screen
 */

/**
 * Shows a job until it ends, and throws its error.
 * @param {Job} job
 * @param {Outcome} outcome filled in as output arrives
 * @param {Screen} screen
 * @param {{plans: Plan[], spatial: number, alpha: boolean, originals?: Originals, backdrop?: Uint8ClampedArray,
 *   frames: () => void, queued: (position: number) => void}} about plans: of its stages; alpha: of the model; originals:
 *   to measure against; backdrop: the content without tiles; frames: called when there is a result to show
 */
export async function follow(job, outcome, screen, about) {
  const { stage, player, line, quality } = screen;
  const parts = shares(about.plans);
  const measurer = new Measurer(about.originals, outcome.quality, () => quality.show(stage.at));
  /** @type {Frames|undefined} */ let frames;
  let overlap = { height: 0, width: 0 };
  let clipFrames = 0;
  let measured = false; // by the engine
  try {
    for await (const e of job) {
      switch (e.type) {
        case 'queued':
          about.queued(e.position);
          break;
        case 'warning':
          showProblem('warning', { detail: e.message });
          break;
        case 'loading':
          line.loading(e.loaded, e.total);
          break;
        case 'compiling':
          line.compiling(e.done, e.total);
          break;
        case 'plan': {
          const o = e.output;
          clipFrames = o.frames;
          if (e.stage === 'decode') {
            frames = outcome.frames = new Frames(o.frames, o.height, o.width, o.fps ?? 0, {
              alpha: about.alpha, independent: e.plan.independent, backdrop: about.backdrop,
            });
            about.frames();
          }
          const [height, width] = e.plan.overlap.split('x').map(Number);
          overlap = { height, width };
          stage.tiles(grid(e, about.spatial), e.stage === 'encode' ? 'input' : 'result');
          if (e.plan.tiles.length > 1) stage.progress(0, 0);
          break;
        }
        case 'preview':
          frames?.sketch(e.index, e.rgba);
          player.follow(e.index);
          break;
        case 'tile':
          frames?.paint(e, overlap);
          stage.progress(e.tile, e.tile);
          player.follow(e.frame);
          break;
        case 'frame':
          frames?.put(e.index, e.rgba);
          player.follow(e.index);
          if (!measured && frames) measurer.add(e.index, e.rgba, frames);
          break;
        case 'quality':
          measured = true;
          measurer.stop();
          add(outcome.quality, e.index, e);
          if (e.index === null || e.index === stage.at) quality.show(stage.at);
          break;
        case 'progress':
          line.update(e, { ...parts[e.stage] ?? { first: 0, share: 1 }, frames: clipFrames });
          stage.progress(e.middle || e.tile >= e.tiles ? -1 : e.tile, e.tile);
          break;
        case 'latent':
          outcome.latent = e.file;
          outcome.shape = e.shape;
          break;
        case 'done':
          showTiming(e);
          stage.progress(-1, Infinity);
          outcome.done = e;
          return;
      }
    }
  } catch (error) {
    stage.tiles([]);
    throw error;
  }
  throw new Error('the job ended without a result');
}

/**
 * The promise's value, unless it is cancelled first.
 * @template T
 * @param {AbortSignal} signal
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
export function until(signal, promise) {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new EngineError('cancelled', 'cancelled'));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * @param {Qualities} to
 * @param {number|null} index null for the clip
 * @param {{psnr: number, ssim: number}} q
 */
function add(to, index, q) {
  if (index === null) to.clip = q;
  else to.frames[index] = q;
}

/**
 * Each stage's share of a job, by FLOPs.
 * @param {Plan[]} plans
 * @returns {Partial<Record<Direction, {first: number, share: number}>>}
 */
function shares(plans) {
  const all = plans.reduce((sum, p) => sum + p.flops, 0) || 1;
  /** @type {Partial<Record<Direction, {first: number, share: number}>>} */
  const parts = {};
  let first = 0;
  for (const p of plans) {
    parts[p.direction] = { first, share: p.flops / all };
    first += p.flops / all;
  }
  return parts;
}

/**
 * A plan's tiles in pixels; empty for a single tile.
 * @param {PlanEvent} e
 * @param {number} spatial pixels of a cell
 * @returns {Rect[]}
 */
function grid(e, spatial) {
  const scale = e.stage === 'encode' ? spatial : 1;
  const { tiles } = e.plan;
  return tiles.length < 2 ? [] : tiles.map((r) => ({ y: r.y * scale, x: r.x * scale, height: r.height * scale, width: r.width * scale }));
}

/** Measures decoded frames with known originals, in a worker. */
class Measurer {
  /** @type {Worker|undefined} */ #worker;
  /** @type {Map<number, number>} */ #mse = new Map();
  #ssim = 0;
  #originals;
  #quality;
  #shown;

  /**
   * @param {Originals|undefined} originals
   * @param {Qualities} quality
   * @param {() => void} shown
   */
  constructor(originals, quality, shown) {
    this.#originals = originals;
    this.#quality = quality;
    this.#shown = shown;
  }

  /**
   * @param {number} index
   * @param {Uint8ClampedArray} rgba
   * @param {Frames} frames
   */
  async add(index, rgba, frames) {
    if (!this.#originals) return;
    const original = await this.#originals(index).catch(() => undefined);
    if (!original || original.length !== rgba.length) return;
    this.#worker ??= this.#start(frames.count);
    this.#worker.postMessage({ id: index, a: original, b: rgba, height: frames.height, width: frames.width });
  }

  /** @param {number} count frames of the clip */
  #start(count) {
    const worker = new Worker(new URL('measure.js', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data: { id, mse, ssim } }) => {
      this.#mse.set(id, mse);
      this.#ssim += ssim;
      add(this.#quality, id, { psnr: decibel(mse), ssim });
      if (this.#mse.size === count) {
        const mean = [...this.#mse.values()].reduce((s, v) => s + v) / count;
        add(this.#quality, null, { psnr: decibel(mean), ssim: this.#ssim / count });
        worker.terminate();
      }
      this.#shown();
    };
    return worker;
  }

  stop() {
    this.#originals = undefined;
    this.#worker?.terminate();
  }
}

/** @param {number} mse of values in [-1, 1] */
function decibel(mse) {
  return mse > 0 ? 10 * Math.log10(4 / mse) : Infinity;
}
