// Progress, quality, the device, and a job's cost.

import { at } from './dom.js';
import { bytes, duration, number, roughly, t } from './i18n.js';
import { element } from './plan.js';

/** @import {Device, Done, Kind, Model, ProgressEvent} from './protocol.js' */
/** @import {Checkpoint, Input, Size, Task} from './workbench.js' */

/** The line under the picture. */
export class ProgressLine {
  #bar = /** @type {HTMLProgressElement} */ (at('progress'));
  #text = at('progress-text');
  #told = 0; // when the text last changed
  #began = 0;
  #clock = 0;
  #expected = 0; // seconds, from the plan; 0: unknown
  #worked = { job: 0, stage: 0 }; // milliseconds of work, without loading and compiling
  #since = 0; // when work was last counted
  #stage = '';

  /** @param {number} [seconds] expected, if known */
  begin(seconds) {
    this.#began = this.#since = performance.now();
    this.#expected = seconds ?? 0;
    this.#worked = { job: 0, stage: 0 };
    this.#stage = '';
    at('status').dataset.running = 'true';
    at('cancel').hidden = false;
    this.say([t('progress.preparing'), seconds && seconds > 2 ? t('progress.about', { time: roughly(seconds) }) : ''].filter(Boolean).join(' · '));
    this.announce(t('progress.began'));
    this.#bar.removeAttribute('value');
    this.#clock = setInterval(() => this.#tick(), 250);
  }

  /** Shows the elapsed time while there is no other news. */
  #tick() {
    const now = performance.now();
    if (now - this.#told > 500) this.#text.dataset.time = ` · ${duration(Math.floor((now - this.#began) / 1000))}`;
  }

  /** Announces a text, also to screen readers. @param {string} text */
  announce(text) {
    at('announce').textContent = text;
  }

  /**
   * @param {string} text
   * @param {number} [share] of the work
   */
  say(text, share) {
    this.#told = performance.now();
    delete this.#text.dataset.time;
    this.#text.textContent = text;
    if (share !== undefined) this.#bar.value = share;
  }

  /** @param {Device} d the device, shown when there is no other news */
  ready(d) {
    this.say(t('progress.ready', { device: deviceName(d) }));
  }

  /** @param {number} loaded bytes of a checkpoint @param {number} total 0 when unknown */
  loading(loaded, total) {
    this.#since = performance.now();
    this.say(t('model.loading', { loaded: bytes(loaded), total: total ? bytes(total) : '…' }));
  }

  /** @param {number} done shaders @param {number} total */
  compiling(done, total) {
    this.#since = performance.now();
    if (done < total) this.say(t('progress.compiling', { n: done + 1, of: total }));
  }

