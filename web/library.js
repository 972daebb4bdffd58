// The lists of what can be chosen besides files: checkpoints that this browser
// keeps, and the native engine's folder.

import { at, select } from './dom.js';
import { bytes, t } from './i18n.js';
import * as kept from './kept.js';
import { button, element } from './plan.js';
import { showProblem, words } from './problems.js';

/** @import {Checkpoint} from './workbench.js' */

/**
 * Lists the checkpoints other than the one in use.
 * @param {string} used its name
 * @param {Checkpoint} builtin
 * @param {(c: Checkpoint) => void} choose
 */
export async function showKept(used, builtin, choose) {
  const own = { name: builtin.name, size: 0 };
  const list = [own, ...await kept.list().catch(() => [])].filter((k) => k.name !== used);
  at('kept').replaceChildren(...list.map(({ name, size }) => {
    const li = element('li');
    const use = button(name, async () => choose(size ? { name, from: await kept.get(name) } : builtin));
    use.className = 'link';
    use.setAttribute('aria-label', t('kept.use', { name }));
    li.append(use, element('span', 'hint', size ? bytes(size) : t('model.builtin')));
    if (size) {
      const remove = button('×', async () => {
        await kept.remove(name);
        await showKept(used, builtin, choose);
      });
      remove.className = 'quiet';
      remove.setAttribute('aria-label', t('kept.remove', { name }));
      li.append(remove);
    }
    return li;
  }));
}

const last = 'checkpoint';

/** Notes which checkpoint is in use. @param {string} name */
export function rememberKept(name) {
  localStorage.setItem(last, name);
}

/** The checkpoint that was in use in the last visit, where it is kept. @returns {Promise<File|undefined>} */
export async function lastKept() {
  const name = localStorage.getItem(last);
  const all = name ? await kept.list().catch(() => []) : [];
  return name && all.some((k) => k.name === name) ? kept.get(name).catch(() => undefined) : undefined;
}

/**
 * Keeps a copy of a checkpoint, unless it is kept already.
 * @param {File} file
 */
export async function keep(file) {
  try {
    if ((await kept.list()).some((k) => k.name === file.name && k.size === file.size)) return;
    await kept.keep(file);
  } catch (error) {
    showProblem('kept', { detail: words(error) });
  }
}

/**
 * Lists the native engine's folder.
 * @param {string|null} token null where another engine is in use
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
