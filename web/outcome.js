// What a job makes, from its start on: complete, or what there was of it when it
// was cancelled or failed.

import { duration, number, t } from './i18n.js';
import { ofLatent } from './pictures.js';

/** @import {Frames} from './frames.js' */
/** @import {Qualities} from './panels.js' */
/** @import {Pictures} from './pictures.js' */
/** @import {Done} from './protocol.js' */
/** @import {Originals} from './stage.js' */

/**
 * @typedef {object} Outcome
 * @property {string} stem of the names of what is saved
 * @property {boolean} alpha it counts
 * @property {boolean} [recorded] it was not made here
 * @property {{checkpoint: import('./workbench.js').Checkpoint, input: import('./workbench.js').Input|undefined}} [from] what it was made of
 * @property {boolean} [tiny] by the demo's model
 * @property {{tiling: string, tile: string, native: boolean}} [way] how it was decoded; tiling: empty for one tile
 * @property {Outcome} [before] the result before it, of the same input and size
 * @property {Originals} [originals]
 * @property {Qualities} quality
 * @property {Frames} [frames] of a decode
 * @property {number} [of] where there are not all frames: how many there were to be
 * @property {File} [latent] of an encode
 * @property {number[]} [shape] of the latent
 * @property {Pictures} [pictures] what there is to see: the frames, else the latent's channels
 * @property {import('./card.js').Pace} [pace] how fast it was
 * @property {Done} [done] of a job that was not cancelled and did not fail
 */

/**
 * @param {string} stem
 * @returns {Outcome}
 */
export function newOutcome(stem) {
  return { stem, alpha: false, quality: { frames: [] } };
}

/**
 * Ends an outcome: finds what there is to see, of a partial one the frames that there are.
 * @param {Outcome} outcome
 * @returns {Promise<boolean>} whether there is anything
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

/** What came of it, in words. @param {Outcome} outcome */
export function summary({ frames, shape = [], done, of = 0 }) {
  if (!done) {
    if (!frames) return t('progress.cancelled');
    return frames.done ? t('progress.cancelled.frames', { n: number(frames.done), of: number(of) }) : t('progress.cancelled.part');
  }
  const time = duration(done.seconds);
  if (!frames) return t('progress.encoded', { shape: shape.join(' × '), time });
  return t(frames.count > 1 ? 'progress.done' : 'progress.done.one', { n: number(frames.count), time });
}

/** How a result was decoded, in words. @param {Outcome} outcome @param {Outcome} other whose engine may be another */
export function wayOf({ way }, other) {
  if (!way) return '';
  const tiles = t(/** @type {import('./i18n.js').Key} */ (`way.${way.tiling || 'one'}`), { tile: way.tile.replace('x', ' × ') });
  return way.native === other.way?.native ? tiles : `${t(way.native ? 'way.native' : 'way.browser')}, ${tiles}`;
}
