// Finds truncated videos by the lengths in their container. A browser plays a truncated
// video up to its end and reports no error.

/**
 * The minimum size of a video in bytes, if it is larger than the file.
 * @param {Blob} file
 * @returns {Promise<number|undefined>}
 */
export async function missing(file) {
  const head = await view(file, 0);
  if (head.byteLength < 16) return undefined;
  const end = head.getUint32(0) === 0x1a45dfa3 ? await matroska(file, head) : await boxes(file);
  return end > file.size ? end : undefined;
}

/** @param {Blob} file @param {number} at */
const view = async (file, at) => new DataView(await file.slice(at, at + 64).arrayBuffer());

/** The end of the last box of an MP4 or QuickTime file; 0 for another file. @param {Blob} file */
async function boxes(file) {
  let at = 0;
  while (at < file.size) {
    const head = await view(file, at);
    if (head.byteLength < 8) return at + 8;
    const type = String.fromCharCode(...new Uint8Array(head.buffer, 4, 4));
    if (at === 0 && !/^(ftyp|moov|mdat|free|skip|wide|styp)$/.test(type) || !/^[ -~©]{4}$/.test(type)) return 0;
    let size = head.getUint32(0);
    if (size === 0) break; // up to the end of the file
    if (size === 1) size = head.byteLength < 16 ? 16 : Number(head.getBigUint64(8));
    if (size < 8) return 0;
    at += size;
  }
  return at;
}

/** The end of the segment of a Matroska or WebM file; 0 if it is not specified. @param {Blob} file @param {DataView} head */
async function matroska(file, head) {
  const first = number(head, 4);
  const at = 4 + first.length + first.value;
  const segment = await view(file, at);
  if (segment.byteLength < 12 || segment.getUint32(0) !== 0x18538067) return 0;
  const { value, length } = number(segment, 4);
  return value === 2 ** (7 * length) - 1 ? 0 : at + 4 + length + value; // all ones: a stream of unknown length
}

/** Reads an EBML number, whose first byte encodes its length. @param {DataView} v @param {number} at */
function number(v, at) {
  const first = v.getUint8(at);
  const length = Math.clz32(first) - 23;
  let value = first & (0xff >> length);
  for (let i = 1; i < Math.min(8, length); i++) value = 256 * value + v.getUint8(at + i);
  return { value, length };
}
