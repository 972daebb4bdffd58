// What a job will need, shown before it runs.

import { bytes, flops, number, roughly, t } from './i18n.js';

/** @import {Plan} from './protocol.js' */

const box = /** @type {HTMLElement} */ (document.getElementById('plans'));

/**
 * Shows the plans of the stages of a job.
 * @param {Plan[]} plans
 * @param {(tile: string) => void} use applies a tile that fits
 * @param {string} waiting text if there are none
 */
export function showPlan(plans, use, waiting) {
  if (!plans.length) {
    box.replaceChildren(element('p', 'hint', waiting));
    return;
  }
  box.replaceChildren(...plans.map((p) => stage(p, plans.length > 1, use)));
}

/** Estimates from this many seconds on are shown as long. */
const long = 120;

/**
 * Shows how long a job will take.
 * @param {number|undefined} seconds
 */
export function showEstimate(seconds) {
  const told = /** @type {HTMLElement} */ (document.getElementById('estimate'));
  told.dataset.long = String((seconds ?? 0) >= long);
  told.textContent = seconds === undefined ? '' : t(seconds >= long ? 'plan.long' : 'plan.time', { time: roughly(seconds) });
}

/**
 * @param {Plan} p
 * @param {boolean} named
 * @param {(tile: string) => void} use
 */
function stage(p, named, use) {
  const div = element('div', 'stage-plan');
  div.dataset.fits = String(p.fits);
  if (named) div.append(element('h3', '', t(p.direction === 'encode' ? 'plan.encode' : 'plan.decode')));
  if (!p.fits) {
    div.append(element('p', 'strong', t('plan.large')), element('p', 'hint', p.problem));
    if (p.suggestion) div.append(button(t('plan.use', { tile: p.suggestion }), () => use(p.suggestion)));
    return div;
  }
  const by = (/** @type {string} */ size) => size.replace('x', ' × ');
  const tiles = t(p.tiling ? `plan.tiles.${p.tiling}` : 'plan.one', { n: p.tiles.length, tile: by(p.tile), halo: by(p.halo) });
  div.append(
    element('p', 'strong', t('plan.of', { need: bytes(p.bytes), budget: bytes(p.budget) })),
    meter(p),
    element('p', 'hint', [tiles, p.slices > 1 ? t('plan.slices', { n: number(p.slices) }) : '', flops(p.flops)].filter(Boolean).join(' · ')),
  );
  if (p.untiled) div.append(element('p', 'hint', t('plan.untiled', { need: bytes(p.untiled) })));
  if (p.shrunk) div.append(element('p', 'hint', t('plan.shrunk')));
  return div;
}

/**
 * The parts of the memory, relative to the budget.
 * @param {Plan} p
 */
function meter(p) {
  const parts = /** @type {const} */ ([
    ['plan.weights', p.weights], ['plan.activations', p.activations + p.causal + p.transfer], ['plan.canvas', p.canvas],
  ]);
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'meter');
  svg.setAttribute('viewBox', '0 0 100 1');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', parts.map(([key, n]) => `${t(key)} ${bytes(n)}`).join(', '));
  let x = 0;
  parts.forEach(([key, n], i) => {
    const part = document.createElementNS(svg.namespaceURI, 'rect');
    const width = (100 * n) / p.budget;
    for (const [name, v] of Object.entries({ x, y: 0, width, height: 1, class: `part-${i}` })) part.setAttribute(name, String(v));
    const title = document.createElementNS(svg.namespaceURI, 'title');
    title.textContent = `${t(key)}: ${bytes(n)}`;
    part.append(title);
    svg.append(part);
    x += width;
  });
  return svg;
}

/**
 * The next smaller tile after one that was too large, or undefined.
 * @param {Plan|undefined} p
 * @param {{height: number, width: number}|undefined} clip
 */
export function smallerTile(p, clip) {
  if (p?.suggestion) return p.suggestion;
  const now = !p || p.tile === 'off' ? Math.max(clip?.height ?? 0, clip?.width ?? 0) : Math.max(...p.tile.split('x').map(Number));
  const next = [1024, 768, 512, 384, 256, 192, 128, 96, 64].find((n) => n < now);
  return next ? String(next) : undefined;
}

/**
 * @param {string} name
 * @param {string} [className]
 * @param {string} [text]
 */
export function element(name, className = '', text = '') {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text) e.textContent = text;
  return e;
}

/**
 * @param {string} text
 * @param {() => void} act
 */
export function button(text, act) {
  const b = document.createElement('button');
  b.type = 'button';
  b.textContent = text;
  b.addEventListener('click', act);
  return b;
}
