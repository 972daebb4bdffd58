// The outcome of a job, from its start: complete, or partial after it was cancelled or
// failed.

import { duration, number, t } from './i18n.js';
import { ofLatent } from './pictures.js';

/** @import {Frames} from './frames.js' */
/** @import {Qualities} from './panels.js' */
/** @import {Pictures} from './pictures.js' */
/** @import {Done} from './protocol.js' */
/** @import {Originals} from './stage.js' */

/**
 * @typedef {object} Outcome
 * @property {string} stem start of the names of saved files
 * @property {boolean} alpha whether alpha is used
 * @property {boolean} [recorded] it comes with the page
 * @property {{checkpoint: import('./workbench.js').Checkpoint, input: import('./workbench.js').Input|undefined}} [from] what it was made from
 * @property {boolean} [tiny] made with the demo's model
 * @property {{tiling: string, tile: string, native: boolean}} [way] how it was decoded; tiling: empty for one tile
 * @property {Outcome} [before] the previous result, if it has the same input and size
 * @property {Originals} [originals]
 * @property {Qualities} quality
 * @property {Frames} [frames] of a decode
 * @property {number} [of] if frames are missing: how many there should be
 * @property {File} [latent] of an encode
 * @property {number[]} [shape] of the latent
 * @property {Pictures} [pictures] to show: the frames, else the latent's channels
 * @property {import('./card.js').Pace} [pace] how fast it was
 * @property {Done} [done] of a completed job
 */

/**
 * @param {string} stem
 * @returns {Outcome}
 */
export function newOutcome(stem) {
  return { stem, alpha: false, quality: { frames: [] } };
}

/**
 * Completes an outcome: finds the pictures to show, of a partial one the finished frames.
 * @param {Outcome} outcome
 * @returns {Promise<boolean>} whether there are any
 */
export async function settle(outcome) {
  const { frames, latent, shape, done } = outcome;
  if (frames && !done) {
    outcome.of = frames.count;
    frames.count = frames.done || frames.begun;
    if (!frames.count) outcome.frames = undefined;
  }
  if (latent && shape && !outcome.frames) outcome.pictures = await ofLatent(latent, shape);
  else outcome.pictures = outcome.frames;
  return !!(outcome.frames || latent);
}

/** Summarises an outcome. @param {Outcome} outcome */
export function summary({ frames, shape = [], done, of = 0 }) {
  if (!done) {
    if (!frames) return t('progress.cancelled');
    return frames.done ? t('progress.cancelled.frames', { n: number(frames.done), of: number(of) }) : t('progress.cancelled.part');
  }
  const time = duration(done.seconds);
  if (!frames) return t('progress.encoded', { shape: shape.join(' × '), time });
  return t(frames.count > 1 ? 'progress.done' : 'progress.done.one', { n: number(frames.count), time });
}

/** Describes how a result was decoded. @param {Outcome} outcome @param {Outcome} other to name the engine if it differs */
export function wayOf({ way }, other) {
  if (!way) return '';
  const tiles = t(/** @type {import('./i18n.js').Key} */ (`way.${way.tiling || 'one'}`), { tile: way.tile.replace('x', ' × ') });
  return way.native === other.way?.native ? tiles : `${t(way.native ? 'way.native' : 'way.browser')}, ${tiles}`;
}
