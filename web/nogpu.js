// Whether this browser offers a GPU, tested before any download for it, and what the
// user can do without one. Only this file looks at the browser's name, to show its
// advice first.

import { at } from './dom.js';

/** @returns {Promise<'no_webgpu'|'no_adapter'|undefined>} */
export async function lack() {
  const { gpu } = /** @type {{gpu?: {requestAdapter(o: object): Promise<object|null>}}} */ (navigator);
  if (!gpu) return 'no_webgpu';
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
  return adapter ? undefined : 'no_adapter';
}

/**
 * Hides what needs a GPU, and says how to get one.
 * @param {boolean} lacking
 */
export function showLack(lacking) {
  document.body.dataset.gpu = lacking ? 'none' : '';
  if (lacking) at('progress-text').textContent = '';
  at('nogpu').hidden = !lacking;
  at('nogpu-insecure').hidden = isSecureContext;
  const own = at('nogpu-list').querySelector(`[data-for=${browser()}]`);
  own?.setAttribute('aria-current', 'true');
  if (own) at('nogpu-list').prepend(own);
}

function browser() {
  const name = navigator.userAgent;
  if (/Firefox\//.test(name)) return 'firefox';
  if (/Chrom(e|ium)\//.test(name)) return /Linux(?!.*Android)/.test(name) ? 'linux' : 'chrome';
  return /Safari\//.test(name) ? 'safari' : 'chrome';
}
