// Our side: the same Go as natively, as WebAssembly.
/* global Go, tessera */

export const name = 'Tessera';

async function start() {
  const go = new Go();
  const { instance } = await WebAssembly.instantiateStreaming(fetch('ours.wasm'), go.importObject);
  go.run(instance); // sets tessera
}

const started = start();

export function ways() {
  return { '': async ({ x, weight, bias, ...which }) => {
    await started;
    const checkpoint = which.op === 'decoder' ? await (await fetch('case/decoder.safetensors')).bytes() : undefined;
    await tessera.open(JSON.stringify(which), checkpoint);
    return {
      run: tessera.once,
      lay: () => new Float32Array(tessera.result().buffer),
      close: tessera.close,
    };
  } };
}
