// A card to share: how fast a job ran, and on what device. It is drawn in the page and
// leaves it only as a file or through the clipboard, on request.

import { size } from './demo.js';
import { at } from './dom.js';
import { duration, number, t } from './i18n.js';
import { deviceName } from './panels.js';
import { showProblem, words } from './problems.js';
import { download } from './save.js';

/** @import {Outcome} from './outcome.js' */
/** @import {Device, Done, Model} from './protocol.js' */
/** @import {Task} from './workbench.js' */

/**
 * A job's facts for its speed.
 * @typedef {object} Pace
 * @property {Task} task
 * @property {Device} device
 * @property {Model} model
 * @property {number} frames
 * @property {number} height
 * @property {number} width
 * @property {number} seconds
 * @property {boolean} [tiny] made with the demo's model
 */

const canvas = /** @type {HTMLCanvasElement} */ (at('card-picture'));
const name = 'tessera-speed.png';
const edge = 72; // pixels around the text
const column = 640; // largest width of the text in pixels

/** @param {() => Outcome|undefined} what is on the stage */
export function listenCard(what) {
  const dialog = /** @type {HTMLDialogElement} */ (at('card'));
  const say = (/** @type {string} */ text) => { at('card-state').textContent = text; };
  const attempt = (/** @type {() => Promise<void>} */ act) => act().catch((error) => {
    dialog.close();
    showProblem('save', { detail: words(error) });
  });
  at('save-card').onclick = () => {
    const pace = what()?.pace;
    if (!pace) return;
    say('');
    draw(pace);
    dialog.showModal();
  };
  at('card-save').onclick = () => void attempt(async () => {
    download(await png(), name);
    say(t('card.saved', { name }));
  });
  at('card-copy').hidden = !('ClipboardItem' in window && navigator.clipboard);
  at('card-copy').onclick = () => void attempt(async () => {
    await navigator.clipboard.write([new ClipboardItem({ 'image/png': png() })]);
    say(t('card.copied'));
  });
  at('card-close').onclick = () => dialog.close();
}

/** @returns {Promise<Blob>} */
function png() {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error(t('card.failed')))), 'image/png');
  });
}

/** Three figures of a number. @param {number} n */
function figures(n) {
  return number(n, Math.max(0, Math.min(20, 2 - Math.floor(Math.log10(n)))));
}

/** @param {Pace} pace */
function draw({ task, device, model, frames, height, width, seconds, tiny }) {
  const rate = figures(frames / seconds);
  const pixels = figures((frames * height * width) / 1e6 / seconds);
  const gpu = deviceName(device);
  const by = t(device.kind === 'native' ? 'card.native' : 'card.browser', { backend: device.backend });
  const job = `${model.model} · ${t(`run.${task}`)} · ${model.precision}`;
  const clip = t('card.clip', { frames: number(frames), width, height, time: duration(seconds) });

  const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  c.fillStyle = '#0d1211';
  c.fillRect(0, 0, canvas.width, canvas.height);
  picture(c);
  tesserae(c, edge, 64);
  write(c, 'Tessera', edge + 62, 104, 40, '#e9efee', 650);
  write(c, gpu, edge, 200, 44, '#e9efee', 600);
  write(c, by, edge, 244, 26, '#9aa8a5');
  figure(c, rate, t('card.frames'), edge);
  figure(c, pixels, t('card.pixels'), edge + column / 2);
  write(c, job, edge, 496, 28, '#e9efee');
  write(c, clip, edge, 532, 26, '#9aa8a5');
  const demo = tiny ? t('tiny', { n: number(size.n, 1), of: size.of }) : '';
  write(c, demo, edge, 566, 24, '#f5b26b');
  if (!/^(localhost|127\.|\[::1)/.test(location.host)) write(c, location.host + location.pathname.replace(/index\.html$/, ''), edge, 602, 22, '#2dd4bf');
  canvas.setAttribute('aria-label', [gpu, by, `${rate} ${t('card.frames')}`, `${pixels} ${t('card.pixels')}`, job, clip, demo].filter(Boolean).join(', '));
}

/** Draws the stage's picture at the right of the card. @param {CanvasRenderingContext2D} c */
function picture(c) {
  const from = /** @type {HTMLCanvasElement} */ (at('picture'));
  const left = edge + column + edge / 2;
  const [width, height] = [canvas.width - left, canvas.height];
  const scale = Math.max(width / from.width, height / from.height);
  const [w, h] = [width / scale, height / scale];
  c.drawImage(from, (from.width - w) / 2, (from.height - h) / 2, w, h, left, 0, width, height);
}

/** Draws the page's logo. @param {CanvasRenderingContext2D} c @param {number} x @param {number} y */
function tesserae(c, x, y) {
  c.fillStyle = '#2dd4bf';
  [[0, 0, 1], [1, 0, 0.35], [0, 1, 0.6], [1, 1, 0.85]].forEach(([right, down, alpha]) => {
    c.globalAlpha = alpha;
    c.fillRect(x + 25 * right, y + 25 * down, 21, 21);
  });
  c.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} c
 * @param {string} value
 * @param {string} unit
 * @param {number} x
 */
function figure(c, value, unit, x) {
  write(c, value, x, 376, 96, '#2dd4bf', 650, column / 2 - 24);
  write(c, unit, x, 418, 26, '#9aa8a5', 400, column / 2 - 24);
}

/**
 * Writes a line, in a smaller size if it is long.
 * @param {CanvasRenderingContext2D} c
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @param {string} colour
 * @param {number} [weight]
 * @param {number} [room]
 */
function write(c, text, x, y, size, colour, weight = 400, room = column) {
  c.fillStyle = colour;
  const font = (/** @type {number} */ px) => { c.font = `${weight} ${px}px system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif`; };
  font(size);
  const wide = c.measureText(text).width;
  if (wide > room) font(Math.max(16, (size * room) / wide));
  c.fillText(text, x, y, room);
}
