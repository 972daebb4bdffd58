// What a job will need, told before it runs.

import { bytes, flops, number, t } from './i18n.js';

/** @import {Layout} from './protocol.js' */

const box = /** @type {HTMLElement} */ (document.getElementById('plans'));

/**
 * Shows the layouts of the stages of a job.
 * @param {Layout[]} layouts
 * @param {(tile: string) => void} use takes a tile that fits
 */
export function showPlan(layouts, use) {
  if (!layouts.length) {
    box.replaceChildren(element('p', 'hint', t('plan.waiting')));
    return;
  }
  box.replaceChildren(...layouts.map((l) => stage(l, layouts.length > 1, use)));
}

/**
 * @param {Layout} l
 * @param {boolean} named
 * @param {(tile: string) => void} use
 */
function stage(l, named, use) {
  const div = element('div', 'stage-plan');
  div.dataset.fits = String(l.fits);
  if (named) div.append(element('h3', '', t(l.direction === 'encode' ? 'plan.encode' : 'plan.decode')));
  if (!l.fits) {
    div.append(element('p', 'strong', t('plan.large')), element('p', 'hint', l.problem));
    if (l.suggestion) div.append(button(t('plan.use', { tile: l.suggestion }), () => use(l.suggestion)));
    return div;
  }
  const by = (/** @type {string} */ size) => size.replace('x', ' × ');
  const tiles = t(l.tiling ? `plan.tiles.${l.tiling}` : 'plan.one', { n: l.tiles.length, tile: by(l.tile), halo: by(l.halo) });
  div.append(
    element('p', 'strong', t('plan.of', { need: bytes(l.bytes), budget: bytes(l.budget) })),
    meter(l),
    element('p', 'hint', [tiles, l.slices > 1 ? t('plan.slices', { n: number(l.slices) }) : '', flops(l.flops)].filter(Boolean).join(' · ')),
  );
  if (l.untiled) div.append(element('p', 'hint', t('plan.untiled', { need: bytes(l.untiled) })));
  if (l.shrunk) div.append(element('p', 'hint', t('plan.shrunk')));
  return div;
}

/**
 * The parts of the memory, of the budget.
 * @param {Layout} l
 */
function meter(l) {
  const parts = /** @type {const} */ ([
    ['plan.weights', l.weights], ['plan.arena', l.arena + l.memory], ['plan.canvas', l.canvas],
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
    const width = (100 * n) / l.budget;
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
 * The next smaller tile than one that was too much; undefined where there is none.
 * @param {Layout|undefined} l
 * @param {{height: number, width: number}|undefined} clip
 */
export function smallerTile(l, clip) {
  if (l?.suggestion) return l.suggestion;
  const now = !l || l.tile === 'off' ? Math.max(clip?.height ?? 0, clip?.width ?? 0) : Math.max(...l.tile.split('x').map(Number));
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
