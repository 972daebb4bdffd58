// The two ways to an engine: messages to a worker of this tab, or a websocket to the
// native program. protocol.js describes the messages.

import { frame, unframe } from './protocol.js';

/** @import {Header} from './protocol.js' */

/**
 * @typedef {object} Channel
 * @property {(header: Header, payload?: ArrayBuffer|Uint8Array<ArrayBuffer>) => void} send
 * @property {() => void} close
 * @property {(header: Header, payload: ArrayBuffer) => void} receive set by the engine
 * @property {(why: string) => void} closed set by the engine
 */

/** Bundlers find a worker only if its address and its options are literals. */
const workers = {
  'tessera': () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'tessera' }),
  'tessera-all': () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'tessera-all' }),
};

/**
 * @param {{worker?: string|URL}} options
 * @param {'tessera'|'tessera-all'} name of the engine, which worker.js loads
 * @returns {Channel}
 */
export function workerChannel(options, name) {
  const worker = options.worker ? new Worker(options.worker, { type: 'module', name }) : workers[name]();
  /** @type {Channel} */
  const channel = {
    send(header, payload) {
      const bytes = payload instanceof Uint8Array ? whole(payload) : payload;
      worker.postMessage({ header, payload: bytes }, bytes ? [bytes] : []);
    },
    close: () => worker.terminate(),
    receive() {},
    closed() {},
  };
  worker.onmessage = ({ data }) => channel.receive(data.header, data.payload);
  worker.onerror = (e) => channel.closed(`the worker failed: ${e.message || 'its script did not load'}`);
  return channel;
}

/**
 * A buffer with only these bytes.
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
function whole(bytes) {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
}

/**
 * @param {{url?: string|URL, token?: string}} options
 * @returns {Promise<Channel>}
 */
export function socketChannel(options) {
  const url = new URL(options.url ?? 'engine', document.baseURI);
  url.protocol = url.protocol.replace('http', 'ws');
  if (options.token) url.searchParams.set('token', options.token);
  const socket = new WebSocket(url);
  socket.binaryType = 'arraybuffer';
  /** @type {Channel} */
  const channel = {
    send(header, payload) {
      if (socket.readyState === WebSocket.OPEN) socket.send(frame(header, payload));
    },
    close: () => socket.close(1000),
    receive() {},
    closed() {},
  };
  socket.onmessage = ({ data }) => {
    const { header, payload } = unframe(data);
    channel.receive(header, payload);
  };
  return new Promise((resolve, reject) => {
    socket.onopen = () => resolve(channel);
    socket.onclose = (e) => {
      const why = `the connection to the native engine ended (${e.reason || e.code})`;
      channel.closed(why);
      reject(new Error(why));
    };
  });
}
