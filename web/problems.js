// Error texts in plain words, with advice.

import { at } from './dom.js';
import { EngineError } from './events.js';
import { t } from './i18n.js';

/** @import {Key} from './i18n.js' */

const known = [
  'no_webgpu', 'no_adapter', 'no_f16', 'out_of_memory', 'too_large', 'device_lost', 'flat', 'unknown_model', 'wrong_model', 'packed_size', 'program_only', 'bad_input', 'bad_option', 'disconnected', 'failed',
  'warning', 'no_token', 'unknown_file', 'several', 'checkpoints', 'overlap', 'video', 'cut', 'save', 'kept', 'address', 'link', 'copy', 'withheld',
];

/** Errors for which the engine's sentence is the best text: it comes first, followed by the page's. */
const spoken = ['address', 'bad_input', 'bad_option', 'failed', 'out_of_memory', 'program_only', 'too_large', 'warning', 'wrong_model'];

/**
 * Begins a sentence with a capital letter, unless it begins with a file's name.
 * @param {string} said
 */
function sentence(said) {
  return /^\S+\.\w+\b/.test(said) ? said : said.charAt(0).toUpperCase() + said.slice(1);
}

/** Shows the problem again after the language changes. @type {(() => void)|undefined} */
let again;

/**
 * Shows a problem.
 * @param {string} kind a Code of protocol.js, or a kind of the page
 * @param {{detail?: string, native?: boolean, values?: Record<string, string|number>,
 *   action?: {key: Key, values?: Record<string, string|number>, act: () => void}}} [more] detail: the engine's message
 */
export function showProblem(kind, { detail = '', native = false, values = {}, action } = {}) {
  let key = known.includes(kind) ? `problem.${kind}` : 'problem.failed';
  if (kind === 'no_webgpu' && native) key += '.native';
  const name = String(values.name ?? '');
  const lines = detail.split('\n').map((line) => line.trim());
  const [said, advice, ...more] = kind === 'bad_input' ? lines : [detail]; // for other errors, the second line is not advice
  const first = spoken.includes(kind) && said ? sentence(said.includes(name) ? said : `${name}: ${said}`) : '';
  again = () => {
    at('notice-title').textContent = first || t(/** @type {Key} */ (key), values);
    at('notice-title').lang = first ? 'en' : document.documentElement.lang; // the engine's language
    at('notice-text').textContent = first && advice ? advice : t(/** @type {Key} */ (`${key}.text`), values);
    at('notice-text').lang = first && advice ? 'en' : document.documentElement.lang;
    at('notice-action').textContent = action ? t(action.key, action.values) : '';
  };
  again();
  at('notice-detail').textContent = detail;
  at('notice-more').hidden = !detail || (!!first && !more.length);
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

/** Shows the problem in the current language. */
export function retell() {
  again?.();
}

/** An error's text: the error, then advice, then the evidence, one per line. @param {unknown} error */
export function words(error) {
  if (!(error instanceof Error)) return String(error);
  return error instanceof EngineError && error.detail ? `${error.message}\n${error.detail}` : error.message;
}

at('notice-close').addEventListener('click', hideProblem);
