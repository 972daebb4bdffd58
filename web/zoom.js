// Zooming: the picture enlarged, one to one, or full screen. The drawing is unchanged;
// the canvases are moved and scaled within the stage.

import { at, input } from './dom.js';
import { number } from './i18n.js';

const step = 1.25; // per key or button
const largest = 32; // screen pixels per picture pixel
const grip = 24; // pixels around the boundary in which a drag moves the boundary instead of the picture
const nudge = 60; // pixels that a key moves the picture

const picture = /** @type {HTMLCanvasElement} */ (at('picture'));
const stage = at('stage');
const frame = at('frame');
const boundary = input('split-at');

/** Screen pixels per picture pixel; undefined: as large as fits. @type {number|undefined} */
let scale;
/** The point of the picture in the middle of the stage. */
const middle = { x: 0.5, y: 0.5 };
/** @type {Map<number, {x: number, y: number}>} */ const fingers = new Map();
let bounding = false; // a drag moves the boundary between original and result

/** Screen pixels per picture pixel at which the whole picture fits. */
const fitting = () => (frame.clientWidth * devicePixelRatio) / picture.width;

/** Registers the zoom controls. */
export function listenZoom() {
  at('zoom-in').onclick = () => zoom(step);
  at('zoom-out').onclick = () => zoom(1 / step);
  at('zoom-one').onclick = () => set(scale === 1 ? undefined : 1);
  at('zoom-fit').onclick = () => set(undefined);
  at('zoom-full').onclick = full;
  at('zoom-full').hidden = !document.fullscreenEnabled;
  stage.addEventListener('keydown', onKey);
  stage.addEventListener('wheel', onWheel, { passive: false });
  stage.addEventListener('dblclick', (e) => { if (onPicture(e)) set(scale ? undefined : fitting() === 1 ? 2 : 1, e); });
  stage.addEventListener('pointerdown', onDown);
  stage.addEventListener('pointermove', onMove);
  for (const kind of /** @type {const} */ (['pointerup', 'pointercancel'])) stage.addEventListener(kind, onUp);
  document.addEventListener('fullscreenchange', () => {
    at('zoom-full').setAttribute('aria-pressed', String(!!document.fullscreenElement));
    place();
  });
  const placed = new ResizeObserver(place);
  placed.observe(stage);
  placed.observe(frame);
  new MutationObserver(place).observe(picture, { attributeFilter: ['width', 'height'] });
}

/** Enters or leaves full screen. */
function full() {
  void (document.fullscreenElement ? document.exitFullscreen() : at('work').requestFullscreen()).catch(() => {}); // not allowed here
}

/**
 * Sets the scale and keeps a point of the window in place.
 * @param {number|undefined} wanted
 * @param {{clientX: number, clientY: number}} [point]
 */
function set(wanted, point) {
  const before = point && under(point);
  const [low, high] = [Math.min(1, fitting()), Math.max(largest, fitting())];
  scale = wanted && Math.max(low, Math.min(high, wanted));
  if (scale && before) {
    const now = under(/** @type {{clientX: number, clientY: number}} */ (point));
    middle.x += before.x - now.x;
    middle.y += before.y - now.y;
  } else if (!scale) {
    middle.x = middle.y = 0.5;
  }
  place();
}

/** @param {number} by @param {{clientX: number, clientY: number}} [point] */
function zoom(by, point) {
  set((scale ?? fitting()) * by, point);
}

/** Moves the picture by window pixels. @param {number} x @param {number} y */
function pan(x, y) {
  const { width, height } = size();
  middle.x -= x / width;
  middle.y -= y / height;
  place();
}

/** The picture's size in window pixels. */
function size() {
  const one = (scale ?? fitting()) / devicePixelRatio;
  return { width: picture.width * one, height: picture.height * one };
}

/** The position in the picture at a point of the window. @param {{clientX: number, clientY: number}} point */
function under({ clientX, clientY }) {
  const { left, top } = stage.getBoundingClientRect();
  const { width, height } = size();
  return {
    x: middle.x + (clientX - left - stage.clientWidth / 2) / width,
    y: middle.y + (clientY - top - stage.clientHeight / 2) / height,
  };
}

