// Videos and pictures as clips: frames of RGBA with straight alpha. The engine reads
// them again for each tile.

import { kindOf } from './inputs.js';

/** @import {Key} from './i18n.js' */
/** @import {ClipInfo} from './protocol.js' */
/** @import {InputVideoTrack, VideoSample, VideoSampleSink} from './vendor/mediabunny.js' */

/** @typedef {ClipInfo & {name: string, readFrame(t: number): Promise<Uint8ClampedArray<ArrayBuffer>>,
 *   look?(t: number): Promise<Uint8ClampedArray<ArrayBuffer>>, left?: Key[], close(): void}} OpenClip look: for the eye, beside
 *   who reads in order; left: what of the file is not read */

/** Cached frames, for an encoder that goes back a few frames at the end of a clip. */
const recent = 6;

/**
 * Opens files as one clip: a video, or pictures in the order of their names.
 * @param {File[]} files
 * @returns {Promise<OpenClip>}
 */
export async function openClip(files) {
  if (await kindOf(files[0]) !== 'picture') return openVideo(files[0]);
  return (files.length === 1 ? await openAnimation(files[0]) : undefined) ?? openPictures(files);
}

/**
 * Opens an animated picture. Undefined if the picture is not animated, or if the browser does not decode such files
 * frame by frame.
 * @param {File} file
 * @returns {Promise<OpenClip|undefined>}
 */
async function openAnimation(file) {
  const decoder = await decoderOf(file);
  if (!decoder) return undefined;
  await decoder.completed.catch(() => {});
  const frames = decoder.tracks.selectedTrack?.frameCount ?? 1;
  if (frames < 2) {
    decoder.close();
    return undefined;
  }
  let [width, height, duration] = [0, 0, 0];
  for (let t = 0; t < frames; t++) {
    const { image } = await decoder.decode({ frameIndex: t }).catch(named(file));
    [width, height] = [image.displayWidth, image.displayHeight];
    duration += image.duration ?? 0; // microseconds
    image.close();
  }
  const reader = rgbaReader(width, height, true);
  return {
    name: file.name, frames, width, height, fps: duration > 0 ? Math.round(1e9 * frames / duration) / 1000 : 0,
    async readFrame(t) {
      const { image } = await decoder.decode({ frameIndex: t }).catch(named(file));
      const rgba = await exact(image, height, width) ?? reader((c) => c.drawImage(image, 0, 0));
      image.close();
      return rgba;
    },
    close: () => decoder.close(),
  };
}

/** A decoder that keeps the file's numbers; undefined if the browser has none. @param {File} file */
async function decoderOf(file) {
  const image = file.type.startsWith('image/'); // isTypeSupported throws for other types, and for none
  if (!image || !('ImageDecoder' in globalThis) || !await ImageDecoder.isTypeSupported(file.type)) return undefined;
  const decoder = new ImageDecoder({
    data: await file.arrayBuffer(), type: file.type, colorSpaceConversion: 'none', premultiplyAlpha: 'none',
  });
  return decoder.tracks.ready.then(() => decoder, () => void decoder.close());
}

/**
 * @param {File[]} files
 * @returns {Promise<OpenClip>}
 */
async function openPictures(files) {
  const sorted = [...files].sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  const first = await createImageBitmap(sorted[0]).catch(named(sorted[0]));
  const { width, height } = first;
  first.close();
  const reader = rgbaReader(width, height, true);
  return {
    name: sorted.length > 1 ? `${sorted[0].name} … ${sorted[sorted.length - 1].name}` : sorted[0].name,
    frames: sorted.length, width, height, fps: 0,
    async readFrame(t) {
      const image = await createImageBitmap(sorted[t], { colorSpaceConversion: 'none', premultiplyAlpha: 'none' }).catch(named(sorted[t]));
      if (image.width !== width || image.height !== height) {
        throw new Error(`${sorted[t].name}: ${image.width} × ${image.height} pixels, the first picture has ${width} × ${height}`);
      }
      const rgba = await straight(sorted[t], height, width) ?? reader((c) => c.drawImage(image, 0, 0));
      image.close();
      return rgba;
    },
    close() {},
  };
}

/**
 * The pixels of a picture file, including the colours of transparent pixels. Undefined if the browser has no suitable
 * decoder, or if such files have no alpha.
 * @param {File} file
 * @param {number} height
 * @param {number} width
 * @returns {Promise<Uint8ClampedArray<ArrayBuffer>|undefined>}
 */
async function straight(file, height, width) {
  const decoder = /^image\/(png|webp)$/.test(file.type) ? await decoderOf(file) : undefined;
  try {
    const decoded = await decoder?.decode();
    const rgba = decoded && await exact(decoded.image, height, width);
    decoded?.image.close();
    return rgba;
  } catch {
    return undefined; // the canvas reports errors, if there are any
  } finally {
    decoder?.close();
  }
}

