// TensorFlow.js on its WebGPU backend, channels last as it wants them.
/* global tf */
import { turned } from './turned.js';

export const name = 'tfjs-backend-webgpu';

const ready = tf.setBackend('webgpu').then(() => tf.ready());

export async function version() {
  await ready;
  return tf.version_core;
}

const groups = 32, eps = 1e-6;

/** A way that computes from an input of dims; lay restores the order. */
function way(x, dims, compute, lay, constants = []) {
  return {
    run: async () => {
      const y = tf.tidy(() => compute(tf.tensor(x, dims, 'float32')));
      const data = await y.data();
      y.dispose();
      return data;
    },
    lay,
    close: () => constants.forEach((v) => v.dispose()),
  };
}

/** A way with channels last. */
function last(which, dims, compute, constants) {
  const pixels = which.t * which.h * which.w;
  return way(turned(which.x, which.in, pixels), dims, compute, (y) => turned(y, pixels, which.out), constants);
}

/** The weight [O, I, ...taps] as [...taps, I, O]. */
function kernel({ weight, in: c, out }, taps) {
  const n = taps.reduce((a, b) => a * b), to = new Float32Array(weight.length);
  for (let i = 0; i < out * c; i++) for (let k = 0; k < n; k++) to[(k * c + i % c) * out + Math.floor(i / c)] = weight[i * n + k];
  return tf.tensor(to, [...taps, c, out]);
}

function conv3d(which) {
  const w = kernel(which, [3, 3, 3]), b = tf.tensor1d(which.bias);
  // No sum with five axes: this backend's shader for it fails.
  const compute = (x) => tf.add(tf.reshape(tf.conv3d(x, w, 1, 'same'), [-1, which.out]), b);
  return last(which, [1, which.t, which.h, which.w, which.in], compute, [w, b]);
}

function conv2d(which) {
  const w = kernel(which, [3, 3]), bias = tf.tensor1d(which.bias);
  const compute = (x) => tf.fused.conv2d({ x, filter: w, strides: 1, pad: 'same', bias });
  return last(which, [1, which.h, which.w, which.in], compute, [w, bias]);
}

/** The norm of x over axes, then gamma, beta and SiLU in the shape of whole. */
function normed(x, axes, whole, gamma, beta) {
  const { mean, variance } = tf.moments(x, axes, true);
  const unit = tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, eps)));
  const y = tf.add(tf.mul(tf.reshape(unit, whole), gamma), beta);
  return tf.mul(y, tf.sigmoid(y));
}

function norm(which) {
  const { h, w, in: c } = which;
  const gamma = tf.tensor1d(which.weight), beta = tf.tensor1d(which.bias);
  const compute = (x) => normed(x, [1, 3], [1, h * w, c], gamma, beta);
  return last(which, [1, h * w, groups, c / groups], compute, [gamma, beta]);
}

function normFirst(which) {
  const { x, h, w, in: c } = which;
  const gamma = tf.tensor2d(which.weight, [c, 1]), beta = tf.tensor2d(which.bias, [c, 1]);
  return way(x, [groups, x.length / groups], (v) => normed(v, [1], [c, h * w], gamma, beta), (y) => y, [gamma, beta]);
}

function attention(which) {
  const { x, in: c } = which;
  const compute = (qkv) => {
    const [q, k, v] = tf.unstack(qkv);
    return tf.matMul(tf.softmax(tf.matMul(tf.mul(q, c ** -0.5), k, false, true)), v);
  };
  return way(x, [3, which.h * which.w, c], compute, (y) => y);
}

const makers = {
  conv3d: { conv3d },
  conv2d: { conv2d },
  norm: { 'channels last': norm, 'channels first': normFirst },
  attention: { attention },
};

export function ways({ op }) {
  return Object.fromEntries(Object.entries(makers[op] ?? {}).map(([name, make]) => [name, async (which) => {
    await ready;
    return make(which);
  }]));
}
