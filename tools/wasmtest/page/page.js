// Starts the worker, and tells the runner if it fails.
const worker = new Worker("worker.js", { type: "module" });
worker.onerror = (event) => {
  const text = `wasmtest: the worker failed: ${event.message} (${event.filename}:${event.lineno})\n`;
  fetch("output?fd=2", { method: "POST", body: text }).then(() => fetch("exit?code=2", { method: "POST" }));
};
