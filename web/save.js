// Saving: videos through WebCodecs, pictures, latents. No data leaves the computer; the
// browser's own download stores the file.

import { toI420 } from './i420.js';

/** @import {Frames} from './frames.js' */

/** Codecs of each container, the most compatible first. */
const codecs = /** @type {const} */ ({ mp4: ['avc', 'hevc', 'av1', 'vp9'], webm: ['vp9', 'av1', 'vp8'] });

/** The side of a video for that of a picture: chroma of half the size requires even numbers. @param {number} n */
export const even = (n) => n & ~1;

/**
 * Writes frames as a video.
 * @param {Frames} frames
 * @param {'mp4'|'webm'} kind
 * @param {(n: number) => void} progress
 * @returns {Promise<Blob>}
 */
export async function video(frames, kind, progress) {
  const { BufferTarget, Mp4OutputFormat, Output, QUALITY_VERY_HIGH, VideoSample, VideoSampleSource, WebMOutputFormat, canEncodeVideo } =
    await import('./vendor/mediabunny.js');
  const width = even(frames.width);
  const height = even(frames.height);
  /** @type {typeof codecs[kind][number]|undefined} */
  let codec;
  for (const c of codecs[kind]) {
    if (await canEncodeVideo(c, { width, height, bitrate: QUALITY_VERY_HIGH })) {
      codec = c;
      break;
    }
  }
  if (!codec) throw new Error(`no encoder for ${kind} of ${width} × ${height} pixels`);
  const target = new BufferTarget();
  const format = kind === 'mp4' ? new Mp4OutputFormat({ fastStart: 'in-memory' }) : new WebMOutputFormat();
  const output = new Output({ format, target });
  const source = new VideoSampleSource({
    codec, bitrate: QUALITY_VERY_HIGH, keyFrameInterval: 2,
    onEncodedPacket: (_, meta) => {
      const c = meta?.decoderConfig;
      if (codec === 'avc' && c?.description) c.description = mendAVC(c.description);
    },
  });
  output.addVideoTrack(source, { frameRate: frames.fps });
  await output.start();
  for (let i = 0; i < frames.count; i++) {
    // Browsers convert RGB differently, so they receive I420.
    const sample = new VideoSample(toI420(await frames.get(i), frames.width, width, height), {
      format: 'I420', codedWidth: width, codedHeight: height, timestamp: i / frames.fps, duration: 1 / frames.fps,
      colorSpace: { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', fullRange: false },
    });
    await source.add(sample);
    sample.close();
    progress(i + 1);
  }
  await output.finalize();
  return new Blob([/** @type {ArrayBuffer} */ (target.buffer)], { type: `video/${kind}` });
}

/**
 * Firefox 153 on Linux writes the first byte of each parameter set twice into H.264's configuration, and decoders
 * then reject them. This removes the second.
 * @param {AllowSharedBufferSource} description
 */
export function mendAVC(description) {
  const old = ArrayBuffer.isView(description)
    ? new Uint8Array(description.buffer, description.byteOffset, description.byteLength) : new Uint8Array(description);
  const kind = 0x67; // of a sequence parameter set; no profile has this number
  if (old[8] !== kind || old[9] !== kind) return description;
  const out = [...old.subarray(0, 4), old[4] | 0xfc];
  for (let at = 5, sets = 0; sets < 2; sets++) {
    const count = old[at++];
    out.push(sets === 0 ? count | 0xe0 : count);
    for (let n = count & 0x1f; n > 0; n--) {
      const bytes = (old[at] << 8) + old[at + 1] - 1;
      out.push(bytes >> 8, bytes & 0xff, ...old.subarray(at + 3, at + 3 + bytes));
      at += bytes + 3;
    }
  }
  return new Uint8Array(out);
}

/**
 * Downloads a file.
 * @param {Blob} blob
 * @param {string} name
 */
export function download(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
