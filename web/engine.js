// One interface for the two engines: this tab's GPU, and the native program. calls.js
// numbers the messages to the worker or the websocket, channel.js transports them.
//
//   const engine = await connect('browser');
//   await engine.open(file);
//   for await (const event of engine.decode(latent, {tile: 'auto'})) {
//     if (event.type === 'frame') draw(event);
//   }
//
// protocol.js has all types. Failures throw an EngineError, whose code names the kind
// of failure.

import { Calls } from './calls.js';
import { socketChannel, workerChannel } from './channel.js';
import { EngineError, Job } from './events.js';
import { version } from './protocol.js';

export { EngineError, Job };

/** @import {Channel} from './channel.js' */
/** @import {Clip, Device, Done, Header, Model, Options, Plan, PlanOptions, Precision, Speed} from './protocol.js' */
/** @import {Loading, Source} from './source.js' */

/**
 * Starts an engine and opens its device.
 * @param {'browser'|'native'} kind
 * @param {{worker?: string|URL, url?: string|URL, token?: string}} [options] worker: the worker's script, default
 *   worker.js beside this file; url: the native engine's websocket, default `engine` beside the page; token: the one that
 *   the native program prints at its start, sent as the query's `token`
 * @returns {Promise<Engine>}
 */
export async function connect(kind, options = {}) {
  const channel = kind === 'native' ? await socketChannel(options).catch((error) => {
    throw new EngineError('disconnected', error.message);
  }) : workerChannel(options, 'tessera');
  const engine = new Engine(kind, channel, kind === 'browser' ? () => workerChannel(options, 'tessera-all') : undefined);
  try {
    await engine.device();
    return engine;
  } catch (error) {
    engine.close();
    throw error;
  }
}

/** @typedef {Blob|File|string|{path: string}|Source} From a string is a URL; a path is relative to the native engine's folder; a source has its own read function */

export class Engine {
  /** @type {Calls} */ #calls;
  /** @type {(() => Channel)|undefined} */ #larger; // the engine of all families, while a smaller one runs
  /** @type {number|undefined} */ #model; // source of the open checkpoint
  /** @type {Header|undefined} */ #opened; // the request that opened it

  /**
   * @param {'browser'|'native'} kind
   * @param {Channel} channel
   * @param {() => Channel} [larger] starts an engine with more families than channel's
   */
  constructor(kind, channel, larger) {
    this.kind = kind;
    this.#larger = larger;
    this.#calls = new Calls(channel);
  }

  /** Describes the adapter and its device's memory. @returns {Promise<Device>} */
  device() {
    return this.#calls.request({ type: 'device', version });
  }

  /**
   * Opens a checkpoint and closes the previous one. The engine reads the weights when a direction is first used,
   * which the job reports with `loading` events: a File must stay readable until then.
   * @param {From} from
   * @param {{precision?: Precision, force?: boolean, progress?: (p: Loading) => void, larger?: () => void, signal?: AbortSignal}} [options]
   *   force opens a checkpoint despite the error `flat`; progress reports a download; larger is called when the engine of
   *   all families is loaded for this checkpoint
   * @returns {Promise<Model>}
   */
  async open(from, { precision = 'auto', force = false, progress, larger, signal } = {}) {
    const [source, id] = await this.#calls.source(from, { progress, signal });
    while (this.#calls.opening) await this.#calls.opening;
    const last = this.#model;
    try {
      const model = await this.#alone(this.#open({ type: 'open', source, precision, force }, larger, signal));
      this.#model = id;
      this.#calls.release(last ?? 0);
      return model;
    } catch (error) {
      this.#calls.release(id);
      throw error;
    }
  }

  /**
   * Makes jobs wait until a checkpoint is open.
   * @param {Promise<Model>} opening
   */
  #alone(opening) {
    this.#calls.opening = opening.then(() => {}, () => {}).then(() => { this.#calls.opening = undefined; });
    return opening;
  }

  /**
   * Opens a checkpoint with this engine, or with a larger one that then replaces it. By then this engine has answered
   * all jobs: it runs them in order, and later ones wait here.
   * @param {Header} header
   * @param {(() => void)|undefined} tell
   * @param {AbortSignal|undefined} signal
   * @returns {Promise<Model>}
   */
  async #open(header, tell, signal) {
    try {
      const model = await this.#calls.request(header, { signal, channel: this.#calls.channel });
      this.#opened = header;
      return model;
    } catch (error) {
      if (!this.#larger || !(error instanceof EngineError) || error.code !== 'unknown_model') throw error;
    }
    return this.#enlarge(header, tell, signal);
  }

