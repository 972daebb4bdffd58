// What wasm_exec.js, which tools/web.sh takes from the Go toolchain, defines.
export {};

declare global {
  class Go {
    importObject: WebAssembly.Imports;
    run(instance: WebAssembly.Instance): Promise<void>;
  }
  const fs: { writeSync(fd: number, bytes: Uint8Array): number };
}
