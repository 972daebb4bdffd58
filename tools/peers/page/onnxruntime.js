// onnxruntime-web's WebGPU provider, with the graphs from native.py.
import * as ort from './modules/onnxruntime-web/dist/ort.webgpu.bundle.min.mjs';

ort.env.wasm.wasmPaths = new URL('./modules/onnxruntime-web/dist/', import.meta.url).href;
ort.env.logLevel = 'fatal';

export const name = 'onnxruntime-web';
export const version = () => ort.env.versions.web;

function shape({ op, in: c, t, h, w }) {
  if (op === 'decoder') return [1, c, h / 8, w / 8];
  return op === 'attention' ? [1, h * w, c] : op === 'conv3d' ? [1, c, t, h, w] : [1, c, h, w];
}

function feeds({ op, x, ...which }) {
  const dims = shape({ op, ...which });
  if (op !== 'attention') return { x: new ort.Tensor('float32', x, dims) };
  const part = (i) => new ort.Tensor('float32', x.subarray(i * x.length / 3, (i + 1) * x.length / 3), dims);
  return { q: part(0), k: part(1), v: part(2) };
}

export function ways(_, graphs) {
  return Object.fromEntries(graphs.map((graph) => [graph, async (which) => {
    const model = new Uint8Array(await (await fetch(`case/${graph}.onnx`)).arrayBuffer());
    const session = await ort.InferenceSession.create(model, {
      executionProviders: ['webgpu'], logSeverityLevel: 4, extra: { session: { disable_cpu_ep_fallback: '1' } },
    });
    const input = feeds(which);
    return {
      run: async () => (await session.run(input)).y.data,
      lay: (y) => y,
      close: () => session.release(),
    };
  }]));
}
