// The worker that runs the engine: it loads tessera.wasm.gz or tessera-all.wasm.gz, by
// its own name, and passes messages between the engine and engine.js. protocol.js
// describes them.

import './wasm_exec.js';
import { openSpool } from './spool.js';

/** @import {Header} from './protocol.js' */

/** Messages that arrived before the engine was ready. @type {[string, Uint8Array|undefined][]|undefined} */
let early = [];
let last = ''; // last line printed by Go
/** @type {WebAssembly.Memory|undefined} */
let memory;

/** The functions that cmd/wasm calls, and `receive`, which it sets. */
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

  /** Bytes of the engine's memory; wasm never returns any. */
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

/**
 * Fetches the engine from any host. The worker unpacks it, because many hosts compress no files, or only some types;
 * other hosts unpack .gz files themselves.
 */
async function fetchEngine() {
  // Bundlers require literals.
  const url = self.name === 'tessera-all' ? new URL('./tessera-all.wasm.gz', import.meta.url) : new URL('./tessera.wasm.gz', import.meta.url);
  const response = await fetch(url);
  if (!response.ok || !response.body) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  const reader = response.body.getReader();
  let { value, done } = await reader.read();
  const packed = value?.[0] === 0x1f;
  /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */
  const bytes = new ReadableStream({
    async pull(to) {
      if (done) return to.close();
      to.enqueue(/** @type {Uint8Array<ArrayBuffer>} */ (value));
      ({ value, done } = await reader.read());
    },
  });
  return new Response(packed ? bytes.pipeThrough(new DecompressionStream('gzip')) : bytes, { headers: { 'Content-Type': 'application/wasm' } });
}

/** Runs the engine until it ends, which happens only after an error. */
async function run() {
  const go = new Go();
  const wasm = await fetchEngine();
  const { instance } = 'instantiateStreaming' in WebAssembly
    ? await WebAssembly.instantiateStreaming(wasm, go.importObject)
    : await WebAssembly.instantiate(await wasm.arrayBuffer(), go.importObject);
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
