// The ways to cut a job, side by side: what each needs, and whether its result equals
// that of one tile. Each has a separate plan, made when the dialog opens.

import { at } from './dom.js';
import { bytes, macs, roughly, t } from './i18n.js';
import { button, element } from './plan.js';

/** @import {Key} from './i18n.js' */
/** @import {Plan} from './protocol.js' */

/** @typedef {{tile: string, also: string[], plans: Plan[], fits: boolean}} Choice tile: a value of the setting; also: other values with an equal plan */

/**
 * @typedef {object} Asked
 * @property {(tile: string, least: boolean) => Promise<Plan[]>} plan for a tile; least: ignore the budget
 * @property {() => string} tile the chosen one
 * @property {(plans: Plan[]) => number|undefined} seconds
 * @property {(tile: string) => void} use
 * @property {(error: unknown) => void} trouble
 */

/** Texts for the tile settings that are not sizes. @type {Record<string, Key>} */
const names = { recommended: 'settings.recommended', auto: 'settings.tile.auto' };

/** @param {Asked} asked */
export function listenChoices(asked) {
  const dialog = /** @type {HTMLDialogElement} */ (at('choices'));
  let turn = 0;
  at('choices-open').onclick = () => {
    const mine = ++turn;
    at('choices-table').replaceChildren();
    at('choices-state').textContent = t('choices.working');
    dialog.showModal();
    all(asked, () => mine !== turn).then((list) => {
      if (mine !== turn) return;
      at('choices-state').textContent = '';
      show(list, asked, (tile) => { dialog.close(); asked.use(tile); });
    }, (error) => {
      if (mine !== turn) return;
      dialog.close();
      asked.trouble(error);
    });
  };
  at('choices-close').onclick = () => dialog.close();
  dialog.onclose = () => { turn++; };
}

/** @param {Asked} asked @param {() => boolean} over whether the dialog was closed @returns {Promise<Choice[]>} */
async function all(asked, over) {
  /** @type {Map<string, Choice>} */ const found = new Map();
  for (const tile of new Set(['off', 'auto', 'recommended', asked.tile()])) {
    if (over()) break;
    let plans = await asked.plan(tile, false);
    const fits = plans.every((p) => p.fits);
    if (!fits && tile === 'auto') continue; // no tile is small enough
    if (!fits) plans = await asked.plan(tile, true);
    const key = plans.map((p) => [p.tile, p.overlap, p.tiling, p.bytes]).join();
    const same = found.get(key);
    if (same) same.also.push(tile);
    else found.set(key, { tile, also: [], plans, fits });
  }
  return [...found.values()];
}

/** @param {Choice[]} list @param {Asked} asked @param {(tile: string) => void} use */
function show(list, asked, use) {
  const columns = /** @type {{name: Key, of: (c: Choice) => string}[]} */ ([
    { name: 'choices.device', of: (c) => memory(c, 'bytes') },
    { name: 'choices.host', of: (c) => memory(c, 'host') },
    { name: 'choices.moved', of: (c) => amount(c, 'moved') },
    { name: 'choices.work', of: (c) => (possible(c) ? macs(sum(c, 'macs')) : '') },
    { name: 'choices.time', of: (c) => { const s = possible(c) && asked.seconds(c.plans); return s ? roughly(s) : ''; } },
    { name: 'choices.result', of: (c) => t(result(c)) },
  ]).filter(({ of }) => list.some((c) => of(c)));
  const cells = (/** @type {HTMLElement} */ first, /** @type {HTMLElement[]} */ others) => {
    const tr = element('tr');
    tr.append(first, ...others);
    return tr;
  };
  const head = (/** @type {string} */ scope, /** @type {string} */ text = '') => {
    const th = element('th', '', text);
    th.setAttribute('scope', scope);
    return th;
  };
  const thead = element('thead');
  thead.append(cells(head('col', t('choices.tiles')), columns.map((c) => head('col', t(c.name)))));
  const tbody = element('tbody');
  tbody.append(...list.map((c) => {
    const th = head('row');
    const pick = button(cut(c), () => use(c.tile));
    pick.toggleAttribute('disabled', !c.fits);
    pick.setAttribute('aria-pressed', String([c.tile, ...c.also].includes(asked.tile())));
    const hints = [c.tile, ...c.also].filter((tile) => tile in names).map((tile) => t(names[tile]));
    if (!c.fits) hints.push(t(possible(c) ? 'choices.beyond' : 'choices.never'));
    th.append(pick, element('p', 'hint', hints.join(', ')));
    const tr = cells(th, columns.map(({ of }) => element('td', '', of(c) || '–')));
    tr.dataset.fits = String(c.fits);
    return tr;
  }));
  at('choices-table').replaceChildren(thead, tbody);
}

/** Whether only memory may be missing. @param {Choice} c */
const possible = (c) => c.plans.every((p) => p.fits);

/** How each stage cuts frames. @param {Choice} c */
function cut({ plans }) {
  return [...new Set(plans.map((p) => (p.tiles.length > 1
    ? t('plan.tiles.feather', { n: p.tiles.length, tile: p.tile.replace('x', ' × ') }) : t('settings.tile.off'))))].join(' · ');
}

/** @param {Choice} c @returns {Key} */
function result({ plans }) {
  const tiling = plans.map((p) => p.tiling).find((name) => name && name !== 'exact');
  return tiling === 'diffusers' ? 'choices.diffusers' : tiling ? 'choices.feather' : 'choices.exact';
}

/** The maximum over the stages as text; '' for none. @param {Choice} c @param {'bytes'|'host'} what */
function memory({ plans }, what) {
  const most = Math.max(...plans.map((p) => p[what]));
  return most ? bytes(most) : '';
}

/** @param {Choice} c @param {'moved'} what */
function amount(c, what) {
  const n = sum(c, what);
  return n ? bytes(n) : '';
}

/** @param {Choice} c @param {'macs'|'moved'} what */
const sum = ({ plans }, what) => plans.reduce((n, p) => n + p[what], 0);
