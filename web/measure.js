// A worker that measures how close a frame is to its original, like media.Quality:
// PSNR, and SSIM under an 11 x 11 Gaussian window of sigma 1.5, per colour channel. It
// receives {id, a, b, height, width} with pixels [H, W, 4], and answers {id, mse,
// ssim}, with mse of values in [-1, 1].

self.onmessage = ({ data: { id, a, b, height, width } }) => {
  self.postMessage({ id, ...measure(a, b, height, width) });
};

/**
 * @param {Uint8ClampedArray} a
 * @param {Uint8ClampedArray} b
 * @param {number} height
 * @param {number} width
 */
export function measure(a, b, height, width) {
  const x = new Float64Array(height * width);
  const y = new Float64Array(height * width);
  const blur = blurrer(height, width);
  let squares = 0;
  let ssim = 0;
  for (let c = 0; c < 3; c++) {
    for (let i = 0; i < x.length; i++) {
      x[i] = a[4 * i + c] / 255;
      y[i] = b[4 * i + c] / 255;
      squares += 4 * (x[i] - y[i]) ** 2;
    }
    ssim += similarity(x, y, blur) / 3;
  }
  return { mse: squares / (3 * x.length), ssim };
}

/** SSIM's window: 11 weights, or fewer if size is smaller, with sum 1. @param {number} size */
function gaussian(size) {
  const n = Math.min(11, size - 1 + (size % 2));
  const w = Float64Array.from({ length: n }, (_, i) => Math.exp(-((i - (n >> 1)) ** 2) / 4.5));
  const sum = w.reduce((s, v) => s + v);
  return w.map((v) => v / sum);
}

/**
 * Averages an image under the window, at every position where it fits.
 * @param {number} height
 * @param {number} width
 */
function blurrer(height, width) {
  const rows = gaussian(height);
  const columns = gaussian(width);
  const outW = width - columns.length + 1;
  const outH = height - rows.length + 1;
  const half = new Float64Array(height * outW);
  return (/** @type {Float64Array} */ src) => {
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < outW; x++) {
        let sum = 0;
        for (let k = 0; k < columns.length; k++) sum += columns[k] * src[y * width + x + k];
        half[y * outW + x] = sum;
      }
    }
    const dst = new Float64Array(outH * outW);
    for (let y = 0; y < outH; y++) {
      for (let k = 0; k < rows.length; k++) {
        for (let x = 0; x < outW; x++) dst[y * outW + x] += rows[k] * half[(y + k) * outW + x];
      }
    }
    return dst;
  };
}

/**
 * @param {Float64Array} x
 * @param {Float64Array} y
 * @param {(src: Float64Array) => Float64Array} blur
 */
function similarity(x, y, blur) {
  const c1 = 0.01 ** 2;
  const c2 = 0.03 ** 2;
  const mx = blur(x);
  const my = blur(y);
  const xx = blur(x.map((v) => v * v));
  const yy = blur(y.map((v) => v * v));
  const xy = blur(x.map((v, i) => v * y[i]));
  let sum = 0;
  for (let i = 0; i < mx.length; i++) {
    const vx = xx[i] - mx[i] ** 2;
    const vy = yy[i] - my[i] ** 2;
    const cov = xy[i] - mx[i] * my[i];
    sum += ((2 * mx[i] * my[i] + c1) * (2 * cov + c2)) / ((mx[i] ** 2 + my[i] ** 2 + c1) * (vx + vy + c2));
  }
  return sum / mx.length;
}
