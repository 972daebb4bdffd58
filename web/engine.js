// The engine as the page sees it: this tab's GPU or the native program's, with
// one interface. Everything that is said to the worker and to the websocket is
// said here; channel.js carries it.
//
//   const engine = await connect('browser');
//   await engine.open(file);
//   for await (const event of engine.decode(latent, {tile: 'auto'})) {
//     if (event.type === 'frame') draw(event);
//   }
//
// All types are in protocol.js. What fails throws an EngineError, whose code
// says what kind of failure it is.

import { socketChannel, workerChannel } from './channel.js';
import { version } from './protocol.js';
import { openSource } from './source.js';

/** @import {Channel} from './channel.js' */
/** @import {Clip, Code, Device, Done, Header, JobEvent, Model, Options, Plan, PlanOptions, Precision, Speed} from './protocol.js' */
/** @import {Loading, Source} from './source.js' */

/** The message is the engine's own text. */
export class EngineError extends Error {
  /**
   * @param {Code} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.name = 'EngineError';
    this.code = code;
  }
}

/**
 * Starts an engine and opens its device.
 * @param {'browser'|'native'} kind
 * @param {{worker?: string|URL, url?: string|URL, token?: string}} [options] worker: the worker's script, default
 *   worker.js beside this file; url: of the native engine's websocket, default `engine` beside the page; token: that of
 *   the native program's start, which becomes the query's `token`
 * @returns {Promise<Engine>}
 */
export async function connect(kind, options = {}) {
  const channel = kind === 'native' ? await socketChannel(options).catch((error) => {
    throw new EngineError('disconnected', error.message);
  }) : workerChannel(options);
  const engine = new Engine(kind, channel);
  try {
    await engine.device();
    return engine;
  } catch (error) {
    engine.close();
    throw error;
  }
}

/** @typedef {Blob|File|string|{path: string}|Source} From a string is a URL; a path is in the native engine's own folder; a source reads by itself */

export class Engine {
  /** @type {Channel} */ #channel;
  /** @type {Map<number, Request>} */ #requests = new Map();
  /** @type {Map<number, Source>} */ #sources = new Map();
  #last = 0; // id given out
  /** @type {number|undefined} */ #model; // source of the open checkpoint
  /** @type {EngineError|undefined} */ #gone;

  /**
   * @param {'browser'|'native'} kind
   * @param {Channel} channel
   */
  constructor(kind, channel) {
    this.kind = kind;
    this.#channel = channel;
    channel.receive = (header, payload) => this.#receive(header, payload);
    channel.closed = (why) => this.#end(new EngineError('disconnected', why));
  }

  /** The adapter, and what its device holds now. @returns {Promise<Device>} */
  device() {
    return this.#request({ type: 'device', version });
  }

  /**
   * Opens a checkpoint; the one before is closed. Its weights are read when a direction is first used, which
   * the job tells by `loading` events: a File must stay readable.
   * @param {From} from
   * @param {{precision?: Precision, force?: boolean, progress?: (p: Loading) => void, signal?: AbortSignal}} [options]
   *   force takes a checkpoint that `flat` was said of; progress is of a download
   * @returns {Promise<Model>}
   */
  async open(from, { precision = 'auto', force = false, progress, signal } = {}) {
    const [source, id] = await this.#source(from, { progress, signal });
    const last = this.#model;
    try {
      const model = await this.#request({ type: 'open', source, precision, force }, { signal });
      this.#model = id;
      this.#sources.delete(last ?? 0);
      return model;
    } catch (error) {
      this.#sources.delete(id);
      throw error;
    }
  }

  /**
   * What a job will need, without running it. A job that doesn't fit is a plan with fits false, not an error.
   * @param {PlanOptions} options
   * @returns {Promise<Plan>}
   */
  plan(options) {
    return this.#request({ type: 'plan', options });
  }

  /** How fast the device is, for the open checkpoint's precision: takes a tenth of a second. @returns {Promise<Speed>} */
  measure() {
    return this.#request({ type: 'measure' });
  }

