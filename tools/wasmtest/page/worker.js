// Runs the test binary like `go test`: the runner (server.go) provides arguments,
// environment, working directory and files, and receives output and exit code.
import { install, post } from "./fs.js";

const start = await (await fetch("start")).json();
install(start);
await import("./wasm_exec.js"); // it uses the existing globalThis.fs, process and path

const fail = (what) => {
  post("output?fd=2", new TextEncoder().encode(`wasmtest: ${what?.stack ?? what}\n`));
  post("exit?code=2");
};
self.onunhandledrejection = (event) => fail(event.reason);

const go = new globalThis.Go();
go.argv = start.args;
go.env = start.env;
go.exit = (code) => {
  self.onunhandledrejection = (event) => event.preventDefault(); // callbacks that arrive too late
  post(`exit?code=${code}`);
};
try {
  const { instance } = await WebAssembly.instantiateStreaming(fetch("test.wasm"), go.importObject);
  await go.run(instance);
} catch (err) {
  fail(err);
}
