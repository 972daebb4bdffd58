// Files by their addresses: the fields that take one, where checkpoints come
// from, and the link that carries what is on the bench to somebody else.

import { at, input as field } from './dom.js';
import { bytes, t } from './i18n.js';
import { element } from './plan.js';
import { places } from './places.js';
import { openSource } from './source.js';

/** @import {From} from './engine.js' */
/** @import {Loading, Source} from './source.js' */
/** @import {Checkpoint, Input} from './workbench.js' */

/** Latents below this are read whole, so that they can be looked at. */
const small = 32 << 20;

/** Addresses of a link, '' where it has none. @typedef {{model: string, latent: string}} Addresses */

/**
 * An address as it may be read.
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

/** Whether a link may carry an address: what follows ? may be somebody's key. @param {URL} url */
const shareable = (url) => url.search === '' || url.search === '?download=true';

/**
 * Opens a checkpoint that stands at an address; it is read by range.
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
 * Opens a latent that stands at an address; a small one is fetched.
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
 * The addresses of what is on the bench that a link may carry.
 * @param {Checkpoint} checkpoint
 * @param {Input|undefined} input
 * @returns {{addresses: Addresses, withheld: boolean}} withheld: there is one that a link may not carry
 */
export function ofBench(checkpoint, input) {
  const [model, latent] = [checkpoint.address, input?.address].map((a) => (a ? new URL(a) : undefined));
  const told = (/** @type {URL|undefined} */ url) => (url && shareable(url) ? url.href : '');
  return { addresses: { model: told(model), latent: told(latent) }, withheld: [model, latent].some((url) => url && !shareable(url)) };
}

/**
 * The sites that a link's addresses are of, but for the page's own.
 * @param {Addresses} addresses
 */
export function sites({ model, latent }) {
  const hosts = [model, latent].filter(Boolean).map(parse).filter((url) => url.origin !== location.origin).map((url) => url.host);
  return [...new Set(hosts)].join(', ');
}

/**
 * Listens to the fields.
 * @param {(text: string) => Promise<void>} checkpoint takes one from an address
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

/** Puts a link's addresses into the fields. @param {Addresses} addresses */
export function showAddresses({ model, latent }) {
  for (const [kind, address] of Object.entries({ model, latent })) {
    if (!address) continue;
    field(`${kind}-address`).value = address;
    /** @type {HTMLDetailsElement} */ (at(`${kind}-address-form`).closest('details')).open = true;
  }
}

/** Lists where checkpoints come from, in the page's language. */
export function showPlaces() {
  at('places').replaceChildren(...places.map(({ model, file, from, path, size, licence }) => {
    const li = element('li');
    const link = /** @type {HTMLAnchorElement} */ (element('a', '', `${from}: ${file}`));
    link.href = `https://huggingface.co/${from}`;
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
    const use = /** @type {HTMLButtonElement} */ (element('button', 'quiet', t('places.use')));
    use.type = 'button'; // into the field: nothing is fetched before it is opened there
    use.setAttribute('aria-label', `${t('places.use')}: ${file}`);
    use.onclick = () => {
      showAddresses({ model: `https://huggingface.co/${from}/resolve/main/${path}`, latent: '' });
      field('model-address').focus();
    };
    li.append(element('span', '', model), link, element('span', 'hint', `${bytes(size)} · ${licence ?? t('places.licence')}`), use);
    return li;
  }));
}
