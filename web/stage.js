// The canvas: one frame of the result, beside or minus the original, with the
// tiles drawn over it.

/** @import {Frames} from './frames.js' */
/** @import {Rect} from './protocol.js' */

/** @typedef {'result'|'compare'|'difference'} View */
/** @typedef {(i: number) => Promise<Uint8ClampedArray|undefined>} Originals frame i, as large as the result's */

/** Differences are shown so many times larger, around mid-gray. */
const gain = 4;

export class Stage {
  #picture = /** @type {HTMLCanvasElement} */ (document.getElementById('picture'));
  #overlay = /** @type {HTMLCanvasElement} */ (document.getElementById('overlay'));
  #frame = /** @type {HTMLElement} */ (document.getElementById('frame'));
  #context = /** @type {CanvasRenderingContext2D} */ (this.#picture.getContext('2d', { willReadFrequently: true }));
  /** @type {Frames|undefined} */ #frames;
  /** @type {Originals|undefined} */ #originals;
  /** @type {Rect[]} */ #tiles = [];
  #current = -1; // tile at work
  #finished = 0; // tiles done
  #asked = 0; // draws asked for
  #drawing = false;
  #at = 0;

  /** @type {View} */ view = 'result';
  grid = true;
  #split = 0.5;

  constructor() {
    new ResizeObserver(() => this.drawGrid()).observe(this.#frame);
  }

  /** The frame shown. */
  get at() {
    return this.#at;
  }

  /**
   * @param {Frames} frames
   * @param {Originals} [originals]
   */
  show(frames, originals) {
    this.#frames = frames;
    this.#originals = originals;
    this.resize(frames.height, frames.width);
    this.tiles([]);
    this.draw(0);
  }

  /**
   * @param {number} height
   * @param {number} width
   */
  resize(height, width) {
    Object.assign(this.#picture, { height, width });
    this.#frame.style.setProperty('--ratio', String(width / height));
    this.#frame.style.setProperty('--width', `${width}px`);
  }

  /**
   * The tiles of the running stage, in pixels of the picture.
   * @param {Rect[]} tiles
   */
  tiles(tiles) {
    this.#tiles = tiles;
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

  /**
   * A frame of what is going to be encoded.
   * @param {number} height
   * @param {number} width
   * @param {Uint8ClampedArray} [rgba]
   */
  still(height, width, rgba) {
    this.#frames = undefined;
    this.resize(height, width);
    if (rgba) this.#context.putImageData(new ImageData(new Uint8ClampedArray(rgba), width, height), 0, 0);
  }

  /** @param {number} share of the width that shows the original, in compare */
  setSplit(share) {
    this.#split = share;
    this.#frame.style.setProperty('--split', String(share));
    this.draw();
  }

  /**
   * A picture without a clip, in blocks: what there is before the first result.
   * @param {ImageBitmap} image
   * @param {number} cells across
   * @returns what was drawn, darker: a backdrop for the result
   */
  mosaic(image, cells) {
    const { height, width } = this.#picture;
    const small = new OffscreenCanvas(cells, Math.round((cells * height) / width));
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (small.getContext('2d'));
    context.imageSmoothingQuality = 'high';
    context.drawImage(image, 0, 0, small.width, small.height);
    this.#context.imageSmoothingEnabled = false;
    this.#context.drawImage(small, 0, 0, width, height);
    const { data } = this.#context.getImageData(0, 0, width, height);
    return data.map((x, i) => (i % 4 === 3 ? x : 0.45 * x));
  }

  /**
   * Draws frame i, at the latest call if there are several before it is drawn.
   * @param {number} [i]
   */
  draw(i = this.#at) {
    this.#at = i;
    this.#asked++;
    if (!this.#drawing) void this.#drawLatest();
  }

  async #drawLatest() {
    this.#drawing = true;
    try {
      for (let drawn = 0; drawn !== this.#asked;) {
        drawn = this.#asked;
        await this.#drawFrame(this.#at);
      }
    } finally {
      this.#drawing = false;
    }
  }

  /** @param {number} i */
  async #drawFrame(i) {
    const frames = this.#frames;
    if (!frames) return;
    const result = frames.now(i) ?? await frames.get(i);
    let shown = result;
    if (this.view !== 'result' && this.#originals) {
      const original = await this.#originals(i);
      if (original) {
        shown = this.view === 'difference' ? difference(original, result) : this.#beside(original, result, frames.width);
      }
    }
    if (frames !== this.#frames) return;
    this.#context.putImageData(new ImageData(shown, frames.width, frames.height), 0, 0);
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
    if (!this.grid || !this.#tiles.length) return;
    const c = /** @type {CanvasRenderingContext2D} */ (this.#overlay.getContext('2d'));
    c.scale((w * scale) / this.#picture.width, (h * scale) / this.#picture.height);
    const line = this.#picture.width / w; // a pixel of the screen
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

  /**
   * The canvas as a PNG.
   * @returns {Promise<Blob>}
   */
  png() {
    return new Promise((resolve, reject) => {
      this.#picture.toBlob((b) => (b ? resolve(b) : reject(new Error('the canvas could not be written'))), 'image/png');
    });
  }
}

/**
 * @param {Uint8ClampedArray} a
 * @param {Uint8ClampedArray} b
 */
function difference(a, b) {
  const d = new Uint8ClampedArray(b.length);
  for (let i = 0; i < d.length; i++) d[i] = i % 4 === 3 ? 255 : 128 + gain * (b[i] - a[i]);
  return d;
}
