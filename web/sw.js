// The service worker: stores the files of this build in the browser, so that the page
// and its demo run without a network. Files are stored by the hash of their bytes, so
// that a newer build downloads only what has changed.

/** Hashes of the build's files, as browsers check them, by path; '' is the page. @type {Record<string, string>} */
const files = {}; // filled in by tools/offline.js

/** Files that few visitors need: they are stored after the first download. */
const late = new Set(['tessera-all.wasm.gz']);

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const { scope } = worker.registration;
const store = `tessera ${scope}`;

/** The cache key of a file. @param {string} path */
const key = (path) => `${scope}${path}?${encodeURIComponent(files[path])}`;

/** Whether the connection is too expensive for downloads without asking. */
function dear() {
  const { saveData, type } = /** @type {{connection?: {saveData?: boolean, type?: string}}} */ (/** @type {unknown} */ (navigator)).connection ?? {};
  return saveData || type === 'cellular';
}

/** Stores the files that are missing. */
async function keep() {
  if (dear()) throw new Error('the page is not kept over this line');
  const cache = await caches.open(store);
  for (const path in files) if (!late.has(path)) await keepFile(cache, path);
}

/** Stores a missing file. The browser rejects bytes with another hash. @param {Cache} cache @param {string} path */
async function keepFile(cache, path) {
  if (await cache.match(key(path))) return;
  const response = await fetch(scope + path, { cache: 'no-cache', integrity: files[path] });
  if (!response.ok || response.redirected) throw new Error(`${response.url}: ${response.status}, or sent elsewhere`);
  await cache.put(key(path), response);
}

/** Removes files of older builds. */
async function tidy() {
  const cache = await caches.open(store);
  const mine = new Set(Object.keys(files).map(key));
  for (const { url } of await cache.keys()) if (!mine.has(url)) await cache.delete(url);
}

/**
 * Answers a range with the whole file, as hosts may; the page handles that.
 * @param {Request} request
 * @param {string} path
 */
async function answer(request, path) {
  const cache = await caches.open(store);
  if (late.has(path)) await keepFile(cache, path).catch(() => {}); // no network, a full disk, or the host has a newer build
  return await cache.match(key(path)) ?? fetch(request);
}

worker.addEventListener('install', (event) => event.waitUntil(keep()));
worker.addEventListener('activate', (event) => event.waitUntil(tidy()));
worker.addEventListener('fetch', (event) => {
  const { origin, pathname } = new URL(event.request.url);
  const path = (origin + pathname).replace(scope, '').replace(/^index\.html$/, '');
  if (event.request.method === 'GET' && Object.hasOwn(files, path)) event.respondWith(answer(event.request, path));
});
