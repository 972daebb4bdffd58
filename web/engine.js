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

/** @typedef {Blob|File|string|{path: string}|Source} From a string is a URL; a path is in the native engine's own folder; a source reads by itself */

/** Requests that an engine answers one after another. */
const inOrder = new Set(['open', 'measure', 'decode', 'encode', 'roundtrip']);

export class Engine {
  /** @type {Channel} */ #channel;
  /** @type {(() => Channel)|undefined} */ #larger; // the engine of all families, while a smaller one runs
  /** @type {Promise<unknown>|undefined} */ #opening;
  /** @type {Map<number, Request>} */ #requests = new Map();
  /** @type {Map<number, Source>} */ #sources = new Map();
  #last = 0; // id given out
  /** @type {number|undefined} */ #model; // source of the open checkpoint
  /** @type {Header|undefined} */ #opened; // what it was asked for with
  /** @type {EngineError|undefined} */ #gone;

  /**
   * @param {'browser'|'native'} kind
   * @param {Channel} channel
   * @param {() => Channel} [larger] starts an engine that may know checkpoints which channel's doesn't
   */
  constructor(kind, channel, larger) {
    this.kind = kind;
    this.#larger = larger;
    this.#channel = this.#listen(channel);
  }

  /** @param {Channel} channel */
  #listen(channel) {
    channel.receive = (header, payload) => this.#receive(channel, header, payload);
    channel.closed = (why) => this.#lost(channel, new EngineError('disconnected', why));
    return channel;
  }

  /** The adapter, and what its device holds now. @returns {Promise<Device>} */
  device() {
    return this.#request({ type: 'device', version });
  }

  /**
   * Opens a checkpoint; the one before is closed. Its weights are read when a direction is first used, which
   * the job tells by `loading` events: a File must stay readable.
   * @param {From} from
   * @param {{precision?: Precision, force?: boolean, progress?: (p: Loading) => void, larger?: () => void, signal?: AbortSignal}} [options]
   *   force takes a checkpoint that `flat` was said of; progress is of a download; larger is called when the engine of
   *   all families is loaded for this checkpoint
   * @returns {Promise<Model>}
   */
  async open(from, { precision = 'auto', force = false, progress, larger, signal } = {}) {
    const [source, id] = await this.#source(from, { progress, signal });
    while (this.#opening) await this.#opening;
    const last = this.#model;
    try {
      const model = await this.#alone(this.#open({ type: 'open', source, precision, force }, larger, signal));
      this.#model = id;
      this.#sources.delete(last ?? 0);
      return model;
    } catch (error) {
      this.#sources.delete(id);
      throw error;
    }
  }

  /**
   * Jobs wait for an opening.
   * @param {Promise<Model>} opening
   */
  #alone(opening) {
    this.#opening = opening.then(() => {}, () => {}).then(() => { this.#opening = undefined; });
    return opening;
  }

  /**
   * Opens a checkpoint with this engine, or with a larger one that then takes its place. The engine
   * has answered all jobs by then: it runs them in order, and later ones wait here.
   * @param {Header} header
   * @param {(() => void)|undefined} tell
   * @param {AbortSignal|undefined} signal
   * @returns {Promise<Model>}
   */
  async #open(header, tell, signal) {
    try {
      const model = await this.#request(header, { signal, channel: this.#channel });
      this.#opened = header;
      return model;
    } catch (error) {
      if (!this.#larger || !(error instanceof EngineError) || error.code !== 'unknown_model') throw error;
    }
    return this.#enlarge(header, tell, signal);
  }

  /**
   * Opens a checkpoint with the larger engine, which then takes this one's place.
   * @param {Header} header
   * @param {(() => void)|undefined} tell
   * @param {AbortSignal|undefined} signal
   * @returns {Promise<Model>}
   */
  async #enlarge(header, tell, signal) {
    tell?.();
    const small = this.#channel;
    const channel = this.#listen(/** @type {() => Channel} */ (this.#larger)());
    try {
      await this.#request({ type: 'device', version }, { signal, channel }).catch((error) => {
        throw ['disconnected', 'failed'].includes(error.code) ? new EngineError('unknown_model', `the engine of all models did not load: ${error.message}`) : error;
      });
      const model = await this.#request(header, { signal, channel });
      this.#channel = channel;
      this.#larger = undefined;
      this.#opened = header;
      const left = [...this.#requests.values()].filter((r) => r.channel === small); // such as a plan
      void Promise.allSettled(left.map((r) => r.promise)).then(() => small.close());
      return model;
    } catch (error) {
      channel.close();
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
   * @param {Options & {signal?: AbortSignal, sketch?: From, larger?: () => void}} [options] sketch: a tiny autoencoder,
   *   whose `preview` events come first; larger is called when the engine of all families is loaded for it
   * @returns {Job}
   */
  decode(latent, { signal, sketch, larger, ...options } = {}) {
    return this.#job(signal, async (start) => {
      while (this.#opening) await this.#opening;
      if (sketch && this.#larger && this.#opened) await this.#alone(this.#enlarge(this.#opened, larger, signal));
      const [source, id] = await this.#source(latent, { signal });
      const [preview, tiny] = sketch ? await this.#source(sketch, { signal }) : [undefined, 0];
      await start({ type: 'decode', source, preview, options }).finally(() => {
        this.#sources.delete(id);
        this.#sources.delete(tiny);
      });
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
   * Sends a request and waits for its result. While a checkpoint is being opened, jobs wait for the engine that it needs.
   * @param {Header} header
   * @param {Partial<Request> & {signal?: AbortSignal}} [options]
   * @returns {Promise<any>}
   */
  #request(header, { signal, channel, clip, event } = {}) {
    if (this.#gone) return Promise.reject(this.#gone);
    if (signal?.aborted) return Promise.reject(new EngineError('cancelled', 'cancelled'));
    const id = ++this.#last;
    /** @type {Request} */ const request = { resolve() {}, reject() {}, promise: Promise.resolve(), channel, clip, event };
    request.promise = new Promise((resolve, reject) => Object.assign(request, { resolve, reject }));
    const abort = () => { // the engine's own answer, a moment later, finds nobody
      this.#requests.delete(id);
      if (request.channel) this.#send({ type: 'cancel', id }, undefined, request.channel);
      request.reject(new EngineError('cancelled', 'cancelled'));
    };
    const send = () => {
      if (!this.#requests.has(id)) return; // cancelled meanwhile
      request.channel ??= this.#channel;
      this.#send({ ...header, id }, undefined, request.channel);
    };
    signal?.addEventListener('abort', abort, { once: true });
    this.#requests.set(id, request);
    if (this.#opening && !channel && inOrder.has(header.type)) void this.#opening.then(send);
    else send();
    return request.promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  /**
   * @param {Header} header
   * @param {ArrayBuffer|Uint8Array<ArrayBuffer>} [payload]
   * @param {Channel} [channel]
   */
  #send(header, payload, channel = this.#channel) {
    if (!this.#gone) channel.send(header, payload);
  }

  /**
   * @param {Channel} channel
   * @param {Header} header
   * @param {ArrayBuffer} payload
   */
  #receive(channel, header, payload) {
    const id = header.id ?? 0;
    const request = this.#requests.get(id);
    switch (header.type) {
      case 'result':
        this.#requests.delete(id);
        return request?.resolve(header.value);
      case 'error': {
        const error = new EngineError(header.code, header.message);
        if (id === 0) return this.#lost(channel, error);
        this.#requests.delete(id);
        return request?.reject(error);
      }
      case 'read':
        return this.#answer(channel, header, this.#read(header));
      case 'pixels':
        return this.#answer(channel, header, this.#pixels(request, header.frame));
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
   * @param {Channel} channel
   * @param {Header} header what the engine asked for
   * @param {Promise<ArrayBuffer|Uint8Array<ArrayBuffer>>} bytes
   */
  #answer(channel, { id, read }, bytes) {
    bytes.then(
      (payload) => this.#send({ type: 'bytes', id, read }, payload, channel),
      (error) => this.#send({ type: 'bytes', id, read, error: String(error?.message ?? error) }, undefined, channel),
    );
  }

  /**
   * Ends this engine with its channel; of a larger one, that only the requests fail.
   * @param {Channel} channel
   * @param {EngineError} error
   */
  #lost(channel, error) {
    if (channel === this.#channel) return this.#end(error);
    for (const [id, request] of this.#requests) {
      if (request.channel !== channel) continue;
      this.#requests.delete(id);
      request.reject(error);
    }
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
    case 'preview':
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
 * @property {Promise<any>} promise
 * @property {Channel} [channel] that it was sent by
 * @property {Clip} [clip]
 * @property {(header: Header, payload: ArrayBuffer) => void} [event]
 */
