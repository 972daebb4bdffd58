// The frames of a result, [H, W, 4] each. Beyond `held` bytes they are stored as Blobs,
// which browsers keep on disk.

/** Bytes of pixels kept in memory. */
const held = 768 << 20;

export class Frames {
  /** @type {(Uint8ClampedArray<ArrayBuffer>|Blob|undefined)[]} */ #frames = [];
  /** @type {Set<number>} */ #final = new Set();
  /** @type {Set<number>} */ #begun = new Set();
  #bytes = 0; // in memory
  #backdrop;

  /**
   * @param {number} count
   * @param {number} height
   * @param {number} width
   * @param {number} fps
   * @param {{alpha?: boolean, independent?: boolean, backdrop?: Uint8ClampedArray}} [more] alpha: whether alpha is used;
   *   independent: whether the frames are separate pictures; backdrop: initial content of a frame, else black
   */
  constructor(count, height, width, fps, { alpha = false, independent = false, backdrop } = {}) {
    this.count = count;
    this.height = height;
    this.width = width;
    this.fps = fps || 24;
    this.alpha = alpha;
    this.independent = independent;
    this.#backdrop = backdrop?.length === 4 * height * width ? backdrop : undefined;
  }

  /** Number of frames with any content. */
  get begun() {
    return this.#begun.size;
  }

  /** Number of finished frames. */
  get done() {
    return this.#final.size;
  }

  /** @param {number} i */
  final(i) {
    return this.#final.has(i);
  }

  /**
   * Stores a finished frame and takes over its buffer.
   * @param {number} i
   * @param {Uint8ClampedArray<ArrayBuffer>} rgba
   */
  put(i, rgba) {
    if (!this.#frames[i]) this.#bytes += rgba.length;
    this.#frames[i] = this.#bytes > held ? new Blob([rgba]) : rgba;
    this.#final.add(i);
    this.#begun.add(i);
  }

  /**
   * Stores a preliminary frame and takes over its buffer. Tiles are drawn over it.
   * @param {number} i
   * @param {Uint8ClampedArray<ArrayBuffer>} rgba
   */
  sketch(i, rgba) {
    if (!this.#frames[i]) this.#bytes += rgba.length;
    this.#frames[i] = this.#bytes > held ? new Blob([rgba]) : rgba;
  }

  /**
   * Returns a frame, black if it has no content. Changes to it are kept unless it is final.
   * @param {number} i
   * @returns {Promise<Uint8ClampedArray<ArrayBuffer>>}
   */
  async get(i) {
    const frame = this.#frames[i];
    return frame instanceof Blob ? new Uint8ClampedArray(await frame.arrayBuffer()) : this.draft(i);
  }

  /**
   * Returns a frame if it is in memory, without waiting.
   * @param {number} i
   */
  now(i) {
    const frame = this.#frames[i];
    return frame instanceof Blob ? undefined : this.draft(i);
  }

  /**
   * @param {number} i
   * @returns {Uint8ClampedArray<ArrayBuffer>}
   */
  draft(i) {
    const frame = this.#frames[i];
    if (frame && !(frame instanceof Blob)) return frame;
    const made = this.#backdrop ? new Uint8ClampedArray(this.#backdrop) : new Uint8ClampedArray(4 * this.height * this.width);
    if (this.#bytes + made.length <= held) {
      this.#frames[i] = made;
      this.#bytes += made.length;
    }
    return made;
  }

  /**
   * Draws a tile of an unfinished frame. At the top and left it fades over the existing content, as the blended
   * result will.
   * @param {import('./protocol.js').TileEvent} tile
   * @param {{height: number, width: number}} overlap pixels
   */
  paint(tile, overlap) {
    this.#begun.add(tile.frame);
    const to = this.draft(tile.frame);
    const rows = Math.min(tile.height, this.height - tile.y);
    const columns = Math.min(tile.width, this.width - tile.x);
    const fadeX = tile.x > 0 ? Math.min(overlap.width, columns) : 0;
    for (let r = 0; r < rows; r++) {
      const wy = tile.y > 0 && r < overlap.height ? (r + 0.5) / overlap.height : 1;
      const from = 4 * r * tile.width;
      const at = 4 * ((tile.y + r) * this.width + tile.x);
      const mixed = wy < 1 ? columns : fadeX;
      for (let q = 0; q < mixed; q++) {
        const w = wy * (q < fadeX ? (q + 0.5) / fadeX : 1);
        for (let k = 0; k < 4; k++) {
          const i = at + 4 * q + k;
          to[i] += (tile.rgba[from + 4 * q + k] - to[i]) * w;
        }
      }
      to.set(tile.rgba.subarray(from + 4 * mixed, from + 4 * columns), at + 4 * mixed);
    }
  }
}
