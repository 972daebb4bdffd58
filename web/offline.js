// The page without a network: a service worker (sw.js) stores it. A newer build takes
// over once no tab uses the older one. The page can be installed.

import { at } from './dom.js';

/** @typedef {Event & {prompt: () => Promise<unknown>}} InstallEvent the event of browsers that can install a page */

const workers = /** @type {ServiceWorkerContainer|undefined} */ (navigator.serviceWorker); // undefined over http
const pause = (/** @type {number} */ ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Whether a worker belongs to the page, not to a whole site. @param {ServiceWorkerRegistration|undefined} registration */
const own = (registration) => registration?.scope === new URL('.', location.href).href;

/**
 * Stores the page in this browser when it is idle, and says so.
 * @param {() => boolean} calm whether it is ready and idle
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
  await workers.register('sw.js').catch(() => {}); // the host lacks it, or the browser stores nothing
}

/** Shows that a newer build waits until the older one's tabs close. @param {ServiceWorkerRegistration} registration */
function tellNewer(registration) {
  const tell = () => { at('newer').hidden = !registration.waiting; };
  registration.addEventListener('updatefound', () => registration.installing?.addEventListener('statechange', tell));
  tell();
}

/** Only the program stores the native program's page. */
export async function leave() {
  const registration = await workers?.getRegistration().catch(() => undefined);
  if (own(registration)) await registration?.unregister();
}

/** Shows a button if the browser can install the page. */
function listenInstall() {
  addEventListener('beforeinstallprompt', (event) => {
    event.preventDefault();
    at('install').hidden = false;
    at('install').onclick = () => {
      at('install').hidden = true;
      void /** @type {InstallEvent} */ (event).prompt().catch(() => {}); // the browser has already asked
    };
  });
  addEventListener('appinstalled', () => { at('install').hidden = true; });
}
