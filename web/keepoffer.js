// Offers to store the current checkpoint in this browser, and copies it in the
// background.

import { at } from './dom.js';
import { bytes, t } from './i18n.js';
import * as kept from './checkpoints.js';
import { button, element } from './plan.js';
import { showProblem, words } from './problems.js';

/** @import {Checkpoint} from './workbench.js' */

/** Copies in progress, by name. @type {Map<string, HTMLElement>} */
const copies = new Map();

const declined = 'unkept';
const most = 50; // number of remembered answers

/** @param {{name: string, size: number}} file */
const key = ({ name, size }) => `${size} ${name}`;

/** @returns {string[]} */
const answers = () => JSON.parse(localStorage.getItem(declined) ?? '[]');

/** Remembers that the user does not want to store a checkpoint. @param {{name: string, size: number}} file */
export function decline(file) {
  localStorage.setItem(declined, JSON.stringify([...new Set([...answers(), key(file)])].slice(-most)));
}

let turns = 0;

/**
 * Asks about the checkpoint in use, unless it is stored, being stored, or not a file.
 * @param {Checkpoint} checkpoint
 * @param {() => Promise<void>} changed called when the stored checkpoints change
 */
export async function offer({ from }, changed) {
  const turn = ++turns;
  const file = kept.can && from instanceof File ? from : undefined;
  const known = !file || copies.has(file.name) || (await kept.list()).some((k) => key(k) === key(file));
  const room = known ? 0 : await kept.room();
  if (turn !== turns) return;
  if (known) return show('', []);
  const values = { name: file.name, size: bytes(file.size), room: bytes(room) };
  if (room < file.size) return show(t('keep.room', values), []);
  const yes = (/** @type {HTMLElement} */ b) => { b.id = 'keep-yes'; return b; };
  const keep = () => { show('', []); void copy(file, changed); };
  if (answers().includes(key(file))) {
    const again = yes(button(t('keep.later', values), keep));
    again.className = 'link';
    return show('', [again]);
  }
  const no = button(t('keep.no'), () => {
    decline(file);
    void offer({ name: file.name, from }, changed).then(() => at('keep-yes')?.focus());
  });
  no.id = 'keep-no';
  show(t('keep.ask', values), [yes(button(t('keep.yes'), keep)), no]);
}

/**
 * @param {string} text
 * @param {HTMLElement[]} buttons
 */
function show(text, buttons) {
  if (at('keep-text').textContent !== text) at('keep-text').textContent = text;
  at('keep-answers').replaceChildren(...buttons);
}

/**
 * Stores a copy and shows its progress.
 * @param {File} file
 * @param {() => Promise<void>} changed
 */
async function copy(file, changed) {
  void navigator.storage.persist?.(); // a browser may ask the user; the copy does not wait for it
  const stopping = new AbortController();
  const row = element('li');
  const text = element('span', 'hint');
  const bar = /** @type {HTMLProgressElement} */ (element('progress'));
  const stop = button('×', () => stopping.abort());
  stop.className = 'quiet';
  bar.max = Math.max(1, file.size);
  const tell = (/** @type {number} */ done) => {
    bar.value = done;
    text.textContent = t('keep.working', { name: file.name, done: bytes(done), size: bytes(file.size) });
    bar.setAttribute('aria-label', t('keep.label', { name: file.name }));
    stop.setAttribute('aria-label', t('keep.stop', { name: file.name }));
  };
  tell(0);
  row.append(text, stop, bar);
  at('keeping').append(row);
  copies.set(file.name, row);
  stop.focus();
  try {
    await kept.keep(file, stopping.signal, tell);
  } catch (error) {
    if (!stopping.signal.aborted) showProblem('kept', { detail: words(error) });
    decline(file); // do not ask again after a cancelled copy
  }
  const focused = row.contains(document.activeElement);
  copies.delete(file.name);
  row.remove();
  await changed();
  if (focused) (at('keep-yes') ?? at('model-pick')).focus();
}