  /**
   * Shows no rate and no remaining time before 2 seconds and 3 % of the work: the first pieces are short, and drivers
   * may compile in them.
   * @param {ProgressEvent} e
   * @param {{first: number, share: number, frames: number}} part the stage's part of the whole job, and the frames of
   *   its clip
   */
  update(e, part) {
    const done = part.first + part.share * e.done;
    this.#bar.value = done;
    const now = performance.now();
    if (e.stage !== this.#stage) this.#worked.stage = 0;
    this.#stage = e.stage;
    this.#worked.job += now - this.#since;
    this.#worked.stage += now - this.#since;
    this.#since = now;
    if (now - this.#told < 250 && e.done < 1) return; // no faster than one can read
    const parts = [];
    if (e.middle) parts.push(t('progress.middle'));
    else if (e.tiles > 1) parts.push(t('progress.tile', { n: Math.min(e.tile + 1, e.tiles), of: e.tiles }));
    const here = e.frames > 1 ? 1 + Math.floor((Math.max(0, e.frame - 1) * (part.frames - 1)) / (e.frames - 1)) : part.frames;
    if (part.frames > 1) parts.push(t('progress.frame', { n: here, of: part.frames }));
    if (known(this.#worked.stage, e.done) && part.frames > 1) parts.push(rate((1000 * e.done * part.frames) / this.#worked.stage));
    if (known(this.#worked.job, done)) parts.push(t('progress.left', { time: roughly((this.#worked.job * (1 - done)) / done / 1000) }));
    else if (this.#expected) parts.push(t('progress.expected', { time: roughly(this.#expected) }));
    if (parts.length === 0) parts.push(new Intl.NumberFormat(document.documentElement.lang, { style: 'percent' }).format(done));
    this.say(`${t(e.stage === 'encode' ? 'plan.encode' : 'plan.decode')}: ${parts.join(' · ')}`);
  }

  /** @param {string} text the outcome */
  end(text) {
    clearInterval(this.#clock);
    this.say(text);
    this.announce(text);
    at('cancel').hidden = true;
    at('status').dataset.running = 'false';
  }
}

/**
 * Whether enough work is done to know its speed.
 * @param {number} milliseconds
 * @param {number} done share
 */
const known = (milliseconds, done) => milliseconds >= 2000 && done >= 0.03;

/** @param {Checkpoint} checkpoint @param {Model|undefined} m @param {Kind|undefined} as the model that the user chose for it */
export function showModel(checkpoint, m, as) {
  at('model-name').textContent = checkpoint.name.replace(/\.(safetensors|pth?)$/i, '');
  const facts = m && t('model.facts', {
    model: as ? t(`settings.as.${as}`) : m.model, parameters: number(m.parameters / 1e6, m.parameters < 1e8 ? 1 : 0), size: bytes(m.bytes),
  });
  at('model-facts').textContent = [checkpoint.builtin ? t('model.builtin') : '', facts].filter(Boolean).join(' · ');
  at('model-form').textContent = m ? [
    t('model.channels', { pixels: m.channels === 4 ? 'RGBA' : 'RGB', latent: m.latentChannels, spatial: m.spatial }),
    t(m.layout === 'diffusers' ? 'model.diffusers' : 'model.original'),
    ...m.lacks ? [t(m.lacks === 'encoder' ? 'model.decodes' : 'model.encodes')] : [],
  ].join(' · ') : '';
  at('model-assumed').textContent = m?.assumed && !as ? t('model.assumed', { model: m.model }) : '';
}

/**
 * @param {Input|undefined} input
 * @param {Size|undefined} size
 * @param {Task} task
 * @param {boolean} independent frames are separate pictures
 */
export function showInput(input, size, task, independent) {
  at('input-name').textContent = input?.demo ? t('demo.name') : input?.name ?? '–';
  const clip = size?.clip;
  const what = clip && clip.frames < 2 ? 'input.picture' : independent ? 'input.pictures' : 'input.clip';
  const told = clip && t(what, { frames: number(clip.frames), width: clip.width, height: clip.height });
  const facts = told && task === 'decode' ? t('input.latent', { of: told }) : told;
  const rate = clip?.fps && clip.frames > 1 && t('input.fps', { fps: number(clip.fps, clip.fps % 1 ? 2 : 0) });
  at('input-facts').textContent = [facts, rate, ...(input?.clip?.left ?? []).map((key) => t(key))].filter(Boolean).join(' · ');
}

/** @param {Device} d */
export function deviceName(d) {
  return d.name || [d.vendor, d.architecture].filter(Boolean).join(' ') || d.backend;
}

/** @param {Device|undefined} d */
export function showDevice(d) {
  at('device-name').textContent = d ? deviceName(d) : t('device.none');
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

/** A speed as text: frames per second, or seconds per frame if it is slow. @param {number} r frames per second */
function rate(r) {
  return r >= 0.5 ? t('progress.rate', { rate: number(r, r < 100 ? 1 : 0) }) : t('progress.slow', { time: duration(1 / r) });
}

/** @param {Done|undefined} d */
export function showTiming(d) {
  at('timing-total').textContent = d ? `${duration(d.seconds)} · ${rate(d.frames / d.seconds)}` : '–';
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

/** Qualities of a result: of each frame, and of the clip. @typedef {{frames: Quality[], clip?: Quality}} Qualities */

/** PSNR and SSIM: of each frame, and of the clip. */
export class QualityPanel {
  /** Qualities of the shown result. @type {Qualities} */ #of = { frames: [] };
  away = false; // the stage shows something else

  /**
   * Shows the qualities of another result.
   * @param {Qualities} of
   * @param {number} i frame
   */
  take(of, i) {
    this.#of = of;
    this.show(i);
  }

  /** @param {number} i frame */
  show(i) {
    const q = this.away ? undefined : this.#of.frames[i];
    const { clip } = this.#of;
    at('psnr').textContent = q ? decibel(q.psnr) : '–';
    at('ssim').textContent = q ? number(q.ssim, 3) : '–';
    at('quality-note').textContent = !q ? t('quality.none') : clip
      ? t('quality.frame', { n: i + 1, psnr: decibel(clip.psnr, false), ssim: number(clip.ssim, 3) }) : '';
    this.#chart(i);
  }

  /** @param {number} frame */
  #chart(frame) {
    const svg = /** @type {SVGElement} */ (document.querySelector('#quality-chart'));
    const values = Array.from(this.#of.frames, (q) => (q ? Math.min(q.psnr, 60) : NaN));
    const whole = !this.away && values.length > 1 && !values.some(Number.isNaN);
    svg.toggleAttribute('hidden', !whole);
    if (!whole) return;
    const low = Math.min(...values) - 1;
    const high = Math.max(...values) + 1;
    const points = values.map((v, i) => `${(200 * i) / (values.length - 1)},${34 - (32 * (v - low)) / (high - low)}`);
    const [x, y] = (points[frame] ?? points[0]).split(',');
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
