// globalThis.peers, which the program calls. A side returns its ways to run a case:
// run() uploads the input, computes and returns the output in its own order;
// lay(output) converts it to channels first, like the case's numbers.
import * as litert from './litert.js';
import * as onnxruntime from './onnxruntime.js';
import * as tensorflow from './tensorflow.js';
import * as tessera from './tessera.js';

const sides = [onnxruntime, tensorflow, litert, tessera];

/** @type {Map<string, {run: () => Promise<Float32Array>}>} */
const ways = new Map();

let dispatches = 0;
for (const name of ['dispatchWorkgroups', 'dispatchWorkgroupsIndirect']) {
  const real = GPUComputePassEncoder.prototype[name];
  GPUComputePassEncoder.prototype[name] = function (...sizes) {
    dispatches++;
    return real.apply(this, sizes);
  };
}

async function numbers(name) {
  return new Float32Array(await (await fetch(`case/${name}.bin`)).arrayBuffer());
}

/** Sets up the server's case; the answer has the form of native.py's. */
async function open(graphs) {
  const which = await (await fetch('case/case.json')).json();
  const names = ['attention', 'decoder'].includes(which.op) ? ['x'] : ['x', 'weight', 'bias'];
  const [x, weight, bias] = await Promise.all(names.map(numbers));
  const answer = { names: [], first: {}, errors: {} };
  for (const side of sides) {
    for (const [way, make] of Object.entries(side.ways(which, graphs))) {
      if (way.endsWith('-in-parts') && ways.size > 0) continue; // only needed if the whole graph fails
      const name = way ? `${side.name}:${way}` : side.name;
      try {
        const made = await make({ ...which, x, weight, bias });
        dispatches = 0;
        const start = performance.now();
        const out = await made.run();
        answer.first[name] = (performance.now() - start) / 1e3;
        const y = made.lay(out);
        if (!dispatches) throw new Error('nothing of it ran on the GPU');
        await fetch(`case/${name}.out`, { method: 'PUT', body: y });
        ways.set(name, made);
        answer.names.push(name);
      } catch (err) {
        answer.errors[name] = String(err);
      }
    }
  }
  return answer;
}

/** Runs n times and returns the seconds of each run. */
async function run(name, n) {
  const way = ways.get(name);
  const seconds = [];
  for (let i = 0; i < n; i++) {
    const start = performance.now();
    await way.run();
    seconds.push((performance.now() - start) / 1e3);
  }
  return seconds;
}

async function close() {
  for (const way of ways.values()) await way.close();
  ways.clear();
  return true;
}

async function about() {
  const { vendor, architecture, description } = (await navigator.gpu.requestAdapter()).info;
  const versions = {};
  for (const side of sides) if (side.version) versions[side.name] = await side.version();
  return { adapter: [vendor, architecture, description].filter(Boolean).join(' '), versions };
}

globalThis.peers = { open, run, close, about };
