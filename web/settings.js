// The choices that a link can contain: `#tile=128&overlap=32&task=decode`. Defaults are
// left out.

import { at } from './dom.js';

/** @import {Kind, Model, Options, Tiling} from './protocol.js' */

/**
 * @typedef {{tile: string, overlap: string, tiling: 'auto'|Tiling, as: 'auto'|Kind, packed: string, layout: string, frames: 'auto'|'clip'|'pictures', precision: 'auto'|'f32'|'f16',
 *   memory: string, format: '.safetensors'|'.latent'|'.npy'}} Choices memory in MiB
 */

const form = /** @type {HTMLFormElement} */ (document.getElementById('settings'));

/**
 * Names of the groups of radio buttons in the link, with their defaults. The engine is not among them: whoever opens a
 * shared link has another one.
 */
const groups = { task: 'decode' };

/** The addresses in the link. @type {import('./addresses.js').Addresses} */
let shared = { model: '', latent: '' };

/** Puts these addresses into the link. @param {import('./addresses.js').Addresses} addresses */
export function share(addresses) {
  shared = addresses;
  writeLink();
}

/** @type {Choices} */
const defaults = {
  tile: 'recommended', overlap: 'recommended', tiling: 'auto', as: 'auto', packed: '', layout: 'auto', frames: 'auto', precision: 'auto', memory: '0', format: '.safetensors',
};

/** The choices, also while a job runs: then the fields are disabled and FormData is empty. @returns {Choices} */
export function choices() {
  const names = /** @type {(keyof Choices)[]} */ (Object.keys(defaults));
  return /** @type {Choices} */ (Object.fromEntries(names.map((name) => [name, field(name).value])));
}

/** @param {keyof Choices} name */
const field = (name) => /** @type {HTMLSelectElement} */ (form.elements.namedItem(name));

/**
 * Choices as options for the engine. Recommended tiles may shrink to fit, except with diffusers' tiling.
 * @param {{tile: string, overlap: string}} recommended
 * @param {Model|undefined} model limits tilings and kinds; others are ignored
 * @param {string} [chosen] tile to use instead of the chosen one
 * @returns {Options}
 */
export function options(recommended, model, chosen) {
  const c = choices();
  if (chosen) c.tile = chosen;
  const tiling = model?.tilings.find((name) => name === c.tiling);
  const best = tiling === 'diffusers' ? { tile: '256', overlap: '64' } : recommended;
  const tile = c.tile === 'recommended' ? best.tile : c.tile;
  const own = c.overlap === 'recommended' || !!chosen && pixels(c.overlap) >= pixels(tile);
  const overlap = own ? String(Math.min(Number(best.overlap), half(tile))) : c.overlap;
  return {
    tile, overlap: tile === 'off' ? '0' : overlap, tiling, as: model?.kinds.find((name) => name === c.as), memory: Number(c.memory) * 2 ** 20, format: c.format,
    packed: acceptable.packed.test(c.packed) ? c.packed : undefined, layout: c.layout === 'auto' ? undefined : c.layout,
    shrink: c.tile === 'recommended' && tiling !== 'diffusers',
    independent: c.frames === 'auto' ? undefined : c.frames === 'pictures',
  };
}

/** The smaller side of a choice in pixels. @param {string} value */
const pixels = (value) => Math.min(...value.split('x').map(Number));

/** Half of a tile, rounded to whole cells of any model. @param {string} tile */
function half(tile) {
  const side = pixels(tile);
  return Number.isNaN(side) ? Infinity : 16 * Math.floor(side / 32);
}

/**
 * Offers only overlaps that fit the tile. A chosen one that does not fit becomes the recommended one, and is returned
 * with the tile.
 * @param {string} recommended tile
 */
export function matchOverlap(recommended) {
  const { tile, overlap } = choices();
  const limit = pixels(tile === defaults.tile ? recommended : tile) || Infinity; // names: no limit
  for (const o of field('overlap').options) o.disabled = pixels(o.value) >= limit;
  if (!(pixels(overlap) >= limit)) return undefined;
  field('overlap').value = defaults.overlap;
  return { tile, overlap };
}

/**
 * Sets a field. A value that it doesn't list, such as a tile of 96x128, is added to its list.
 * @param {keyof Choices} name
 * @param {string} value
 */
