// The canvas: a frame of the input or of the result, also beside or minus the original,
// with the tiles drawn over it.

/** @import {Pictures} from './pictures.js' */
/** @import {Rect} from './protocol.js' */

/** @typedef {'input'|'result'|'compare'|'difference'} View */
/** How two pictures differ: the amplification, the largest difference, and the share of differing values. @typedef {{times: number, largest: number, share: number}} Differ */
/** @typedef {(i: number) => Promise<Uint8ClampedArray|undefined>} Originals frame i, of the result's size */

/** Amplification of differences to the original, around mid-gray. */
export const gain = 4;


export class Stage {
  #picture = /** @type {HTMLCanvasElement} */ (document.getElementById('picture'));
  #overlay = /** @type {HTMLCanvasElement} */ (document.getElementById('overlay'));
  #frame = /** @type {HTMLElement} */ (document.getElementById('frame'));
  #context = /** @type {CanvasRenderingContext2D} */ (this.#picture.getContext('2d', { willReadFrequently: true }));
  /** @type {Pictures|undefined} */ #input;
  /** @type {Pictures|undefined} */ #result;
  /** @type {Originals|undefined} */ #originals;
  /** @type {Rect[]} */ #tiles = [];
  /** @type {'input'|'result'} */ #of = 'result'; // what the tiles belong to
  #current = -1; // running tile
  #finished = 0; // finished tiles
  #asked = 0; // requested draws
  #drawing = false;
  #at = 0;

  /** @type {View} */ view = 'result';
  grid = true;
  #split = 0.5;
  #results = false; // compares two results

  /** Receives the differences of each drawn frame. @type {(d: Differ|undefined) => void} */ differs = () => {};