  /**
   * What a latent file holds, for planning.
   * @param {From} from
   * @param {Options} [options] of which independent and packed count
   * @returns {Promise<import('./protocol.js').LatentInfo>}
   */
  async inspect(from, options = {}) {
    const [source, id] = await this.#source(from, {});
    return this.#request({ type: 'inspect', source, options }).finally(() => this.#sources.delete(id));
  }

  /**
   * Decodes a latent: .safetensors, .latent or .npy by its name.
   * @param {From} latent
   * @param {Options & {signal?: AbortSignal}} [options]
   * @returns {Job}
   */
  decode(latent, { signal, ...options } = {}) {
    return this.#job(signal, async (start) => {
      const [source, id] = await this.#source(latent, { signal });
      await start({ type: 'decode', source, options }).finally(() => this.#sources.delete(id));
    });
  }

  /**
   * Encodes a clip; its latent comes as an event.
   * @param {Clip} clip
   * @param {Options & {signal?: AbortSignal}} [options]
   * @returns {Job}
   */
  encode(clip, { signal, ...options } = {}) {
    return this.#job(signal, (start) => start({ type: 'encode', clip: info(clip), options }), clip);
  }

  /**
   * Encodes a clip, decodes it again and compares.
   * @param {Clip} clip
   * @param {Options & {signal?: AbortSignal}} [options]
   * @returns {Job}
   */
  roundtrip(clip, { signal, ...options } = {}) {
    return this.#job(signal, (start) => start({ type: 'roundtrip', clip: info(clip), options }), clip);
  }

  /** Ends the engine, and the worker or connection with it. */
  close() {
    this.#send({ type: 'close' });
    this.#channel.close();
    this.#end(new EngineError('disconnected', 'the engine was closed'));
  }

  /**
   * Registers what a request reads from.
   * @param {From} from
   * @param {{progress?: (p: Loading) => void, signal?: AbortSignal}} options
   * @returns {Promise<[object, number]>} what to send, and the source's number
   */
  async #source(from, options) {
    if (typeof from === 'object' && 'path' in from) return [from, 0];
    const source = await openSource(from, options).catch((error) => {
      throw new EngineError(options.signal?.aborted ? 'cancelled' : 'bad_input', error.message);
    });
    const id = ++this.#last;
    this.#sources.set(id, source);
    return [{ id, name: source.name, size: source.size }, id];
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
    const job = new Job(stop, (id, seq) => this.#send({ type: 'ack', id, seq }));
    const start = async (/** @type {Header} */ header) => {
      const done = await this.#request(header, { signal: stop.signal, clip, event: (e, payload) => job.push(e, payload) });
      job.push({ type: 'done', ...done });
      return done;
    };
    run(start).then(() => job.end(), (error) => job.end(error));
    return job;
  }

  /**
   * Sends a request and waits for its result.
   * @param {Header} header
   * @param {Partial<Request> & {signal?: AbortSignal}} [options]
   * @returns {Promise<any>}
   */
  #request(header, { signal, clip, event } = {}) {
    if (this.#gone) return Promise.reject(this.#gone);
    if (signal?.aborted) return Promise.reject(new EngineError('cancelled', 'cancelled'));
    const id = ++this.#last;
    let abort = () => {};
    return new Promise((resolve, reject) => {
      abort = () => { // the engine's own answer, a moment later, finds nobody
        this.#requests.delete(id);
        this.#send({ type: 'cancel', id });
        reject(new EngineError('cancelled', 'cancelled'));
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.#requests.set(id, { resolve, reject, clip, event });
      this.#send({ ...header, id });
    }).finally(() => signal?.removeEventListener('abort', abort));
  }

  /**
   * @param {Header} header
   * @param {ArrayBuffer|Uint8Array<ArrayBuffer>} [payload]
   */
  #send(header, payload) {
    if (!this.#gone) this.#channel.send(header, payload);
  }

  /**
   * @param {Header} header
   * @param {ArrayBuffer} payload
   */
  #receive(header, payload) {
    const id = header.id ?? 0;
    const request = this.#requests.get(id);
    switch (header.type) {
      case 'result':
        this.#requests.delete(id);
        return request?.resolve(header.value);
      case 'error': {
        const error = new EngineError(header.code, header.message);
        if (id === 0) return this.#end(error);
        this.#requests.delete(id);
        return request?.reject(error);
      }
      case 'read':
        return this.#answer(header, this.#read(header));
      case 'pixels':
        return this.#answer(header, this.#pixels(request, header.frame));
      default:
        return request?.event?.(header, payload);
    }
  }

