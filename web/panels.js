// Progress, quality, the device, and what a job took.

import { bytes, duration, number, t } from './i18n.js';
import { element } from './plan.js';

/** @import {Device, Done, ProgressEvent} from './protocol.js' */

/** @param {string} id @returns {HTMLElement} */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** The line under the picture. */
export class ProgressLine {
  #bar = /** @type {HTMLProgressElement} */ (at('progress'));
  #text = at('progress-text');
  #told = 0; // when the text last changed
  #began = 0;

  begin() {
    this.#began = performance.now();
    this.#told = 0;
    at('status').hidden = false;
    at('cancel').hidden = false;
    this.say(t('progress.preparing'));
    this.#bar.removeAttribute('value');
  }

  /**
   * @param {string} text
   * @param {number} [share] of the work
   */
  say(text, share) {
    this.#text.textContent = text;
    if (share !== undefined) this.#bar.value = share;
  }

  /**
   * @param {ProgressEvent} e
   * @param {{first: number, share: number}} part the stage's part of the whole job
   */
  update(e, part) {
    const done = part.first + part.share * e.done;
    this.#bar.value = done;
    const now = performance.now();
    if (now - this.#told < 250 && e.done < 1) return; // no faster than one reads
    this.#told = now;
    const seconds = (now - this.#began) / 1000;
    const parts = [];
    if (e.tiles > 1) parts.push(t('progress.tile', { n: Math.min(e.tile + 1, e.tiles), of: e.tiles }));
    parts.push(t('progress.frame', { n: e.frame, of: e.frames }));
    if (e.seconds > 0) parts.push(t('progress.rate', { rate: number((e.done * e.frames) / e.seconds, 1) }));
    if (done > 0.02) parts.push(t('progress.left', { time: duration((seconds * (1 - done)) / done) }));
    this.#text.textContent = `${t(e.stage === 'encode' ? 'plan.encode' : 'plan.decode')}: ${parts.join(' · ')}`;
  }

  /** @param {string} text what came of it; empty hides the line */
  end(text) {
    this.#text.textContent = text;
    this.#bar.value = text ? 1 : 0;
    at('cancel').hidden = true;
    at('status').hidden = !text;
  }
}

/** @param {Device|undefined} d */
export function showDevice(d) {
  at('device-name').textContent = d ? d.name || d.architecture || d.vendor || d.backend : t('device.none');
  if (!d) {
    at('device-features').replaceChildren();
    at('device-rows').replaceChildren();
    return;
  }
  const has = (/** @type {boolean} */ there, /** @type {string} */ what) => {
    const li = element('li', there ? '' : 'off', there ? what : t('device.no', { what }));
    return li;
  };
  const groups = d.subgroups && d.subgroupMin ? `${t('device.subgroups')} ${d.subgroupMin === d.subgroupMax ? d.subgroupMin : `${d.subgroupMin}–${d.subgroupMax}`}` : t('device.subgroups');
  at('device-features').replaceChildren(has(d.f16, 'f16'), has(d.subgroups, groups), has(d.timestamps, 'timestamps'));
  rows('device-rows', [
    [t('device.backend'), [d.backend, d.vendor, d.architecture].filter(Boolean).join(', ')],
    [t('device.memory'), d.memory ? bytes(d.memory) : t('device.unknown')],
    [t('device.budget'), bytes(d.budget)],
    [t('device.binding'), bytes(d.limits.maxBinding)],
  ]);
}

/** @param {Done|undefined} d */
export function showTiming(d) {
  at('timing-total').textContent = d
    ? t('timing.total', { time: duration(d.seconds), rate: number(d.frames / d.seconds, 1) }) : '–';
  const most = Math.max(...(d?.operations ?? []).map((o) => o.seconds), 1e-9);
  at('timing-bars').replaceChildren(...(d?.operations ?? []).slice(0, 6).map((o) => {
    const li = element('li');
    const bar = /** @type {HTMLMeterElement} */ (element('meter'));
    bar.max = most;
    bar.value = o.seconds;
    bar.setAttribute('aria-label', o.name);
    li.append(element('span', '', o.name.replaceAll('_', ' ')), bar, element('span', 'number', duration(o.seconds)));
    li.title = `${o.dispatches} dispatches`;
    return li;
  }));
  rows('timing-rows', d ? [
    [t('timing.peak'), bytes(d.peakBytes)],
    [t('timing.now'), bytes(d.bytes)],
    [t('timing.host'), bytes(d.hostBytes)],
    [t('timing.longest'), duration(d.longest)],
  ] : []);
}

/**
 * @param {string} id
 * @param {[string, string][]} list
 */
function rows(id, list) {
  at(id).replaceChildren(...list.map(([name, value]) => {
    const div = element('div');
    div.append(element('dt', '', name), element('dd', '', value));
    return div;
  }));
}

/** @typedef {{psnr: number, ssim: number}} Quality */

/** PSNR and SSIM: of each frame, and of the clip. */
export class QualityPanel {
  /** @type {Quality[]} */ #frames = [];
  /** @type {Quality|undefined} */ #clip;

  clear() {
    this.#frames = [];
    this.#clip = undefined;
    this.show(0);
  }

  /**
   * @param {number|null} index null for the clip
   * @param {Quality} q
   */
  add(index, q) {
    if (index === null) this.#clip = q;
    else this.#frames[index] = q;
  }

  /** @param {number} i frame */
  show(i) {
    const q = this.#frames[i];
    at('psnr').textContent = q ? decibel(q.psnr) : '–';
    at('ssim').textContent = q ? number(q.ssim, 3) : '–';
    at('quality-note').textContent = !q ? t('quality.none') : this.#clip
      ? t('quality.frame', { n: i + 1, psnr: decibel(this.#clip.psnr, false), ssim: number(this.#clip.ssim, 3) }) : '';
    this.#chart(i);
  }

  /** @param {number} at frame */
  #chart(at) {
    const svg = /** @type {SVGElement} */ (document.querySelector('#quality-chart'));
    const values = this.#frames.map((q) => Math.min(q.psnr, 60));
    svg.toggleAttribute('hidden', values.length < 2);
    if (values.length < 2) return;
    const low = Math.min(...values) - 1;
    const high = Math.max(...values) + 1;
    const points = values.map((v, i) => `${(200 * i) / (values.length - 1)},${34 - (32 * (v - low)) / (high - low)}`);
    const [x, y] = (points[at] ?? points[0]).split(',');
    svg.querySelector('polyline')?.setAttribute('points', points.join(' '));
    const mark = svg.querySelector('line') ?? svg.appendChild(document.createElementNS(svg.namespaceURI, 'line'));
    for (const [name, v] of Object.entries({ x1: x, x2: x, y1: y, y2: 36 })) mark.setAttribute(name, String(v));
  }
}

/**
 * @param {number} n
 * @param {boolean} [unit]
 */
function decibel(n, unit = true) {
  return `${Number.isFinite(n) ? number(n, 2) : '∞'}${unit ? ' dB' : ''}`;
}
