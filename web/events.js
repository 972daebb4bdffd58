// The events of a running job, as an async iterator, and the error of a request.

/** @import {Code, Header, JobEvent} from './protocol.js' */

/** An engine's error, with the engine's message. */
export class EngineError extends Error {
  /**
   * @param {Code} code
   * @param {string} message
   * @param {string} [detail] the evidence, such as names of tensors
   */
  constructor(code, message, detail = '') {
    super(message);
    this.name = 'EngineError';
    this.code = code;
    this.detail = detail;
  }
}

/**
 * A running job: `for await` yields its events, `done` last. The job starts at once. The engine stays at most a few
 * pictures ahead of the loop; leaving the loop early cancels the job.
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

  /** Cancels: the loop throws an EngineError with code cancelled at once. Meanwhile the engine ends the job. */
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
   * Called by the engine.
   * @param {Header} header
   * @param {ArrayBuffer} [payload]
   */
  push({ id, ...header }, payload) {
    this.#id = id ?? this.#id;
    this.#events.push(event(header, payload));
    this.#wake?.();
  }

  /**
   * Called by the engine.
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
 * Converts a message to an event.
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
