// Inputs that were on the bench, and the demo clip: each can be taken back, so
// that taking another throws nothing away.

import { at } from './dom.js';
import { t } from './i18n.js';
import { button, element } from './plan.js';

/** @import {Input} from './workbench.js' */

/** Inputs that are remembered, files not being copied. */
const most = 8;

export class Shelf {
  /** @type {Input[]} */ #inputs = [];
  /** @type {Input|undefined} */ #used;
  #take;
  #demo;

  /**
   * @param {(input: Input) => void} take puts one back on the bench
   * @param {() => void} demo puts the demo clip there
   */
  constructor(take, demo) {
    this.#take = take;
    this.#demo = demo;
  }

  /**
   * Puts an input on the shelf, last.
   * @param {Input} input
   */
  add(input) {
    if (!input.demo && !this.#inputs.includes(input)) this.#inputs.push(input);
    if (this.#inputs.length > most) {
      const [gone] = this.#inputs.splice(this.#inputs[0] === this.#used ? 1 : 0, 1);
      gone.clip?.close();
    }
  }

  /**
   * Lists what isn't on the bench.
   * @param {Input|undefined} used what is
   * @param {boolean} locked nothing can be taken now
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