/** Positions the picture: no further than its edges, and on whole screen pixels. */
function place() {
  const { width, height } = size();
  middle.x = held(middle.x, stage.clientWidth / width);
  middle.y = held(middle.y, stage.clientHeight / height);
  const here = stage.getBoundingClientRect();
  const x = whole(here.left + stage.clientWidth / 2 - middle.x * width) - here.left - frame.offsetLeft;
  const y = whole(here.top + stage.clientHeight / 2 - middle.y * height) - here.top - frame.offsetTop;
  const style = frame.style;
  style.setProperty('--zoom', String(scale ? width / frame.clientWidth : 1));
  style.setProperty('--x', scale ? `${x}px` : '0px');
  style.setProperty('--y', scale ? `${y}px` : '0px');
  stage.dataset.zoomed = String(!!scale);
  stage.dataset.pixels = String(!!scale && (scale === 1 || scale >= 2));
  at('zoom-at').textContent = scale ? `${number(100 * scale)}\u00a0%` : '';
  at('zoom-one').setAttribute('aria-pressed', String(scale === 1));
  at('zoom-fit').setAttribute('aria-pressed', String(!scale));
}

/** @param {number} at @param {number} seen visible share of the picture */
function held(at, seen) {
  return seen >= 1 ? 0.5 : Math.max(seen / 2, Math.min(1 - seen / 2, at));
}

/** @param {number} at */
function whole(at) {
  return Math.round(at * devicePixelRatio) / devicePixelRatio;
}

/** @param {KeyboardEvent} e */
function onKey(e) {
  if (e.target !== stage || e.ctrlKey || e.metaKey || e.altKey) return;
  const moves = e.shiftKey && scale;
  const act = /** @type {Record<string, (() => void)|false|0|undefined>} */ ({
    '+': () => zoom(step), '=': () => zoom(step), '-': () => zoom(1 / step), 1: () => set(1), 0: () => set(undefined), f: full,
    ArrowLeft: moves && (() => pan(nudge, 0)), ArrowRight: moves && (() => pan(-nudge, 0)),
    ArrowUp: moves && (() => pan(0, nudge)), ArrowDown: moves && (() => pan(0, -nudge)),
  })[e.key];
  if (!act) return;
  e.preventDefault();
  e.stopPropagation(); // so that arrows don't step frames
  act();
}

/** Scrolls the page, unless the picture is zoomed in. @param {WheelEvent} e */
function onWheel(e) {
  if (!scale && !e.ctrlKey && !e.metaKey && !document.fullscreenElement) return;
  e.preventDefault();
  const lines = e.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
  zoom(Math.exp(-lines * e.deltaY * (e.ctrlKey && Math.abs(e.deltaY) < 40 ? 0.01 : 0.0015)), e); // a touchpad's pinch comes in small steps
  if (scale && scale <= fitting()) set(undefined);
}

/** @param {Event} e */
const onPicture = (e) => e.target instanceof Element && !e.target.closest('button, .invite');

/** @param {PointerEvent} e */
function onDown(e) {
  if (!onPicture(e) || e.button !== 0) return;
  fingers.set(e.pointerId, { x: e.clientX, y: e.clientY });
  if (!scale) return;
  stage.setPointerCapture(e.pointerId);
  bounding = !at('split').hidden && Math.abs(under(e).x - boundary.valueAsNumber / 1000) * size().width < grip;
}

/** @param {PointerEvent} e */
function onMove(e) {
  const last = fingers.get(e.pointerId);
  if (!last) return;
  const other = [...fingers].find(([id]) => id !== e.pointerId)?.[1];
  fingers.set(e.pointerId, { x: e.clientX, y: e.clientY });
  if (other) {
    const apart = (/** @type {{x: number, y: number}} */ p) => Math.hypot(p.x - other.x, p.y - other.y) || 1;
    zoom(apart({ x: e.clientX, y: e.clientY }) / apart(last), { clientX: (e.clientX + other.x) / 2, clientY: (e.clientY + other.y) / 2 });
    pan((e.clientX - last.x) / 2, (e.clientY - last.y) / 2);
  } else if (scale && bounding) {
    boundary.valueAsNumber = 1000 * under(e).x;
    boundary.dispatchEvent(new Event('input'));
  } else if (scale) {
    pan(e.clientX - last.x, e.clientY - last.y);
  }
}

/** @param {PointerEvent} e */
function onUp(e) {
  const pinched = fingers.size > 1;
  fingers.delete(e.pointerId);
  bounding = false;
  if (pinched && scale && scale <= fitting() && fitting() < 1) set(undefined);
}
