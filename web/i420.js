// RGB converted for video: BT.709, limited range, chroma of half the size, sited on the
// left pixel of each pair, as players assume.

/**
 * Converts the upper left of a picture to I420.
 * @param {Uint8ClampedArray} rgba
 * @param {number} stride pixels per row of rgba
 * @param {number} width even
 * @param {number} height even
 */
export function toI420(rgba, stride, width, height) {
  const out = new Uint8ClampedArray((width * height * 3) / 2);
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0; x < width; x++, to++) {
      const i = 4 * (y * stride + x);
      out[to] = 16 + 0.182586 * rgba[i] + 0.614231 * rgba[i + 1] + 0.062007 * rgba[i + 2];
    }
  }
  const size = (width * height) / 4;
  for (let y = 0, to = width * height; y < height; y += 2) {
    for (let x = 0; x < width; x += 2, to++) {
      const [r, g, b] = [0, 1, 2].map((c) => chroma(rgba, 4 * y * stride + c, stride, x, width));
      out[to] = 128 - 0.100644 * r - 0.338572 * g + 0.439216 * b;
      out[to + size] = 128 + 0.439216 * r - 0.398942 * g - 0.040274 * b;
    }
  }
  return out;
}

/**
 * A colour averaged over two rows, with the neighbouring pixels at half weight.
 * @param {Uint8ClampedArray} rgba
 * @param {number} at where the row begins
 * @param {number} stride
 * @param {number} x
 * @param {number} width
 */
function chroma(rgba, at, stride, x, width) {
  const here = at + 4 * x;
  const left = at + 4 * Math.max(0, x - 1);
  const right = at + 4 * Math.min(width - 1, x + 1);
  const down = 4 * stride;
  return (2 * (rgba[here] + rgba[here + down]) + rgba[left] + rgba[left + down] + rgba[right] + rgba[right + down]) / 8;
}
