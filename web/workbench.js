// What is on the bench: an engine, a checkpoint and an input, each opened when
// it is first wanted and kept until another takes its place.

import { connect } from './engine.js';

/** @import {OpenClip} from './clips.js' */
/** @import {Engine, From} from './engine.js' */
/** @import {ClipInfo, Device, Layout, Model, Options, Precision} from './protocol.js' */
/** @import {Loading} from './source.js' */

/** @typedef {{name: string, from: From, builtin?: boolean}} Checkpoint */

/**
 * A latent to decode or a clip to encode, or both: a latent and the clip that it was made of.
 * @typedef {object} Input
 * @property {string} name
 * @property {From} [latent]
 * @property {OpenClip} [clip]
 * @property {boolean} [demo]
 */

/** Frames, height and width of a latent are in cells. @typedef {{frames: number, height: number, width: number, clip: ClipInfo}} Size */

/** @typedef {'decode'|'encode'|'roundtrip'} Task */

export class Workbench {
  /** @type {'browser'|'native'} */ kind = 'browser';
  /** @type {string|null} */ token = null;
  /** @type {Precision} */ precision = 'auto';
  /** @type {(p: Loading) => void} */ loading = () => {};

  /** @type {Checkpoint} */ #checkpoint;
  /** @type {Input|undefined} */ #input;
  /** @type {Promise<Engine>|undefined} */ #engine;
  /** @type {Promise<Model>|undefined} */ #model;
  /** @type {Precision|undefined} */ #opened; // precision of #model
  /** @type {Map<boolean, Promise<Size>>} */ #sizes = new Map(); // of the latent: true; of the clip: false

  /** @param {Checkpoint} checkpoint */
  constructor(checkpoint) {
    this.#checkpoint = checkpoint;
  }

  get checkpoint() {
    return this.#checkpoint;
  }

  get input() {
    return this.#input;
  }

  /** @param {Checkpoint} checkpoint */
  use(checkpoint) {
    this.#checkpoint = checkpoint;
    this.#model = undefined;
    this.#sizes.clear();
  }

  /** @param {Input} input */
  put(input) {
    this.#input?.clip?.close();
    this.#input = input;
    this.#sizes.clear();
  }

  /** Ends the engine; the next use starts one. */
  stop() {
    this.#engine?.then((e) => e.close(), () => {});
    this.#engine = this.#model = undefined;
    this.#sizes.clear();
  }

  /** @returns {Promise<Engine>} */
  engine() {
    if (!this.#engine) {
      const starting = connect(this.kind, { token: this.token ?? undefined });
      this.#engine = starting;
      starting.catch(() => {
        if (this.#engine === starting) this.#engine = undefined;
      });
    }
    return this.#engine;
  }

  /** @returns {Promise<Device>} */
  async device() {
    return (await this.engine()).device();
  }

  /** The checkpoint, opened. @returns {Promise<Model>} */
  model() {
    if (!this.#model || this.#opened !== this.precision) {
      this.#opened = this.precision;
      const opening = this.#open();
      this.#model = opening;
      opening.catch(() => {
        if (this.#model === opening) this.#model = undefined;
      });
    }
    return this.#model;
  }

  async #open() {
    const engine = await this.engine();
    return engine.open(this.#checkpoint.from, { precision: this.precision, progress: this.loading });
  }

  /** What a task's input is. @param {Task} task @returns {Promise<Size>} */
  size(task) {
    const latent = task === 'decode';
    let size = this.#sizes.get(latent);
    if (!size) {
      size = this.#measure(latent);
      this.#sizes.set(latent, size);
      size.catch(() => this.#sizes.delete(latent));
    }
    return size;
  }

  /** @param {boolean} latent */
  async #measure(latent) {
    const input = this.#input;
    if (!input) throw new Error('there is no input');
    if (!latent && input.clip) {
      const { frames, height, width, fps } = input.clip;
      return { frames, height, width, clip: { frames, height, width, fps } };
    }
    await this.model(); // its channels tell a latent's layout
    const { shape, clip } = await (await this.engine()).inspect(/** @type {From} */ (input.latent));
    return { frames: shape[1], height: shape[2], width: shape[3], clip };
  }

  /** What can be done with the input. @returns {Task[]} */
  tasks() {
    const { latent, clip } = this.#input ?? {};
    return [...latent ? /** @type {Task[]} */ (['decode']) : [], ...clip ? /** @type {Task[]} */ (['encode', 'roundtrip']) : []];
  }

  /**
   * The layouts of a task's stages.
   * @param {Task} task
   * @param {Options} options
   * @returns {Promise<Layout[]>}
   */
  async plan(task, options) {
    await this.model();
    const engine = await this.engine();
    const { frames, height, width } = await this.size(task);
    if (task === 'decode') return [await engine.plan({ ...options, direction: 'decode', frames, height, width })];
    const encode = await engine.plan({ ...options, direction: 'encode', frames, height, width });
    if (task === 'encode' || !encode.fits) return [encode];
    const latent = { frames: encode.frames, height: encode.height, width: encode.width };
    return [encode, await engine.plan({ ...options, direction: 'decode', ...latent })];
  }

  /**
   * Begins a job.
   * @param {Task} task
   * @param {Options} options
   */
  async start(task, options) {
    await this.model();
    const engine = await this.engine();
    if (task === 'decode') return engine.decode(/** @type {From} */ (this.#input?.latent), options);
    const clip = /** @type {OpenClip} */ (this.#input?.clip);
    return task === 'encode' ? engine.encode(clip, options) : engine.roundtrip(clip, options);
  }
}