/**
 * The numbers of a decoded picture of 8 bits; undefined for other formats.
 * @param {VideoFrame} image
 * @param {number} height
 * @param {number} width
 * @returns {Promise<Uint8ClampedArray<ArrayBuffer>|undefined>}
 */
async function exact(image, height, width) {
  const { format, codedWidth, codedHeight } = image;
  if (!/^(RGB|BGR)[AX]$/.test(format ?? '') || codedWidth !== width || codedHeight !== height) return undefined;
  const rgba = new Uint8ClampedArray(4 * height * width);
  await image.copyTo(rgba, { layout: [{ offset: 0, stride: 4 * width }] });
  for (let i = 0; i < rgba.length && format?.startsWith('B'); i += 4) [rgba[i], rgba[i + 2]] = [rgba[i + 2], rgba[i]];
  for (let i = 3; i < rgba.length && format?.endsWith('X'); i += 4) rgba[i] = 255;
  return rgba;
}

/**
 * Returns a function that draws and returns the pixels in a new buffer. With alpha, the canvas rounds the colours by
 * it.
 * @param {number} width
 * @param {number} height
 * @param {boolean} alpha
 */
function rgbaReader(width, height, alpha) {
  const canvas = new OffscreenCanvas(width, height);
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext('2d', { willReadFrequently: true, alpha }));
  return (/** @type {(c: OffscreenCanvasRenderingContext2D) => void} */ draw) => {
    context.clearRect(0, 0, width, height);
    draw(context);
    return context.getImageData(0, 0, width, height).data;
  };
}

/**
 * @param {File} file
 * @returns {Promise<OpenClip>}
 */
async function openVideo(file) {
  const { ALL_FORMATS, BlobSource, Input, VideoSampleSink } = await import('./vendor/mediabunny.js');
  const input = new Input({ source: new BlobSource(file), formats: ALL_FORMATS });
  const track = await input.getPrimaryVideoTrack();
  if (!track || !(await track.canDecode())) {
    input.dispose();
    throw new Error(`${file.name}: ${track ? `codec ${track.codec ?? 'unknown'} can't be decoded` : 'no video track'}`);
  }
  const stats = await track.computePacketStats();
  /** @type {Key[]} */ const left = [];
  if (await input.getPrimaryAudioTrack()) left.push('input.silent');
  if (await track.hasHighDynamicRange()) left.push('input.hdr');
  const reader = new SampleReader(new VideoSampleSink(track), track);
  const looker = new SampleReader(new VideoSampleSink(track), track);
  return {
    name: file.name, frames: stats.packetCount, width: track.displayWidth, height: track.displayHeight,
    fps: Math.round(1000 * stats.averagePacketRate) / 1000, left,
    readFrame: (t) => reader.read(t).catch(named(file)),
    look: (t) => looker.read(t).catch(named(file)),
    close() {
      reader.close();
      looker.close();
      input.dispose();
    },
  };
}

/** Reads a track's frames by number, preferably in order. */
class SampleReader {
  /** @type {AsyncGenerator<VideoSample, void, unknown>|undefined} */ #samples;
  /** @type {Map<number, Uint8ClampedArray<ArrayBuffer>>} */ #recent = new Map();
  /** @type {Promise<unknown>} */ #last = Promise.resolve();
  #next = 0;

  /**
   * @param {VideoSampleSink} sink
   * @param {InputVideoTrack} track
   */
  constructor(sink, track) {
    this.#sink = sink;
    this.#rgba = rgbaReader(track.displayWidth, track.displayHeight, false);
  }

  #sink;
  #rgba;

  /**
   * Reads frame t. Only one read may run at a time.
   * @param {number} t
   * @returns {Promise<Uint8ClampedArray<ArrayBuffer>>}
   */
  read(t) {
    const reading = this.#last.then(() => this.#read(t));
    this.#last = reading.catch(() => {});
    return reading;
  }

  /** @param {number} t */
  async #read(t) {
    const kept = this.#recent.get(t);
    if (kept) return new Uint8ClampedArray(kept);
    if (t < this.#next || !this.#samples) {
      await this.#samples?.return();
      this.#samples = this.#sink.samples();
      this.#next = 0;
      this.#recent.clear();
    }
    for (;;) {
      const { value: sample, done } = await this.#samples.next();
      if (done || !sample) throw new Error(`the video ends before frame ${t}`);
      const rgba = this.#rgba((c) => sample.draw(c, 0, 0));
      sample.close();
      this.#recent.set(this.#next, rgba);
      this.#recent.delete(this.#next - recent);
      if (this.#next++ === t) return new Uint8ClampedArray(rgba);
    }
  }

  close() {
    void this.#samples?.return();
  }
}

/**
 * Adds the file's name to an error.
 * @param {File} file
 * @returns {(error: unknown) => never}
 */
function named(file) {
  return (error) => {
    throw new Error(`${file.name}: ${error instanceof Error ? error.message : error}`);
  };
}
