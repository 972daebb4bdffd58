// LiteRT.js on its WebGPU backend, in f32, with the models from lite.py.
import { Tensor, loadAndCompile, loadLiteRt } from '@litertjs/core';
import { turned } from './turned.js';

export const name = 'LiteRT.js';
export const version = async () => (await (await fetch('modules/@litertjs/core/package.json')).json()).version;

let started;

async function model() {
  started ??= loadLiteRt(new URL('./modules/@litertjs/core/wasm/', import.meta.url).href, { jspi: true });
  await started;
  const compiled = await loadAndCompile('case/case.tflite', { accelerator: 'webgpu', gpuOptions: { precision: 'fp32' } });
  if (!compiled.isFullyAccelerated) {
    compiled.delete();
    throw new Error('the WebGPU backend does not take all of it');
  }
  return compiled;
}

/** Inputs, each as numbers and a shape. */
function inputs({ op, x, in: c, t, h, w }) {
  if (op === 'attention') return [0, 1, 2].map((i) => [x.subarray(i * x.length / 3, (i + 1) * x.length / 3), [1, 1, h * w, c]]);
  const shape = { conv3d: [1, t, h, w, c], conv2d: [1, h, w, c], norm: [1, h * w, 32, c / 32] }[op];
  return [[turned(x, c, t * h * w), shape]];
}

export function ways({ op, t, h, w, out }) {
  if (op === 'decoder') return {};
  return { [op]: async (which) => {
    const compiled = await model(), given = inputs(which);
    return {
      run: async () => {
        const tensors = given.map(([data, shape]) => new Tensor(data, shape));
        const [y] = await compiled.run(tensors);
        const data = await y.data();
        for (const tensor of [...tensors, y]) tensor.delete();
        return data;
      },
      lay: (y) => op === 'attention' ? y : turned(y, t * h * w, out),
      close: () => compiled.delete(),
    };
  } };
}