  /** @param {Header} header */
  async #read(header) {
    const source = this.#sources.get(header.source);
    if (!source) throw new Error('the file is no longer open');
    return source.read(header.offset, header.length);
  }

  /**
   * @param {Request|undefined} request
   * @param {number} t
   */
  async #pixels(request, t) {
    if (!request?.clip) throw new Error('the clip is no longer open');
    const rgba = await request.clip.readFrame(t);
    return new Uint8Array(rgba.buffer, rgba.byteOffset, rgba.byteLength);
  }

  /**
   * @param {Header} header what the engine asked for
   * @param {Promise<ArrayBuffer|Uint8Array<ArrayBuffer>>} bytes
   */
  #answer({ id, read }, bytes) {
    bytes.then(
      (payload) => this.#send({ type: 'bytes', id, read }, payload),
      (error) => this.#send({ type: 'bytes', id, read, error: String(error?.message ?? error) }),
    );
  }

  /** @param {EngineError} error */
  #end(error) {
    this.#gone ??= error;
    for (const request of this.#requests.values()) request.reject(this.#gone);
    this.#requests.clear();
    this.#sources.clear();
  }
}

/**
 * A running job: `for await` gives its events, `done` last. It begins at once. The engine stays at most a few
 * pictures ahead of the loop; leaving the loop early cancels.
 * @implements {AsyncIterable<JobEvent>}
 */
export class Job {
  /** @type {JobEvent[]} */ #events = [];
  /** @type {(() => void)|undefined} */ #wake;
  #ended = false;
  /** @type {unknown} */ #error;
  /** @type {AbortController} */ #stop;
  /** @type {(id: number, seq: number) => void} */ #ack;
  #id = 0;

  /**
   * @param {AbortController} stop
   * @param {(id: number, seq: number) => void} ack
   */
  constructor(stop, ack) {
    this.#stop = stop;
    this.#ack = ack;
  }

  /** Cancels: the loop throws an EngineError of code cancelled, at once. The engine ends the job meanwhile. */
  cancel() {
    this.#stop.abort();
  }

  async *[Symbol.asyncIterator]() {
    try {
      for (;;) {
        const event = this.#events.shift();
        if (event) {
          yield event;
          if ('seq' in event) this.#ack(this.#id, event.seq);
        } else if (this.#ended) {
          if (this.#error) throw this.#error;
          return;
        } else {
          await new Promise((resolve) => { this.#wake = () => resolve(undefined); });
        }
      }
    } finally {
      this.cancel();
    }
  }

  /**
   * For the engine.
   * @param {Header} header
   * @param {ArrayBuffer} [payload]
   */
  push({ id, ...header }, payload) {
    this.#id = id ?? this.#id;
    this.#events.push(event(header, payload));
    this.#wake?.();
  }

  /**
   * For the engine.
   * @param {unknown} [error]
   */
  end(error) {
    this.#ended = true;
    this.#error = error;
    if (error instanceof EngineError && error.code === 'cancelled') this.#events.length = 0;
    this.#wake?.();
  }
}

/**
 * The event that a message is.
 * @param {any} header
 * @param {ArrayBuffer} [payload]
 * @returns {JobEvent}
 */
function event(header, payload) {
  switch (header.type) {
    case 'tile':
    case 'frame':
      header.rgba = new Uint8ClampedArray(payload ?? new ArrayBuffer(0));
      break;
    case 'latent':
      header.file = new File([payload ?? ''], header.name, { type: 'application/octet-stream' });
      break;
    case 'quality':
      header.psnr ??= Infinity;
  }
  return header;
}

/**
 * @param {Clip} clip
 * @returns {import('./protocol.js').ClipInfo}
 */
function info({ frames, height, width, fps }) {
  return { frames, height, width, fps };
}

/**
 * @typedef {object} Request
 * @property {(value: any) => void} resolve
 * @property {(error: Error) => void} reject
 * @property {Clip} [clip]
 * @property {(header: Header, payload: ArrayBuffer) => void} [event]
 */
