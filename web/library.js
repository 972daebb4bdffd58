// The lists of files to choose from: checkpoints stored in this browser, and the native
// engine's folder.

import { at, select } from './dom.js';
import { bytes, t } from './i18n.js';
import { decline } from './keepoffer.js';
import * as kept from './checkpoints.js';
import { button, element } from './plan.js';

/** @import {Checkpoint} from './workbench.js' */

/**
 * Lists the stored checkpoints beside the one in use, with buttons to remove them.
 * @param {Checkpoint} used
 * @param {Checkpoint} builtin
 * @param {(c: Checkpoint) => void} choose
 * @param {() => Promise<void>} changed lists again
 */
export async function showKept(used, builtin, choose, changed) {
  const all = await kept.list().catch(() => []);
  const lasting = !all.length || await navigator.storage.persisted?.();
  /** @param {{name: string, size: number}[]} gone */
  const remove = async (gone) => {
    for (const k of gone) {
      decline(k);
      await kept.remove(k.name);
    }
    if (used.kept && gone.some((k) => k.name === used.name)) choose(builtin);
    await changed();
    at('model-pick').focus();
  };
  const rows = all.map((k) => row(k.name, k.size, k.name === used.name ? undefined : async () => choose({ name: k.name, from: await kept.get(k.name), kept: true }), () => void remove([k])));
  if (used.name !== builtin.name) rows.unshift(row(builtin.name, 0, () => choose(builtin)));
  at('kept').replaceChildren(...rows);
  at('kept-hint').textContent = lasting ? '' : t('kept.fleeting');
  const every = at('kept-clear');
  every.hidden = !all.length;
  every.textContent = t('kept.all', { size: bytes(all.reduce((sum, k) => sum + k.size, 0)) });
  every.onclick = () => void remove(all);
}

/**
 * @param {string} name
 * @param {number} size 0 for the one that comes with the page
 * @param {(() => void)|undefined} choose undefined if it is in use
 * @param {() => void} [remove]
 */
function row(name, size, choose, remove) {
  const li = element('li');
  const use = choose ? button(name, choose) : element('span', '', name);
  use.classList.add('link');
  if (choose) use.setAttribute('aria-label', t('kept.use', { name }));
  li.append(use, element('span', 'hint', size ? bytes(size) : t('model.builtin')));
  if (remove) {
    const b = button('×', remove);
    b.className = 'quiet';
    b.setAttribute('aria-label', t('kept.remove', { name }));
    li.append(b);
  }
  return li;
}

const last = 'checkpoint';

/** Remembers which checkpoint is in use. @param {string} name */
export function rememberKept(name) {
  localStorage.setItem(last, name);
}

/** The last visit's checkpoint, if it is stored. @returns {Promise<File|undefined>} */
export async function lastKept() {
  await kept.sweep().catch(() => {});
  const name = localStorage.getItem(last);
  const all = name ? await kept.list().catch(() => []) : [];
  return name && all.some((k) => k.name === name) ? kept.get(name).catch(() => undefined) : undefined;
}

/**
 * Lists the native engine's folder.
 * @param {string|null} token null if another engine is in use
 */
export async function showFolder(token) {
  const list = select('folder');
  list.hidden = true;
  if (!token) return;
  const response = await fetch('folder', { headers: { Authorization: `Bearer ${token}` } });
  const files = response.ok ? /** @type {{path: string, size: number}[]} */ (await response.json()) : [];
  const choose = new Option(t('folder.choose'), '');
  choose.dataset.t = 'folder.choose';
  list.replaceChildren(choose, ...files.map((f) => new Option(`${f.path} (${bytes(f.size)})`, f.path)));
  list.hidden = !files.length;
}
