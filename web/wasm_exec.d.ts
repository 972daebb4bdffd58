// What wasm_exec.js defines; tools/web.sh copies it from the Go toolchain.
export {};

declare global {
  class Go {
    importObject: WebAssembly.Imports;
    run(instance: WebAssembly.Instance): Promise<void>;
  }
  const fs: { writeSync(fd: number, bytes: Uint8Array): number };
}
