// What went wrong, in plain words, with what can be done about it.

import { at } from './dom.js';
import { t } from './i18n.js';

/** @import {Key} from './i18n.js' */

const known = [
  'no_webgpu', 'no_adapter', 'no_f16', 'out_of_memory', 'too_large', 'device_lost', 'flat', 'bad_input', 'bad_option', 'disconnected', 'failed',
  'warning', 'no_token', 'unknown_file', 'video', 'save', 'kept',
];

/** What to say again when the language changes. @type {(() => void)|undefined} */
let again;

/**
 * Shows a problem.
 * @param {string} kind a Code of protocol.js, or one of the page's own
 * @param {{detail?: string, native?: boolean, values?: Record<string, string|number>,
 *   action?: {key: Key, values?: Record<string, string|number>, act: () => void}}} [more] detail: the engine's words
 */
export function showProblem(kind, { detail = '', native = false, values = {}, action } = {}) {
  let key = known.includes(kind) ? `problem.${kind}` : 'problem.failed';
  if (kind === 'no_webgpu' && native) key += '.native';
  again = () => {
    at('notice-title').textContent = t(/** @type {Key} */ (key), values);
    at('notice-text').textContent = t(/** @type {Key} */ (`${key}.text`), values);
    at('notice-action').textContent = action ? t(action.key, action.values) : '';
  };
  again();
  at('notice-detail').textContent = detail;
  at('notice-more').hidden = !detail;
  at('notice-more').toggleAttribute('open', kind === 'warning');
  const button = at('notice-action');
  button.hidden = !action;
  button.onclick = () => {
    hideProblem();
    action?.act();
  };
  const notice = at('notice');
  notice.dataset.kind = kind;
  notice.hidden = false;
  notice.scrollIntoView({ block: 'nearest' });
}

export function hideProblem() {
  again = undefined;
  at('notice').hidden = true;
}

/** Says the same in another language. */
export function retell() {
  again?.();
}

/** @param {unknown} error */
export function words(error) {
  return error instanceof Error ? error.message : String(error);
}

at('notice-close').addEventListener('click', hideProblem);
