// Copies of checkpoints in this browser (OPFS): chosen once, available in the next
// visit. While a copy is written, an empty file NAME.part marks it; it is removed when
// the copy is complete. A copy with such a mark is abandoned unless a tab holds the
// lock of that name. Chromium writes to another file, NAME.crswap.

const folder = 'checkpoints';
const mark = '.part';

/** @returns {Promise<FileSystemDirectoryHandle>} */
async function directory() {
  return (await navigator.storage.getDirectory()).getDirectoryHandle(folder, { create: true });
}

/** @param {FileSystemDirectoryHandle} where */
async function handles(where) {
  /** @type {FileSystemHandle[]} */ const all = [];
  for await (const handle of where.values()) all.push(handle);
  return all;
}

/** Whether this browser can store copies. */
export const can = !!navigator.storage?.getDirectory && !!navigator.locks && 'createWritable' in FileSystemFileHandle.prototype;

/** @param {string} name */
const checkpoint = (name) => /\.(safetensors|pth?)$/i.test(name);

/** @param {string} name of a checkpoint; one tab at a time writes a copy */
const lock = (name) => `tessera-keep-${name}`;

/**
 * The stored checkpoints, by name.
 * @returns {Promise<{name: string, size: number}[]>}
 */
export async function list() {
  if (!can) return [];
  const files = (await handles(await directory())).filter((f) => f instanceof FileSystemFileHandle);
  const names = new Set(files.map((f) => f.name));
  const whole = files.filter((f) => checkpoint(f.name) && !names.has(f.name + mark));
  const all = await Promise.all(whole.map(async (f) => ({ name: f.name, size: (await f.getFile()).size })));
  return all.sort((a, b) => a.name.localeCompare(b.name));
}

/** Bytes available in this browser. */
export async function room() {
  const { quota = Infinity, usage = 0 } = await navigator.storage.estimate();
  return Math.max(0, quota - usage);
}

/**
 * Stores a copy of a checkpoint; it replaces one with its name. If it is cancelled or fails, no file remains.
 * @param {File} file
 * @param {AbortSignal} signal
 * @param {(done: number) => void} progress bytes
 */
export function keep(file, signal, progress) {
  return navigator.locks.request(lock(file.name), { signal }, async () => {
    const where = await directory();
    await discard(where, file.name); // first, because both may not fit
    await where.getFileHandle(file.name + mark, { create: true });
    try {
      const to = await (await where.getFileHandle(file.name, { create: true })).createWritable();
      await file.stream().pipeThrough(counting(progress)).pipeTo(to, { signal });
      await where.removeEntry(file.name + mark);
    } catch (error) {
      await discard(where, file.name);
      throw error;
    }
  });
}

/** @param {(done: number) => void} progress @returns {TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>} */
function counting(progress) {
  let done = 0;
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      progress(done += chunk.length);
    },
  });
}

/** Removes the unfinished copies of closed tabs. */
export async function sweep() {
  if (!can) return;
  const where = await directory();
  const marked = (await handles(where)).filter((f) => f.name.endsWith(mark));
  for (const name of marked.map((f) => f.name.slice(0, -mark.length))) {
    await navigator.locks.request(lock(name), { ifAvailable: true }, async (held) => {
      const still = held && await where.getFileHandle(name + mark).catch(() => undefined);
      if (still) await discard(where, name);
    });
  }
}

/**
 * Removes a copy with the browser's own temporary file, and then its mark.
 * @param {FileSystemDirectoryHandle} where
 * @param {string} name
 */
async function discard(where, name) {
  const all = (await handles(where)).map((f) => f.name);
  const beside = all.filter((n) => n.startsWith(`${name}.`) && !checkpoint(n) && n !== name + mark);
  for (const n of [name, ...beside]) await where.removeEntry(n).catch(absent);
  await where.removeEntry(name + mark).catch(absent);
}

/** @param {unknown} error */
function absent(error) {
  if (!(error instanceof DOMException && error.name === 'NotFoundError')) throw error;
}

/** @param {string} name @returns {Promise<File>} */
export async function get(name) {
  return (await (await directory()).getFileHandle(name)).getFile();
}

/** @param {string} name */
export async function remove(name) {
  await (await directory()).removeEntry(name).catch(absent);
}
