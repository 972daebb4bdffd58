// Files by address: the fields for addresses, the places where checkpoints are
// published, and the link that shares the bench with others.

import { at, input as field } from './dom.js';
import { bytes, t } from './i18n.js';
import { element } from './plan.js';
import { places } from './places.js';
import { openSource } from './source.js';

/** @import {From} from './engine.js' */
/** @import {Loading, Source} from './source.js' */
/** @import {Checkpoint, Input} from './workbench.js' */

/** Latents below this size are downloaded whole, so that they can be shown. */
const small = 32 << 20;

/** The addresses in a link, '' if it has none. @typedef {{model: string, latent: string}} Addresses */

/**
 * Parses an address that the page may read.
 * @param {string} text
 * @returns {URL}
 */
export function parse(text) {
  const url = URL.parse(text.trim());
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error(`${text.trim() || '""'}: expected an address that begins with https:// or http://`);
  if (url.username || url.password) throw new Error(`${url.host}: the address holds a user name or a password, and browsers read no such address`);
  url.hash = '';
  return url;
}

/** Whether a link may contain an address: its query may be a secret key. @param {URL} url */
const shareable = (url) => url.search === '' || url.search === '?download=true';

/**
 * Opens a checkpoint at an address; it is read by range.
 * @param {string} text
 * @param {(p: Loading) => void} progress
 * @returns {Promise<Checkpoint>}
 */
export async function openCheckpoint(text, progress) {
  const { href } = parse(text);
  const from = await openSource(href, { progress });
  return { name: from.name, from, address: href };
}

/**
 * Opens a latent at an address; a small one is downloaded.
 * @param {string} text
 * @param {(p: Loading) => void} progress
 * @returns {Promise<Input & {latent: From}>}
 */
export async function openLatent(text, progress) {
  const { href } = parse(text);
  const from = await openSource(href, { progress });
  if (!/\.(safetensors|latent|npy|pth?)$/i.test(from.name)) throw new Error(`${from.name}: expected a latent, which is .safetensors, .latent, .npy or .pt`);
  return { name: from.name, latent: from.size < small ? await whole(from) : from, address: href };
}

/** @param {Source} from */
async function whole(from) {
  return new File([await from.read(0, from.size)], from.name);
}

/**
 * The addresses of the checkpoint and the latent on the bench that a link may contain.
 * @param {Checkpoint} checkpoint
 * @param {Input|undefined} input
 * @returns {{addresses: Addresses, withheld: boolean}} withheld: whether an address was left out
 */
export function ofBench(checkpoint, input) {
  const [model, latent] = [checkpoint.address, input?.address].map((a) => (a ? new URL(a) : undefined));
  const told = (/** @type {URL|undefined} */ url) => (url && shareable(url) ? url.href : '');
  return { addresses: { model: told(model), latent: told(latent) }, withheld: [model, latent].some((url) => url && !shareable(url)) };
}

/**
 * The sites of a link's addresses, without the page's own.
 * @param {Addresses} addresses
 */
export function sites({ model, latent }) {
  const hosts = [model, latent].filter(Boolean).map(parse).filter((url) => url.origin !== location.origin).map((url) => url.host);
  return [...new Set(hosts)].join(', ');
}

/**
 * Listens to the fields.
 * @param {(text: string) => Promise<void>} checkpoint opens one at an address
 * @param {(text: string) => Promise<void>} latent
 */
export function listenAddresses(checkpoint, latent) {
  for (const [kind, take] of /** @type {const} */ ([['model', checkpoint], ['latent', latent]])) {
    at(`${kind}-address-form`).onsubmit = (e) => {
      e.preventDefault();
      void take(field(`${kind}-address`).value);
    };
  }
}

/** Fills the fields with a link's addresses. @param {Addresses} addresses */
export function showAddresses({ model, latent }) {
  for (const [kind, address] of Object.entries({ model, latent })) {
    if (!address) continue;
    field(`${kind}-address`).value = address;
    /** @type {HTMLDetailsElement} */ (at(`${kind}-address-form`).closest('details')).open = true;
  }
}

/** Lists where checkpoints are published, in the page's language. */
export function showPlaces() {
  at('places').replaceChildren(...places.map(({ model, file, from, path, size, licence }) => {
    const li = element('li');
    const link = /** @type {HTMLAnchorElement} */ (element('a', '', `${from}: ${file}`));
    link.href = `https://huggingface.co/${from}`;
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
    const use = /** @type {HTMLButtonElement} */ (element('button', 'quiet', t('places.use')));
    use.type = 'button'; // only fills the field; the user opens the address there
    use.setAttribute('aria-label', `${t('places.use')}: ${file}`);
    use.onclick = () => {
      showAddresses({ model: `https://huggingface.co/${from}/resolve/main/${path}`, latent: '' });
      field('model-address').focus();
    };
    li.append(element('span', '', model), link, element('span', 'hint', `${bytes(size)} · ${licence ?? t('places.licence')}`), use);
    return li;
  }));
}
