// The bench: an engine, a checkpoint and an input. Each is opened when it is first
// needed and kept until another replaces it.

import { connect } from './engine.js';

/** @import {OpenClip} from './clips.js' */
/** @import {Engine, From} from './engine.js' */
/** @import {ClipInfo, Device, Model, Options, Plan, Precision} from './protocol.js' */
/** @import {Loading} from './source.js' */

/** force: open it despite the error `flat`; address: where it was read from; kept: it is the copy in this browser. @typedef {{name: string, from: From, builtin?: boolean, force?: boolean, address?: string, kept?: boolean}} Checkpoint */

/**
 * A latent to decode or a clip to encode, or both: a latent and the clip that it was made from.
 * @typedef {object} Input
 * @property {string} name
 * @property {From} [latent]
 * @property {OpenClip} [clip]
 * @property {boolean} [demo]
 * @property {string} [address] of a latent that was read from an address
 * @property {import('./gallery.js').Look} [look] the channels of a latent
 */

/**
 * Frames, height and width of a latent are in cells.
 * @typedef {{frames: number, height: number, width: number, clip: ClipInfo, independent?: boolean}} Size independent: the
 *   latent's frames are separate pictures
 */

/** @typedef {'decode'|'encode'|'roundtrip'} Task */

export class Workbench {
  /** @type {'browser'|'native'} */ kind = 'browser';
  /** @type {string|null} */ token = null;
  /** @type {Precision} */ precision = 'auto';
  /** @type {(p: Loading) => void} */ loading = () => {};
  /** Called when the engine of all models is loaded for a checkpoint. @type {() => void} */ larger = () => {};
  /** Tiny autoencoder that previews a decode. @type {File|undefined} */ sketch;

  /** @type {Checkpoint} */ #checkpoint;
  /** @type {Input|undefined} */ #input;
  /** @type {Promise<Engine>|undefined} */ #engine;
  /** @type {Promise<Model>|undefined} */ #model;
  /** @type {Precision|undefined} */ #opened; // precision of #model
  /** @type {Model|undefined} */ #found; // the result of #model
  /** @type {Map<string, Promise<Size>>} */ #sizes = new Map(); // of the latent or the clip, by options

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
    this.#model = this.#found = undefined;
    this.#sizes.clear();
  }

  /** @param {Input} input */
  put(input) {
    this.#input = input;
    this.#sizes.clear();
  }

  /** Ends the engine; the next use starts one. */
  stop() {
    this.#engine?.then((e) => e.close(), () => {});
    this.#engine = this.#model = this.#found = undefined;
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

  /** Opens the checkpoint. @returns {Promise<Model>} */
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
    const { from, force } = this.#checkpoint;
    const model = await engine.open(from, { precision: this.precision, force, progress: this.loading, larger: this.larger });
    if (from === this.#checkpoint.from) this.#found = model;
    return model;
  }

  /**
   * The size of a task's input.
   * @param {Task} task
   * @param {Options} options uses independent, packed, layout and as
   * @returns {Promise<Size>}
   */
  size(task, { independent, packed, layout, as }) {
    const latent = task === 'decode';
    const key = `${latent} ${independent} ${packed} ${layout} ${as}`;
    let size = this.#sizes.get(key);
    if (!size) {
      size = this.#measure(latent, { independent, packed, layout, as });
      this.#sizes.set(key, size);
      size.catch(() => this.#sizes.delete(key));
    }
    return size;
  }

  /**
   * @param {boolean} latent
   * @param {Options} options
   */
  async #measure(latent, options) {
    const input = this.#input;
    if (!input) throw new Error('there is no input');
    if (!latent && input.clip) {
      const { frames, height, width, fps } = input.clip;
      return { frames, height, width, clip: { frames, height, width, fps } };
    }
    await this.model(); // its channels determine a latent's layout
    const { shape, clip, independent } = await (await this.engine()).inspect(/** @type {From} */ (input.latent), options);
    return { frames: shape[1], height: shape[2], width: shape[3], clip, independent };
  }

  /**
   * The tasks that the input allows. The demo's latent belongs to SeedVR2. If the model lacks a network for a task,
   * the engine reports it.
   * @returns {Task[]}
   */
  tasks() {
    const { latent, clip, demo } = this.#input ?? {};
    const foreign = demo && this.#found && this.#found.family !== 'seedvr2';
    const all = [...latent && !foreign ? /** @type {Task[]} */ (['decode']) : [], ...clip ? /** @type {Task[]} */ (['encode', 'roundtrip']) : []];
    const lacks = this.#found?.lacks;
    const possible = lacks ? all.filter((task) => task === (lacks === 'encoder' ? 'decode' : 'encode')) : all;
    return possible.length ? possible : all;
  }

  /**
   * The plans of a task's stages.
   * @param {Task} task
   * @param {Options & {least?: boolean}} options
   * @returns {Promise<Plan[]>}
   */
  async plan(task, options) {
    await this.model();
    const engine = await this.engine();
    const { frames, height, width, independent } = await this.size(task, options);
    if (task === 'decode') return [await engine.plan({ ...options, independent, direction: 'decode', frames, height, width })];
    const encode = await engine.plan({ ...options, direction: 'encode', frames, height, width });
    if (task === 'encode' || !encode.fits) return [encode];
    const latent = { frames: encode.frames, height: encode.height, width: encode.width, independent: encode.independent };
    return [encode, await engine.plan({ ...options, direction: 'decode', ...latent })];
  }

  /**
   * Starts a job.
   * @param {Task} task
   * @param {Options & {signal?: AbortSignal}} options
   */
  async start(task, options) {
    await this.model();
    const engine = await this.engine();
    if (task === 'decode') return engine.decode(/** @type {From} */ (this.#input?.latent), { ...options, sketch: this.sketch, larger: this.larger });
    const clip = /** @type {OpenClip} */ (this.#input?.clip);
    return task === 'encode' ? engine.encode(clip, options) : engine.roundtrip(clip, options);
  }
}