  /**
   * Opens a checkpoint with the larger engine, which then replaces this one.
   * @param {Header} header
   * @param {(() => void)|undefined} tell
   * @param {AbortSignal|undefined} signal
   * @returns {Promise<Model>}
   */
  async #enlarge(header, tell, signal) {
    tell?.();
    const channel = this.#calls.listen(/** @type {() => Channel} */ (this.#larger)());
    try {
      await this.#calls.request({ type: 'device', version }, { signal, channel }).catch((error) => {
        throw ['disconnected', 'failed'].includes(error.code) ? new EngineError('unknown_model', `the engine of all models did not load: ${error.message}`) : error;
      });
      const model = await this.#calls.request(header, { signal, channel });
      this.#calls.move(channel);
      this.#larger = undefined;
      this.#opened = header;
      return model;
    } catch (error) {
      channel.close();
      throw error;
    }
  }

  /**
   * Plans a job without running it. If it doesn't fit, the plan's fits is false; that is not an error.
   * @param {PlanOptions} options
   * @returns {Promise<Plan>}
   */
  plan(options) {
    return this.#calls.request({ type: 'plan', options });
  }

  /** Measures the device's speed in the open checkpoint's precision, in a tenth of a second. @returns {Promise<Speed>} */
  measure() {
    return this.#calls.request({ type: 'measure' });
  }

  /**
   * Describes a latent file, for planning.
   * @param {From} from
   * @param {Options} [options] uses independent, packed and layout
   * @returns {Promise<import('./protocol.js').LatentInfo>}
   */
  async inspect(from, options = {}) {
    const [source, id] = await this.#calls.source(from, {});
    return this.#calls.request({ type: 'inspect', source, options }).finally(() => this.#calls.release(id));
  }

  /**
   * Decodes a latent: .safetensors, .latent or .npy, by its name.
   * @param {From} latent
   * @param {Options & {signal?: AbortSignal, sketch?: From, larger?: () => void}} [options] sketch: a tiny autoencoder for
   *   `preview` events, which come first; larger is called when the engine of all families is loaded for it
   * @returns {Job}
   */
  decode(latent, { signal, sketch, larger, ...options } = {}) {
    return this.#job(signal, async (start) => {
      while (this.#calls.opening) await this.#calls.opening;
      if (sketch && this.#larger && this.#opened) await this.#alone(this.#enlarge(this.#opened, larger, signal));
      const [source, id] = await this.#calls.source(latent, { signal });
      const [preview, tiny] = sketch ? await this.#calls.source(sketch, { signal }) : [undefined, 0];
      await start({ type: 'decode', source, preview, options }).finally(() => {
        this.#calls.release(id);
        this.#calls.release(tiny);
      });
    });
  }

  /**
   * Encodes a clip. The latent arrives as an event.
   * @param {Clip} clip
   * @param {Options & {signal?: AbortSignal}} [options]
   * @returns {Job}
   */
  encode(clip, { signal, ...options } = {}) {
    return this.#job(signal, (start) => start({ type: 'encode', clip: info(clip), options }), clip);
  }

  /**
   * Encodes a clip, decodes it and compares.
   * @param {Clip} clip
   * @param {Options & {signal?: AbortSignal}} [options]
   * @returns {Job}
   */
  roundtrip(clip, { signal, ...options } = {}) {
    return this.#job(signal, (start) => start({ type: 'roundtrip', clip: info(clip), options }), clip);
  }

  /** Ends the engine and its worker or connection. */
  close() {
    this.#calls.close();
  }

  /**
   * @param {AbortSignal|undefined} signal
   * @param {(start: (header: Header) => Promise<Done>) => Promise<any>} run
   * @param {Clip} [clip]
   */
  #job(signal, run, clip) {
    const stop = new AbortController();
    if (signal) signal.addEventListener('abort', () => stop.abort(), { once: true });
    if (signal?.aborted) stop.abort();
    const job = new Job(stop, (id, seq) => this.#calls.send({ type: 'ack', id, seq }));
    const start = async (/** @type {Header} */ header) => {
      const done = await this.#calls.request(header, { signal: stop.signal, clip, event: (e, payload) => job.push(e, payload) });
      job.push({ type: 'done', ...done });
      return done;
    };
    run(start).then(() => job.end(), (error) => job.end(error));
    return job;
  }
}

/**
 * @param {Clip} clip
 * @returns {import('./protocol.js').ClipInfo}
 */
function info({ frames, height, width, fps }) {
  return { frames, height, width, fps };
}
