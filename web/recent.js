// The recent inputs and the demo clip: each can be chosen again, so that choosing another
// input loses nothing.

import { at } from './dom.js';
import { t } from './i18n.js';
import { button, element } from './plan.js';

/** @import {Input} from './workbench.js' */

/** Number of remembered inputs; files are not copied. */
const limit = 8;

export class RecentInputs {
  /** @type {Input[]} */ #inputs = [];
  /** @type {Input|undefined} */ #used;
  #take;
  #demo;

  /**
   * @param {(input: Input) => void} take makes it the current input
   * @param {() => void} demo does so with the demo clip
   */
  constructor(take, demo) {
    this.#take = take;
    this.#demo = demo;
  }

  /**
   * Adds an input, last.
   * @param {Input} input
   */
  add(input) {
    if (!input.demo && !this.#inputs.includes(input)) this.#inputs.push(input);
    if (this.#inputs.length > limit) {
      const [gone] = this.#inputs.splice(this.#inputs[0] === this.#used ? 1 : 0, 1);
      gone.clip?.close();
    }
  }

  /**
   * Lists all but the current input.
   * @param {Input|undefined} used the current input
   * @param {boolean} locked whether the buttons are disabled
   */
  show(used, locked) {
    this.#used = used;
    const rows = this.#inputs.filter((i) => i !== used).map((i) => row(i.name, t(i.latent ? 'input.kind.latent' : 'input.kind.clip'), locked, () => this.#take(i)));
    if (!used?.demo) rows.push(row(t('demo.name'), t('model.builtin'), locked, this.#demo, 'demo-pick'));
    at('inputs').replaceChildren(...rows);
  }
}

/**
 * @param {string} name
 * @param {string} kind
 * @param {boolean} locked
 * @param {() => void} take
 * @param {string} [id]
 */
function row(name, kind, locked, take, id = '') {
  const li = element('li');
  const use = /** @type {HTMLButtonElement} */ (button(name, take));
  use.className = 'link';
  if (id) use.id = id;
  use.disabled = locked;
  use.setAttribute('aria-label', t('kept.use', { name }));
  li.append(use, element('span', 'hint', kind));
  return li;
}
