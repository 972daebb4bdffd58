// What is on the stage: the input, what the last job has made of one, or what
// there is of a job that was cancelled. Each stays until another takes its place.

import { at, radio } from './dom.js';
import { number, t } from './i18n.js';

/** @import {Outcome} from './outcome.js' */
/** @import {QualityPanel} from './panels.js' */
/** @import {Pictures} from './pictures.js' */
/** @import {Player} from './player.js' */
/** @import {Stage, View} from './stage.js' */

/** An input as it is looked at; shape is of a latent. @typedef {{name: string, pictures: Pictures, shape?: number[]}} Look */

const results = /** @type {const} */ (['result', 'compare', 'difference']);

export class Gallery {
  /** @type {Outcome|undefined} */ outcome; // of the views of the result
  /** @type {Outcome|undefined} */ other; // the one beside it: what was cancelled, or what was there before
  /** @type {Look|undefined} */ #look;
  #stage;
  #player;
  #quality;

  /**
   * @param {Stage} stage
   * @param {Player} player
   * @param {QualityPanel} quality
   */
  constructor(stage, player, quality) {
    this.#stage = stage;
    this.#player = player;
    this.#quality = quality;
  }

  /** What is saved: nothing while the input is looked at. */
  get savable() {
    return this.#stage.view === 'input' ? undefined : this.outcome;
  }

  /**
   * The input that there is to look at; undefined: none that can be shown.
   * @param {Look|undefined} look
   */
  offer(look) {
    this.#look = look;
    this.#stage.look(look?.pictures);
    this.#mark();
  }

  /** Looks at the input, where that can be. */
  look() {
    if (this.#look) this.view('input');
  }

  /**
   * Shows what a job makes or has made.
   * @param {Outcome} outcome
   * @param {Outcome} [other]
   */
  present(outcome, other) {
    this.outcome = outcome;
    this.other = other;
    at('frame').dataset.alpha = String(outcome.alpha);
    this.#stage.show(outcome.pictures, outcome.originals);
    this.#quality.take(outcome.quality, 0);
    this.view('result');
  }

  /** The recording is not of what is on the bench now. */
  forget() {
    if (!this.outcome?.recorded) return;
    this.outcome = undefined;
    this.#stage.show(undefined);
    this.#quality.take({ frames: [] }, 0);
    this.view('result');
  }

  /** Shows the one beside. */
  swap() {
    if (this.other) this.present(this.other, this.outcome);
  }

  /** @param {View} view */
  view(view) {
    const stage = this.#stage;
    const has = { input: this.#look, result: this.outcome, compare: this.outcome?.originals, difference: this.outcome?.originals };
    stage.change(has[view] ? view : 'result');
    if (stage.shown !== this.#player.loaded) this.#player.load(stage.shown);
    this.#mark();
  }

  /** Tells again, in the page's language. */
  retell() {
    this.#mark();
  }

  #mark() {
    const { view } = this.#stage;
    radio('view', view).checked = true;
    radio('view', 'input').disabled = !this.#look;
    for (const name of results) radio('view', name).disabled = !(name === 'result' ? this.outcome : this.outcome?.originals && this.outcome.frames);
    at('split').hidden = view !== 'compare';
    at('caption').textContent = this.#caption(view);
    at('other').hidden = !this.other;
    at('other').textContent = t(this.outcome?.done ? 'other.partial' : 'other.last');
  }

  /** @param {View} view */
  #caption(view) {
    const channels = (/** @type {number[]} */ [c, n, h, w]) => t('caption.latent', { channels: c, frames: number(n), height: h, width: w });
    if (view === 'input') return this.#look?.shape ? channels(this.#look.shape) : t('caption.input', { name: this.#look?.name ?? '' });
    if (view !== 'result' || !this.outcome) return '';
    const { frames, shape, of, recorded } = this.outcome;
    if (recorded) return t('caption.recorded');
    if (!frames) return shape ? channels(shape) : '';
    return of ? t('caption.partial') : '';
  }
}
