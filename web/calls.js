// Numbered requests to an engine and its answers, over a channel; over two channels
// while a larger engine replaces the smaller one.

import { EngineError } from './events.js';
import { openSource } from './source.js';

/** @import {Channel} from './channel.js' */
/** @import {From} from './engine.js' */
/** @import {Clip, Header} from './protocol.js' */
/** @import {Loading, Source} from './source.js' */

/** Requests that an engine runs one at a time. */
const inOrder = new Set(['open', 'measure', 'decode', 'encode', 'roundtrip']);

export class Calls {
  /** A checkpoint is being opened; later requests in order wait for it. @type {Promise<unknown>|undefined} */ opening;
  /** @type {Channel} */ #channel;
  /** @type {Map<number, Request>} */ #requests = new Map();
  /** @type {Map<number, Source>} */ #sources = new Map();
  #last = 0; // last id used
  /** @type {EngineError|undefined} */ #gone;

  /** @param {Channel} channel */
  constructor(channel) {
    this.#channel = this.listen(channel);
  }

  /** Receives the answers of a channel. @param {Channel} channel */
  listen(channel) {
    channel.receive = (header, payload) => this.#receive(channel, header, payload);
    channel.closed = (why) => this.#lost(channel, new EngineError('disconnected', why));
    return channel;
  }

  /** The channel for requests. */
  get channel() {
    return this.#channel;
  }

  /** Switches to another channel, and closes the old one after its last answer. @param {Channel} channel */
  move(channel) {
    const before = this.#channel;
    this.#channel = channel;
    const left = [...this.#requests.values()].filter((r) => r.channel === before); // such as a plan
    void Promise.allSettled(left.map((r) => r.promise)).then(() => before.close());
  }

  /**
   * Registers the source that a request reads from.
   * @param {From} from
   * @param {{progress?: (p: Loading) => void, signal?: AbortSignal}} options
   * @returns {Promise<[object, number]>} the message's source, and its number
   */
  async source(from, options) {
    if (typeof from === 'object' && 'path' in from) return [from, 0];
    const source = await openSource(from, options).catch((error) => {
      throw new EngineError(options.signal?.aborted ? 'cancelled' : 'bad_input', error.message);
    });
    const id = ++this.#last;
    this.#sources.set(id, source);
    return [{ id, name: source.name, size: source.size }, id];
  }

  /** Closes a source. @param {number} id */
  release(id) {
    this.#sources.delete(id);
  }

  /**
   * Sends a request and waits for its result. While a checkpoint opens, jobs wait for the engine that it needs.
   * @param {Header} header
   * @param {Partial<Request> & {signal?: AbortSignal}} [options]
   * @returns {Promise<any>}
   */
  request(header, { signal, channel, clip, event } = {}) {
    if (this.#gone) return Promise.reject(this.#gone);
    if (signal?.aborted) return Promise.reject(new EngineError('cancelled', 'cancelled'));
    const id = ++this.#last;
    /** @type {Request} */ const request = { resolve() {}, reject() {}, promise: Promise.resolve(), channel, clip, event };
    request.promise = new Promise((resolve, reject) => Object.assign(request, { resolve, reject }));
    const abort = () => { // the engine's answer arrives later and is ignored
      this.#requests.delete(id);
      if (request.channel) this.send({ type: 'cancel', id }, undefined, request.channel);
      request.reject(new EngineError('cancelled', 'cancelled'));
    };
    const send = () => {
      if (!this.#requests.has(id)) return; // cancelled meanwhile
      request.channel ??= this.#channel;
      this.send({ ...header, id }, undefined, request.channel);
    };
    signal?.addEventListener('abort', abort, { once: true });
    this.#requests.set(id, request);
    if (this.opening && !channel && inOrder.has(header.type)) void this.opening.then(send);
    else send();
    return request.promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  /**
   * @param {Header} header
   * @param {ArrayBuffer|Uint8Array<ArrayBuffer>} [payload]
   * @param {Channel} [channel]
   */
  send(header, payload, channel = this.#channel) {
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
        const error = new EngineError(header.code, header.message, header.detail);
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
   * @param {Header} header the engine's request
   * @param {Promise<ArrayBuffer|Uint8Array<ArrayBuffer>>} bytes
   */
  #answer(channel, { id, read }, bytes) {
    bytes.then(
      (payload) => this.send({ type: 'bytes', id, read }, payload, channel),
      (error) => this.send({ type: 'bytes', id, read, error: String(error?.message ?? error) }, undefined, channel),
    );
  }

  /**
   * Ends this engine when its channel is lost. If a larger engine's channel is lost, only its requests fail.
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

  /** Ends the engine and its worker or connection. */
  close() {
    this.send({ type: 'close' });
    this.#channel.close();
    this.#end(new EngineError('disconnected', 'the engine was closed'));
  }
}

/**
 * @typedef {object} Request
 * @property {(value: any) => void} resolve
 * @property {(error: Error) => void} reject
 * @property {Promise<any>} promise
 * @property {Channel} [channel] on which it was sent
 * @property {Clip} [clip]
 * @property {(header: Header, payload: ArrayBuffer) => void} [event]
 */