export function choose(name, value) {
  const list = field(name);
  if (!list.options) { // a text field
    list.value = value;
    return;
  }
  const square = /^(\d+)x\1$/.exec(value);
  const wanted = square ? square[1] : value;
  if (![...list.options].some((o) => o.value === wanted)) list.add(new Option(wanted, wanted));
  list.value = wanted;
}

/**
 * Offers the models that a checkpoint can be, if there are several. A choice for another checkpoint is ignored.
 * @param {Kind[]} kinds
 * @returns {Kind|undefined} the chosen one
 */
export function offer(kinds) {
  const list = field('as');
  for (const o of list.options) o.hidden = o.disabled = o.value !== 'auto' && !kinds.some((kind) => kind === o.value);
  /** @type {HTMLElement} */ (list.parentElement).hidden = kinds.length < 2;
  return kinds.find((kind) => kind === list.value);
}

/** @param {'task'|'engine'|'view'} name */
export function chosen(name) {
  const input = /** @type {HTMLInputElement} */ (document.querySelector(`input[name=${name}]:checked`));
  return input.value;
}

/**
 * @param {'task'|'engine'} name
 * @param {string} value
 */
export function check(name, value) {
  const input = document.querySelector(`input[name=${name}][value="${CSS.escape(value)}"]`);
  if (input instanceof HTMLInputElement) input.checked = true;
}

/**
 * Applies the link's choices and token; the token is removed from the address.
 * @param {string} recommended tile
 * @returns {{token: string|null, misfit: {tile: string, overlap: string}|undefined, engine: string|null, addresses: import('./addresses.js').Addresses}} misfit: a dropped overlap
 */
export function readLink(recommended) {
  const link = new URLSearchParams(location.hash.slice(1));
  for (const name of /** @type {(keyof Choices)[]} */ (Object.keys(defaults))) {
    const value = link.get(name);
    choose(name, value && acceptable[name].test(value) ? value : defaults[name]);
  }
  check('task', link.get('task') ?? groups.task);
  const misfit = matchOverlap(recommended);
  const token = link.get('token');
  if (token) sessionStorage.setItem('token', token);
  const addresses = { model: link.get('model') ?? '', latent: link.get('latent') ?? '' };
  shared = addresses;
  writeLink();
  return { addresses, token: sessionStorage.getItem('token'), misfit, engine: link.get('engine') ?? sessionStorage.getItem('engine') };
}

/** What a link may set; the engine checks further. */
const acceptable = {
  tile: /^(off|auto|\d{2,4}(x\d{2,4})?)$/, overlap: /^\d{1,3}(x\d{1,3})?$/, tiling: /^(feather|exact|diffusers)$/,
  packed: /^\d{1,5}x\d{1,5}$/, layout: /^[BCFHMW]{3,5}$/, as: /^(cogvideox-5b|cogvideox-2b|sd|sdxl|playground|flux|sd3|sd-x4|taew2_1|taehv|taecvx|taeos1_3|lighttaew2_1|taew2_2|lighttaew2_2|taehv1_5|lighttaehy1_5|taeh3|taeltx_2|taeltx2_3)$/,
  frames: /^(clip|pictures)$/, precision: /^(auto|f32|f16)$/, memory: /^\d{1,6}$/, format: /^\.(latent|npy)$/,
};

/** Shows beside the folded settings which were changed. */
export function showChosen() {
  const c = choices();
  const names = /** @type {(keyof Choices)[]} */ (Object.keys(defaults)).filter((name) => c[name] !== defaults[name]);
  at('settings-chosen').textContent = names.map((name) => {
    const { labels, selectedOptions } = field(name);
    return `${labels[0].querySelector('span')?.textContent ?? name}: ${selectedOptions?.[0].textContent ?? c[name]}`;
  }).join(' · ');
}

/** Unfolds the settings, for a user who needs one of them. */
export function unfold() {
  /** @type {HTMLDetailsElement} */ (at('settings-box')).open = true;
}

/** Writes the choices to the address. */
export function writeLink() {
  const link = new URLSearchParams();
  const c = choices();
  for (const name of /** @type {(keyof Choices)[]} */ (Object.keys(defaults))) {
    if (c[name] !== defaults[name]) link.set(name, c[name]);
  }
  if (chosen('task') !== groups.task) link.set('task', chosen('task'));
  for (const [name, address] of Object.entries(shared)) if (address) link.set(name, address);
  const hash = link.size ? `#${link}` : '';
  if (hash !== location.hash) history.replaceState(null, '', `${location.pathname}${location.search}${hash}`);
}

form.addEventListener('submit', (e) => e.preventDefault());
