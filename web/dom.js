// Elements of index.html, by their ids and names.

/** @param {string} id @returns {HTMLElement} */
export const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} id @returns {HTMLInputElement} */
export const input = (id) => /** @type {HTMLInputElement} */ (at(id));

/** @param {string} id @returns {HTMLSelectElement} */
export const select = (id) => /** @type {HTMLSelectElement} */ (at(id));

/** @param {string} name @param {string} value @returns {HTMLInputElement} */
export const radio = (name, value) => /** @type {HTMLInputElement} */ (document.querySelector(`input[name=${name}][value=${value}]`));

/** @param {string} selector @param {() => void} changed */
export function onChange(selector, changed) {
  for (const e of document.querySelectorAll(selector)) e.addEventListener('change', changed);
}
