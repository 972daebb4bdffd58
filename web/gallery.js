// The contents of the stage: the input, the last job's result, or the partial result of
// a cancelled job. Each stays until another replaces it.

import { size } from './demo.js';
import { at, radio, select } from './dom.js';
import { number, t } from './i18n.js';
import { wayOf } from './outcome.js';
import { gain } from './stage.js';

/** @import {Outcome} from './outcome.js' */
/** @import {QualityPanel} from './panels.js' */
/** @import {Pictures} from './pictures.js' */
/** @import {Player} from './player.js' */
/** @import {Differ, Stage, View} from './stage.js' */
/** @import {Checkpoint, Input} from './workbench.js' */

/** An input's pictures; shape is that of a latent. @typedef {{name: string, pictures: Pictures, shape?: number[]}} Look */

const results = /** @type {const} */ (['result', 'compare', 'difference']);

export class Gallery {
  /** @type {Outcome|undefined} */ outcome; // in the views of the result
  /** @type {Outcome|undefined} */ other; // the other result: that of a cancelled job, or the previous one
  /** @type {Look|undefined} */ #look;
  #stage;
  #player;
  #quality;
  #now;
  #against = ''; // 'before': another result
  /** @type {Differ|undefined} */ #differ;

  /**
   * @param {Stage} stage
   * @param {Player} player
   * @param {QualityPanel} quality
   * @param {() => {checkpoint: Checkpoint, input: Input|undefined}} now what is on the bench
   */
  constructor(stage, player, quality, now) {
    this.#stage = stage;
    this.#player = player;
    this.#quality = quality;
    this.#now = now;
    stage.differs = (differ) => {
      this.#differ = differ;
      at('caption').textContent = this.#caption(stage.view);
    };
    select('against').onchange = () => this.against(select('against').value);
  }

  /** Whether the stage shows an input that the result does not belong to. Then the result's numbers are hidden. */
  get away() {
    return this.#stage.view === 'input' && this.#stale;
  }

  /** The pictures to compare the result with. */
  get #others() {
    const { before, originals } = this.outcome ?? {};
    return this.#against && before?.frames ? (/** @type {number} */ i) => /** @type {import('./frames.js').Frames} */ (before.frames).get(i) : originals;
  }

  /** Compares with the original, or with the previous result. @param {string} what '' or 'before' */
  against(what) {
    this.#against = what;
    this.#stage.compare(this.#others, !!what);
    this.view(this.#stage.view);
  }

  /** Offers to switch to another result. @param {Outcome|undefined} other */
  beside(other) {
    this.other = other;
    this.#mark();
  }

  /** The result to save; none while the input is shown. */
  get savable() {
    return this.#stage.view === 'input' ? undefined : this.outcome;
  }

  /**
   * Sets the input that can be shown; undefined for none.
   * @param {Look|undefined} look
   */
  offer(look) {
    this.#look = look;
    this.#stage.look(look?.pictures);
    this.#mark();
  }

  /** Shows the input, if it can be shown. */
  look() {
    if (this.#look) this.view('input');
  }

  /**
   * Shows a result, or one in progress.
   * @param {Outcome} outcome
   * @param {Outcome} [other]
   */
  present(outcome, other) {
    this.outcome = outcome;
    this.other = other;
    at('frame').dataset.alpha = String(outcome.alpha);
    this.#against = '';
    this.#stage.show(outcome.pictures, outcome.originals);
    this.#quality.take(outcome.quality, 0);
    this.view('result');
  }

  /** Removes the recording, because the bench has changed. */
  forget() {
    if (!this.outcome?.recorded) return;
    this.outcome = undefined;
    this.#stage.show(undefined);
    this.#quality.take({ frames: [] }, 0);
    this.view('result');
  }

  /** Shows the other result. */
  swap() {
    if (this.other) this.present(this.other, this.outcome);
  }

  /** @param {View} view */
  view(view) {
    const stage = this.#stage;
    const has = { input: this.#look, result: this.outcome, compare: this.#others, difference: this.#others };
    stage.change(has[view] ? view : 'result');
    if (stage.shown !== this.#player.loaded) this.#player.load(stage.shown);
    this.#mark();
  }

  /** Updates the texts, in the page's language. */
  retell() {
    this.#mark();
  }

  #mark() {
    const { view } = this.#stage;
    radio('view', view).checked = true;
    radio('view', 'input').disabled = !this.#look;
    for (const name of results) radio('view', name).disabled = !(name === 'result' ? this.outcome : this.#others && this.outcome?.frames);
    at('split').hidden = view !== 'compare';
    if (view !== 'difference') this.#differ = undefined;
    at('caption').textContent = this.#caption(view);
    this.#offerOthers();
    at('other').hidden = !this.other;
    at('other').textContent = t(this.other?.recorded ? 'other.recorded' : this.outcome?.done ? 'other.partial' : 'other.last');
  }

  /** Lists what the result can be compared with, if there are several. */
  #offerOthers() {
    const { before, originals } = this.outcome ?? {};
    const ways = this.outcome && before ? [wayOf(before, this.outcome), wayOf(this.outcome, before)] : [];
    const list = select('against');
    list.hidden = !before || this.#stage.view === 'input';
    list.replaceChildren(...originals ? [new Option(t('against.original'), '')] : [], ...before ? [new Option(t('against.before', { way: ways[0] }), 'before')] : []);
    if (before && !originals) this.#against = 'before';
    list.value = this.#against;
    at('tag-left').textContent = this.#against ? ways[0] : t('view.original');
    at('tag-right').textContent = this.#against ? ways[1] : t('view.result');
  }

  /** Whether the result was made from other files than those on the bench now. */
  get #stale() {
    const { checkpoint, input } = this.#now();
    const from = this.outcome?.from; // the recording has none, and a caption
    return !!from && (from.checkpoint !== checkpoint || from.input !== input && !(from.input?.demo && input?.demo));
  }

  /** @param {View} view */
  #caption(view) {
    const channels = (/** @type {number[]} */ [c, n, h, w]) => t('caption.latent', { channels: c, frames: number(n), height: h, width: w });
    if (view === 'input') return this.#look?.shape ? channels(this.#look.shape) : t('caption.input', { name: this.#look?.name ?? '' });
    if (!this.outcome) return '';
    const { frames, shape, of, recorded, from, tiny, before } = this.outcome;
    const earlier = this.#stale && t('caption.earlier', { input: from?.input?.demo ? t('demo.name') : from?.input?.name ?? '', checkpoint: from?.checkpoint.name ?? '' });
    const told = [recorded && t('caption.recorded'), earlier];
    if (!frames) told.push(shape && channels(shape));
    else if (view === 'result') told.push(of ? t('caption.partial') : '');
    else if (view === 'difference') told.push(this.#against && before ? this.#difference(before) : t('caption.gain', { gain }));
    if (tiny && frames) told.push(t('tiny', { n: number(size.n, 1), of: size.of }));
    const text = told.filter(Boolean).join(' · ');
    return text.charAt(0).toLocaleUpperCase(document.documentElement.lang) + text.slice(1);
  }

  /** Describes how the shown frame differs from another result's. @param {Outcome} before */
  #difference(before) {
    const { outcome } = this;
    if (!this.#differ || !outcome) return '';
    const { times, largest, share } = this.#differ;
    const ways = { result: wayOf(outcome, before), other: wayOf(before, outcome) };
    return largest ? t('caption.against', { ...ways, gain: times, largest, share: number(100 * share, share < 0.1 ? 2 : 0) }) : t('caption.equal', ways);
  }
}