  constructor() {
    new ResizeObserver(() => this.drawGrid()).observe(this.#frame);
  }

  /** The shown frame. */
  get at() {
    return this.#at;
  }

  /** The pictures of the current view. */
  get shown() {
    return this.view === 'input' ? this.#input : this.#result;
  }

  /**
   * Sets the result.
   * @param {Pictures|undefined} result
   * @param {Originals} [originals]
   */
  show(result, originals) {
    this.#result = result;
    this.compare(originals);
    this.tiles([]);
  }

  /**
   * Sets what the result is compared with.
   * @param {Originals} [originals]
   * @param {boolean} [results] they belong to another result, with small differences
   */
  compare(originals, results = false) {
    this.#originals = originals;
    this.#results = results;
  }

  /**
   * Sets the input.
   * @param {Pictures|undefined} input
   */
  look(input) {
    this.#input = input;
  }

  /** Clears the stage. */
  clear() {
    this.#context.clearRect(0, 0, this.#picture.width, this.#picture.height);
  }

  /**
   * Switches to another view, at a frame that it has.
   * @param {View} view
   */
  change(view) {
    this.view = view;
    if (this.shown) this.resize(this.shown.height, this.shown.width);
    this.drawGrid();
    this.draw(Math.min(this.#at, (this.shown?.count ?? 1) - 1));
  }

  /**
   * @param {number} height
   * @param {number} width
   */
  resize(height, width) {
    if (height === this.#picture.height && width === this.#picture.width) return; // setting the size would clear it
    Object.assign(this.#picture, { height, width });
    this.#frame.style.setProperty('--ratio', String(width / height));
    this.#frame.style.setProperty('--width', `${width}px`);
  }

  /**
   * Sets the tiles of the running stage, in its pixels.
   * @param {Rect[]} tiles
   * @param {'input'|'result'} [of]
   */
  tiles(tiles, of = 'result') {
    this.#tiles = tiles;
    this.#of = of;
    this.#finished = -1;
    this.progress(-1, 0);
  }

  /**
   * @param {number} current
   * @param {number} finished
   */
  progress(current, finished) {
    if (current === this.#current && finished === this.#finished) return;
    this.#current = current;
    this.#finished = finished;
    this.drawGrid();
  }

  /** @param {number} share of the width that shows the original, in compare */
  setSplit(share) {
    this.#split = share;
    this.#frame.style.setProperty('--split', String(share));
    this.draw();
  }

  /**
   * Shows a picture until there is an input or a result.
   * @param {ImageData} picture
   */
  placehold(picture) {
    this.resize(picture.height, picture.width);
    this.#context.putImageData(picture, 0, 0);
  }

  /**
   * Draws frame i. If several draws are requested at once, only the last one runs.
   * @param {number} [i]
   */
  draw(i = this.#at) {
    this.#at = i;
    this.#asked++;
    if (!this.#drawing) void this.#drawLatest();
  }

  async #drawLatest() {
    this.#drawing = true;
    this.#picture.ariaBusy = 'true';
    try {
      for (let drawn = 0; drawn !== this.#asked;) {
        drawn = this.#asked;
        await this.#drawFrame(this.#at);
      }
    } finally {
      this.#drawing = false;
      this.#picture.ariaBusy = 'false';
    }
  }

  /** @param {number} i */
  async #drawFrame(i) {
    const pictures = this.shown;
    const pixels = await this.pixels(i);
    if (!pixels || pictures !== this.shown) return;
    this.#context.putImageData(new ImageData(pixels.rgba, pixels.width, pixels.height), 0, 0);
    this.differs(pixels.differ);
  }

  /**
   * Frame i as the current view shows it.
   * @param {number} i
   * @returns {Promise<{rgba: Uint8ClampedArray<ArrayBuffer>, height: number, width: number, differ?: Differ}|undefined>}
   */
  async pixels(i) {
    const { shown, view } = this;
    if (!shown) return undefined;
    const { height, width } = shown;
    const rgba = shown.now(i) ?? await shown.get(i);
    const original = view === 'compare' || view === 'difference' ? await this.#originals?.(i) : undefined;
    if (!original) return { rgba, height, width };
    if (view === 'compare') return { rgba: this.#beside(original, rgba, width), height, width };
    const { shown: differences, ...differ } = difference(original, rgba, this.#results);
    return { rgba: differences, height, width, differ };
  }

  /**
   * The original left of the boundary, the result right of it.
   * @param {Uint8ClampedArray} original
   * @param {Uint8ClampedArray<ArrayBuffer>} result
   * @param {number} width
   */
  #beside(original, result, width) {
    const mixed = new Uint8ClampedArray(result);
    const cut = 4 * Math.round(this.#split * width);
    for (let at = 0; at < mixed.length; at += 4 * width) mixed.set(original.subarray(at, at + cut), at);
    return mixed;
  }

  drawGrid() {
    const { clientWidth: w, clientHeight: h } = this.#frame;
    const scale = devicePixelRatio;
    Object.assign(this.#overlay, { width: Math.round(w * scale), height: Math.round(h * scale) });
    if (!this.grid || !this.#tiles.length || (this.view === 'input') !== (this.#of === 'input')) return;
    const c = /** @type {CanvasRenderingContext2D} */ (this.#overlay.getContext('2d'));
    c.scale((w * scale) / this.#picture.width, (h * scale) / this.#picture.height);
    const line = this.#picture.width / w; // one screen pixel
    const accent = getComputedStyle(this.#frame).getPropertyValue('--tile');
    this.#tiles.forEach((tile, i) => {
      const done = i < this.#finished;
      c.globalAlpha = i === this.#current ? 1 : done ? 0.35 : 0.55;
      c.strokeStyle = i === this.#current ? accent : '#fff';
      c.lineWidth = (i === this.#current ? 2 : 1) * line;
      c.setLineDash(done || i === this.#current ? [] : [4 * line, 4 * line]);
      const inset = c.lineWidth / 2;
      c.strokeRect(tile.x + inset, tile.y + inset, tile.width - 2 * inset, tile.height - 2 * inset);
    });
  }
}

/**
 * The amplified difference of two pictures.
 * @param {Uint8ClampedArray} a
 * @param {Uint8ClampedArray} b
 * @param {boolean} results for two results: amplify until the largest difference is fully visible
 */
function difference(a, b, results) {
  let [largest, count] = [0, 0];
  for (let i = 0; i < b.length; i++) {
    const d = i % 4 === 3 ? 0 : Math.abs(b[i] - a[i]);
    if (d) count++;
    if (d > largest) largest = d;
  }
  const times = results ? Math.min(64, Math.max(2 * gain, 2 ** Math.floor(Math.log2(127 / (largest || 1))))) : gain;
  const shown = new Uint8ClampedArray(b.length);
  for (let i = 0; i < shown.length; i++) shown[i] = i % 4 === 3 ? 255 : 128 + times * (b[i] - a[i]);
  return { shown, times, largest, share: count / (0.75 * b.length) };
}

/**
 * A picture in blocks, shown for the demo before its result.
 * @param {ImageBitmap} image
 * @param {number} cells across
 */
export function mosaic(image, cells) {
  const { height, width } = image;
  const small = new OffscreenCanvas(cells, Math.round((cells * height) / width));
  const large = new OffscreenCanvas(width, height);
  const [fine, coarse] = [small, large].map((c) => /** @type {OffscreenCanvasRenderingContext2D} */ (c.getContext('2d')));
  fine.imageSmoothingQuality = 'high';
  fine.drawImage(image, 0, 0, small.width, small.height);
  coarse.imageSmoothingEnabled = false;
  coarse.drawImage(small, 0, 0, width, height);
  return coarse.getImageData(0, 0, width, height);
}
