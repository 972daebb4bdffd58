// Runs the test binary as `go test` would: arguments, environment, working
// directory, files, output and exit code are the runner's (server.go).
import { install, post } from "./fs.js";

const start = await (await fetch("start")).json();
install(start);
await import("./wasm_exec.js"); // takes globalThis.fs, process and path as it finds them

const fail = (what) => {
  post("output?fd=2", new TextEncoder().encode(`wasmtest: ${what?.stack ?? what}\n`));
  post("exit?code=2");
};
self.onunhandledrejection = (event) => fail(event.reason);

const go = new globalThis.Go();
go.argv = start.args;
go.env = start.env;
go.exit = (code) => {
  self.onunhandledrejection = (event) => event.preventDefault(); // callbacks that come too late
  post(`exit?code=${code}`);
};
try {
  const { instance } = await WebAssembly.instantiateStreaming(fetch("test.wasm"), go.importObject);
  await go.run(instance);
} catch (err) {
  fail(err);
}
