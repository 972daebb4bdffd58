// Checkpoints remembered in this browser (OPFS): chosen once, there next time.
// One that is being written has an empty file beside it, its name and `.part`,
// which goes when the copy is whole; what still has one belongs to nobody,
// unless a tab holds the lock of that name. Chromium writes to a third beside
// it, NAME.crswap.

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

/** Whether this browser can keep any. */
export const can = !!navigator.storage?.getDirectory && !!navigator.locks && 'createWritable' in FileSystemFileHandle.prototype;

/** @param {string} name */
const checkpoint = (name) => /\.(safetensors|pth?)$/i.test(name);

/** @param {string} name of a checkpoint: one tab at a time writes it */
const lock = (name) => `tessera-keep-${name}`;

/**
 * The checkpoints that are kept, by name.
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

/** Bytes that this browser has room for. */
export async function room() {
  const { quota = Infinity, usage = 0 } = await navigator.storage.estimate();
  return Math.max(0, quota - usage);
}

/**
 * Keeps a copy of a checkpoint, in place of one of its name. One that is stopped or fails leaves nothing.
 * @param {File} file
 * @param {AbortSignal} signal
 * @param {(done: number) => void} progress bytes
 */
export function keep(file, signal, progress) {
  return navigator.locks.request(lock(file.name), { signal }, async () => {
    const where = await directory();
    await discard(where, file.name); // first, since there may not be room for both
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

/** Removes what tabs have left that ended while they wrote. */
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
 * Removes a copy and what a browser has beside it, and then its mark.
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
