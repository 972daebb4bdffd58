// The worker that runs the engine: loads tessera.wasm and carries messages
// between it and engine.js. See protocol.js for what they are.

import './wasm_exec.js';
import { openSpool } from './spool.js';

/** @import {Header} from './protocol.js' */

/** Messages that came before the engine was ready. @type {[string, Uint8Array|undefined][]|undefined} */
let early = [];
let last = ''; // line that Go has printed
/** @type {WebAssembly.Memory|undefined} */
let memory;

/** What cmd/wasm calls, and `receive`, which it sets. */
const bridge = {
  /** @type {((text: string, payload?: Uint8Array) => void)|undefined} */
  receive: undefined,

  /**
   * @param {string} text
   * @param {Uint8Array<ArrayBuffer>} [payload]
   */
  send(text, payload) {
    post(JSON.parse(text), payload?.buffer);
  },

  ready() {
    for (const [text, payload] of early ?? []) bridge.receive?.(text, payload);
    early = undefined;
  },

  /** @param {string} why */
  failed(why) {
    last = why;
  },

  spool: openSpool,

  /** Bytes that the engine has; wasm never gives any back. */
  memory: () => memory?.buffer.byteLength ?? 0,
};

/**
 * @param {Header} header
 * @param {ArrayBuffer} [payload]
 */
function post(header, payload) {
  self.postMessage({ header, payload }, { transfer: payload ? [payload] : [] });
}

self.onmessage = ({ data }) => {
  const text = JSON.stringify(data.header);
  const payload = data.payload && new Uint8Array(data.payload);
  if (early) early.push([text, payload]);
  else bridge.receive?.(text, payload);
};

/** Runs the engine until it ends, which it only does when something is wrong. */
async function run() {
  const go = new Go();
  const url = new URL('tessera.wasm', import.meta.url);
  const { instance } = await WebAssembly.instantiateStreaming(fetch(url), go.importObject);
  memory = /** @type {WebAssembly.Memory} */ (instance.exports.mem);
  const print = fs.writeSync;
  fs.writeSync = (fd, bytes) => {
    last = new TextDecoder().decode(bytes).split('\n').find((line) => /^(panic|fatal error|runtime)/.test(line)) ?? last;
    return print(fd, bytes);
  };
  await go.run(instance);
}

Object.assign(globalThis, { tessera: bridge });
run().catch((error) => { last = String(error); }).then(() => {
  post({ type: 'error', id: 0, code: 'failed', message: `the engine has stopped: ${last || 'the console says why'}` });
});
