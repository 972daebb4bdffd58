// Where a checkpoint or a latent comes from: a File or Blob, or a URL. The engine
// reads by range and never has a file whole in memory.

/**
 * @typedef {object} Source
 * @property {string} name
 * @property {number} size bytes
 * @property {(offset: number, length: number) => Promise<ArrayBuffer>} read
 */

/** @typedef {{loaded: number, total: number}} Loading bytes; total 0 when unknown */

/** Files from this size on are read from their server by range, where it can. */
const ranged = 32 << 20;

/**
 * @param {Blob|File|string} from a string is a URL
 * @param {{progress?: (p: Loading) => void, signal?: AbortSignal}} [options] progress of a download
 * @returns {Promise<Source>}
 */
export async function openSource(from, options = {}) {
  if (typeof from === 'string') return openURL(new URL(from, document.baseURI), options);
  return blobSource(from, 'name' in from ? from.name : 'blob');
}

/**
 * @param {Blob} blob
 * @param {string} name
 * @returns {Source}
 */
function blobSource(blob, name) {
  return { name, size: blob.size, async read(offset, length) {
    return blob.slice(offset, offset + length).arrayBuffer().catch((error) => {
      throw new Error(`${name}: ${error.message}`);
    });
  } };
}

/**
 * A large file is read by range where the server offers that, anything else is
 * downloaded first.
 * @param {URL} url
 * @param {{progress?: (p: Loading) => void, signal?: AbortSignal}} options
 * @returns {Promise<Source>}
 */
async function openURL(url, { progress, signal }) {
  const name = decodeURIComponent(url.pathname.split('/').pop() || url.host);
  const response = await fetch(url, { signal });
  if (!response.ok || !response.body) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  const size = response.headers.has('Content-Encoding') ? 0 : Number(response.headers.get('Content-Length') ?? 0);
  if (size >= ranged && response.headers.get('Accept-Ranges') === 'bytes') {
    await response.body.cancel();
    return { name, size, read: (offset, length) => readRange(url, offset, length) };
  }
  return blobSource(await download(response, size, progress), name);
}

/**
 * @param {URL} url
 * @param {number} offset
 * @param {number} length
 */
async function readRange(url, offset, length) {
  const response = await fetch(url, { headers: { Range: `bytes=${offset}-${offset + length - 1}` } });
  if (response.status !== 206) throw new Error(`${url}: ${response.status} ${response.statusText}, expected 206 for a range`);
  return response.arrayBuffer();
}

/**
 * Reads a response into a Blob, which browsers keep on disk when it is large.
 * @param {Response} response
 * @param {number} total bytes, 0 when unknown
 * @param {((p: Loading) => void)|undefined} progress
 */
async function download(response, total, progress) {
  let loaded = 0;
  const count = new TransformStream({
    transform(chunk, controller) {
      loaded += chunk.byteLength;
      progress?.({ loaded, total });
      controller.enqueue(chunk);
    },
  });
  const body = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body);
  return new Response(body.pipeThrough(count)).blob();
}
