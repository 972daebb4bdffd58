// The page without a network: a service worker (sw.js) keeps it. A newer build
// takes over once no tab has the older one. The page can be installed.

import { at } from './dom.js';

/** @typedef {Event & {prompt: () => Promise<unknown>}} InstallEvent what browsers send that can install a page */

const workers = /** @type {ServiceWorkerContainer|undefined} */ (navigator.serviceWorker); // none by http
const pause = (/** @type {number} */ ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Whether a worker is the page's, and not a whole site's. @param {ServiceWorkerRegistration|undefined} registration */
const own = (registration) => registration?.scope === new URL('.', location.href).href;

/**
 * Keeps the page in this browser once it has nothing else to do, and says so.
 * @param {() => boolean} calm whether it is ready and runs nothing
 */
export async function keep(calm) {
  listenInstall();
  if (!workers) return;
  void workers.ready.then((registration) => {
    if (!own(registration)) return;
    at('offline').hidden = false;
    tellNewer(registration);
  });
  for (let n = 0; n < 2; n = calm() ? n + 1 : 0) await pause(2000);
  await workers.register('sw.js').catch(() => {}); // a host without it, or a browser that keeps nothing
}

/** Says that a newer build waits for the older one's tabs. @param {ServiceWorkerRegistration} registration */
function tellNewer(registration) {
  const tell = () => { at('newer').hidden = !registration.waiting; };
  registration.addEventListener('updatefound', () => registration.installing?.addEventListener('statechange', tell));
  tell();
}

/** The page of the native program is kept by the program alone. */
export async function leave() {
  const registration = await workers?.getRegistration().catch(() => undefined);
  if (own(registration)) await registration?.unregister();
}

/** Shows a button where the browser would install the page. */
function listenInstall() {
  addEventListener('beforeinstallprompt', (event) => {
    event.preventDefault();
    at('install').hidden = false;
    at('install').onclick = () => {
      at('install').hidden = true;
      void /** @type {InstallEvent} */ (event).prompt().catch(() => {}); // it was asked already
    };
  });
  addEventListener('appinstalled', () => { at('install').hidden = true; });
}
