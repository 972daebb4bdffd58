// Where a checkpoint or a latent comes from: a File or Blob, or a URL. The engine reads
// by range and never holds a whole file in memory.

/**
 * @typedef {object} Source
 * @property {string} name
 * @property {number} size bytes
 * @property {(offset: number, length: number) => Promise<ArrayBuffer>} read
 */

/** @typedef {{loaded: number, total: number}} Loading bytes; total 0 when unknown */

/** Files from this size on are never downloaded whole. */
const large = 32 << 20;

/** Bytes of a file's first request: enough for most headers. */
const head = 64 << 10;

/** Addresses that the page's policy has blocked. @type {Set<string>} */
const refused = new Set();
document.addEventListener('securitypolicyviolation', (e) => refused.add(e.blockedURI));

/**
 * @param {Blob|File|string|Source} from a string is a URL
 * @param {{progress?: (p: Loading) => void, signal?: AbortSignal}} [options] progress of a download
 * @returns {Promise<Source>}
 */
export async function openSource(from, options = {}) {
  if (typeof from === 'string') return openURL(new URL(from, document.baseURI), options);
  return 'read' in from ? from : blobSource(from, 'name' in from ? from.name : 'blob');
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
 * A large file is read by range. A small one is downloaded whole once more than its head is needed.
 * @param {URL} url
 * @param {{progress?: (p: Loading) => void, signal?: AbortSignal}} options
 * @returns {Promise<Source>}
 */
async function openURL(url, { progress, signal }) {
  const name = nameOf(url);
  const response = await get(url, { headers: range(0, head), signal });
  const size = await sizeOf(url, response);
  if (response.status !== 206) {
    if (!(size < large)) throw new Error(`${url}: ${url.host} sends large files only whole, expected ranges: download it and choose the file`);
    return blobSource(await download(response, size, progress), name);
  }
  const first = await response.arrayBuffer();
  /** @type {Promise<Blob>|undefined} */ let whole;
  return {
    name, size,
    async read(offset, length) {
      if (offset + length <= first.byteLength) return first.slice(offset, offset + length);
      if (size >= large) return readRange(url, offset, length, size);
      whole ??= get(url).then((r) => download(r, size, progress));
      whole.catch(() => { whole = undefined; });
      return (await whole).slice(offset, offset + length).arrayBuffer();
    },
  };
}

/** The file's name. @param {URL} url */
function nameOf(url) {
  const last = url.pathname.split('/').pop() || url.host;
  try {
    return decodeURIComponent(last);
  } catch { // a stray %
    return last;
  }
}

/**
 * @param {number} offset
 * @param {number} length
 */
const range = (offset, length) => ({ Range: `bytes=${offset}-${offset + length - 1}` });

/**
 * @param {URL} url
 * @param {RequestInit} [options]
 */
async function get(url, options) {
  const response = await fetch(url, options).catch(async (error) => {
    if (options?.signal?.aborted || url.origin === location.origin) throw error;
    await new Promise((resolve) => { setTimeout(resolve, 100); }); // policy violations are reported after the error
    if (refused.has(url.href)) throw new Error(`${url}: this page may not read http:, expected https: download it and choose the file`);
    throw new Error(`${url}: ${url.host} is not there, or does not allow other pages to read (CORS): download it and choose the file`);
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response;
}

/**
 * A file's size. Other sites may hide it in the answer to a range.
 * @param {URL} url
 * @param {Response} response
 */
async function sizeOf(url, response) {
  const told = /\/(\d+)$/.exec(response.headers.get('Content-Range') ?? '')?.[1];
  if (told) return Number(told);
  if (response.headers.has('Content-Encoding')) return 0;
  const from = response.status === 206 ? await get(url, { method: 'HEAD' }) : response;
  const size = Number(from.headers.get('Content-Length') ?? 0);
  if (!size && response.status === 206) throw new Error(`${url}: ${url.host} does not tell how large it is: download it and choose the file`);
  return size;
}

/**
 * @param {URL} url
 * @param {number} offset
 * @param {number} length
 * @param {number} size of the file
 */
async function readRange(url, offset, length, size) {
  const response = await get(url, { headers: range(offset, length) });
  if (response.status !== 206) throw new Error(`${url}: ${response.status} ${response.statusText}, expected 206 for a range`);
  const [bytes, want] = [await response.arrayBuffer(), Math.min(length, size - offset)];
  if (bytes.byteLength !== want) throw new Error(`${url}: ${bytes.byteLength} bytes from ${offset} on, expected ${want}: the file has changed or the line broke`);
  return bytes;
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
