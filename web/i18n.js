// The page's words. A text is a key of strings/en.js; elements name theirs by
// data-t (their content) or data-t-label (their accessible name).

import en from './strings/en.js';
import tr from './strings/tr.js';

/** @typedef {keyof typeof en} Key */

/** @type {Record<string, Record<Key, string>>} */
const languages = { en, tr };

let current = 'en';

/** The language chosen earlier in this browser, or the first supported one of its preferred languages. */
export function preferred() {
  const chosen = localStorage.getItem('language');
  if (chosen && chosen in languages) return chosen;
  for (const wanted of navigator.languages) {
    const language = wanted.split('-')[0];
    if (language in languages) return language;
  }
  return 'en';
}

/**
 * Switches to a language.
 * @param {string} language
 */
export function speak(language) {
  current = language in languages ? language : 'en';
  document.documentElement.lang = current;
  for (const e of document.querySelectorAll('[data-t]')) {
    e.textContent = t(/** @type {Key} */ (e.getAttribute('data-t')));
  }
  for (const e of document.querySelectorAll('[data-t-label]')) {
    const text = t(/** @type {Key} */ (e.getAttribute('data-t-label')));
    e.setAttribute('aria-label', text);
    if (e instanceof HTMLButtonElement) e.title = text;
  }
}

/**
 * A text, with {names} filled in.
 * @param {Key} key
 * @param {Record<string, string|number>} [values]
 * @returns {string}
 */
export function t(key, values = {}) {
  const text = languages[current][key] ?? en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ''));
}

/**
 * @param {number} n
 * @param {number} [digits] after the point
 */
export function number(n, digits = 0) {
  return n.toLocaleString(current, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** @param {number} n */
export function bytes(n) {
  for (const [unit, size] of /** @type {[string, number][]} */ ([['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]])) {
    if (n >= size) return `${number(n / size, n >= 100 * size ? 0 : n >= 10 * size ? 1 : 2)} ${unit}`;
  }
  return `${number(n)} B`;
}

/** @param {number} s */
export function duration(s) {
  if (s < 0.1) return `${number(s * 1000, 1)} ms`;
  if (s < 59.5) return t('time.seconds', { s: number(s, s < 10 ? 1 : 0) });
  const whole = Math.round(s);
  const m = Math.floor(whole / 60);
  if (m < 60) return t('time.minutes', { m, s: whole - 60 * m });
  return t('time.hours', { h: Math.floor(m / 60), m: m % 60 });
}

/** An estimated duration, rounded to its leading digits. @param {number} s */
export function roughly(s) {
  if (s < 60) return t('time.seconds', { s: number(Math.max(1, s < 10 ? Math.round(s) : 5 * Math.round(s / 5))) });
  if (s < 3570) return t('time.about', { m: number(Math.round(s / 60)) });
  const tens = Math.round(s / 600);
  return t('time.hours', { h: number(Math.floor(tens / 6)), m: number(10 * (tens % 6)) });
}

/** @param {number} n floating-point operations */
export const flops = (n) => scaled(n, 'FLOP');

/** @param {number} n multiply-accumulates */
export const macs = (n) => scaled(n, 'MAC');

/** @param {number} n @param {string} unit */
function scaled(n, unit) {
  for (const [prefix, size] of /** @type {[string, number][]} */ ([['P', 1e15], ['T', 1e12], ['G', 1e9]])) {
    if (n >= size) return `${number(n / size, n >= 10 * size ? 0 : 1)} ${prefix}${unit}`;
  }
  return `${number(n / 1e6, 1)} M${unit}`;
}
