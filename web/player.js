// Playback: which frame the stage shows, and when.

import { at, input } from './dom.js';

/** @import {Pictures} from './pictures.js' */
/** @import {Stage} from './stage.js' */

export class Player {
  #scrub = input('scrub');
  #play = /** @type {HTMLButtonElement} */ (at('play'));
  #stage;
  #count = 0;
  #fps = 24;
  #timer = 0;
  #began = 0; // time at which frame 0 was or would have been shown
  #held = false; // the user has chosen a frame, so arriving ones don't replace it
  /** @type {(i: number) => void} */ #shown;
  /** @type {Pictures|undefined} */ #loaded;

  /**
   * @param {Stage} stage
   * @param {(i: number) => void} shown
   */
  constructor(stage, shown) {
    this.#stage = stage;
    this.#shown = shown;
    this.#scrub.addEventListener('input', () => {
      this.pause();
      this.#held = true;
      this.#show(this.#scrub.valueAsNumber);
    });
    this.#play.addEventListener('click', () => this.toggle());
  }

  /** The pictures that play. */
  get loaded() {
    return this.#loaded;
  }

  get playing() {
    return this.#timer !== 0;
  }

  /** @param {Pictures|undefined} frames */
  load(frames) {
    this.#loaded = frames;
    this.pause();
    this.#held = false;
    const { count, fps } = frames ?? { count: 0, fps: 1 };
    this.#count = count;
    this.#fps = fps;
    this.#scrub.max = String(Math.max(0, count - 1));
    this.#scrub.disabled = this.#play.disabled = count < 2;
    at('transport').dataset.still = String(count === 1);
    if (frames) this.#show(0);
    else at('at').textContent = '–';
  }

  /** Shows an arriving frame, unless the user looks at another. @param {number} i */
  follow(i) {
    if (!this.#held && !this.playing) this.#show(i);
    else if (i === this.#stage.at) this.#stage.draw();
  }

  /** Shows another frame. @param {number} by */
  step(by) {
    if (!this.#count) return;
    this.pause();
    this.#held = true;
    this.#show((this.#stage.at + by + this.#count) % this.#count);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.#count < 2 || this.playing) return;
    this.#began = performance.now() - (1000 * this.#stage.at) / this.#fps;
    const tick = (/** @type {number} */ now) => {
      this.#timer = requestAnimationFrame(tick);
      const i = Math.max(0, Math.floor(((now - this.#began) * this.#fps) / 1000)) % this.#count;
      if (i !== this.#stage.at) this.#show(i);
    };
    this.#timer = requestAnimationFrame(tick);
    this.#mark();
  }

  pause() {
    cancelAnimationFrame(this.#timer);
    this.#timer = 0;
    this.#mark();
  }

  #mark() {
    this.#play.dataset.playing = String(this.playing);
    this.#play.dispatchEvent(new Event('toggled'));
  }

  /** @param {number} i */
  #show(i) {
    this.#scrub.value = String(i);
    at('at').textContent = `${i + 1} / ${this.#count}`;
    this.#stage.draw(i);
    this.#shown(i);
  }
}
