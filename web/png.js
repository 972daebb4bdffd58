// PNG files of pixels with straight alpha. A canvas would round the colours by their
// alpha, and lose those of transparent pixels.

const signature = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * @param {Uint8ClampedArray} rgba [H, W, 4]
 * @param {number} height
 * @param {number} width
 * @returns {Promise<Blob>}
 */
export async function png(rgba, height, width) {
  const row = 4 * width;
  const rows = new Uint8Array(height * (1 + row)); // each starts with its filter
  for (let y = 0; y < height; y++) {
    const from = y * row;
    const to = y * (1 + row) + 1;
    rows[to - 1] = 1; // differences to the pixel on the left
    for (let i = 0; i < row; i++) rows[to + i] = rgba[from + i] - (i < 4 ? 0 : rgba[from + i - 4]);
  }
  const packed = new Response(new Blob([rows]).stream().pipeThrough(new CompressionStream('deflate')));
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  head.set([8, 6], 8); // bits of a sample; RGBA
  return new Blob([
    signature, ...chunk('IHDR', head), ...chunk('IDAT', new Uint8Array(await packed.arrayBuffer())), ...chunk('IEND', new Uint8Array()),
  ], { type: 'image/png' });
}

/**
 * @param {string} name
 * @param {Uint8Array<ArrayBuffer>} data
 */
function chunk(name, data) {
  const length = new DataView(new ArrayBuffer(4));
  length.setUint32(0, data.length);
  const kind = Uint8Array.from(name, (c) => c.charCodeAt(0));
  const check = new DataView(new ArrayBuffer(4));
  check.setUint32(0, ~crc(data, crc(kind, 0xffffffff)));
  return [length, kind, data, check];
}

/** CRC remainders for each byte. */
const remainders = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

/**
 * Continues a CRC-32, which is inverted at its start and end.
 * @param {Uint8Array} bytes
 * @param {number} c
 */
function crc(bytes, c) {
  for (const b of bytes) c = remainders[(c ^ b) & 0xff] ^ (c >>> 8);
  return c;
}
