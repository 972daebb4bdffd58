// The service worker: keeps the files of this build in the browser, so that the
// page opens and runs its demo without a network. What is kept lies by the hash
// of its bytes, so that a newer build fetches only what has changed.

/** Hashes of the build's files, as browsers check them, by path; '' is the page. @type {Record<string, string>} */
const files = {}; // tools/offline.js puts them here

/** Files that few visitors need: they are kept once they were fetched. */
const late = new Set(['tessera-all.wasm.gz']);

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const { scope } = worker.registration;
const store = `tessera ${scope}`;

/** Where a file is kept. @param {string} path */
const key = (path) => `${scope}${path}?${encodeURIComponent(files[path])}`;

/** Whether the line is one that nothing is fetched over unasked. */
function dear() {
  const { saveData, type } = /** @type {{connection?: {saveData?: boolean, type?: string}}} */ (/** @type {unknown} */ (navigator)).connection ?? {};
  return saveData || type === 'cellular';
}

/** Keeps what isn't kept yet. */
async function keep() {
  if (dear()) throw new Error('the page is not kept over this line');
  const cache = await caches.open(store);
  for (const path in files) if (!late.has(path)) await keepFile(cache, path);
}

/** Keeps a file that isn't kept yet. The browser refuses bytes of another hash. @param {Cache} cache @param {string} path */
async function keepFile(cache, path) {
  if (await cache.match(key(path))) return;
  const response = await fetch(scope + path, { cache: 'no-cache', integrity: files[path] });
  if (!response.ok || response.redirected) throw new Error(`${response.url}: ${response.status}, or sent elsewhere`);
  await cache.put(key(path), response);
}

/** Removes what only older builds had. */
async function tidy() {
  const cache = await caches.open(store);
  const mine = new Set(Object.keys(files).map(key));
  for (const { url } of await cache.keys()) if (!mine.has(url)) await cache.delete(url);
}

/**
 * A range is answered with the whole file, as hosts may do it: the page takes that.
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
