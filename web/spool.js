// Scratch space for blends that do not fit on the device: a file in the origin private
// file system, which a worker reads and writes synchronously, or memory if there is
// none.

/**
 * @typedef {object} Spool
 * @property {(view: Uint8Array<ArrayBuffer>, at: number) => number} read bytes read; unwritten bytes are zero
 * @property {(view: Uint8Array<ArrayBuffer>, at: number) => number} write bytes written
 * @property {() => void} close discards it
 */

const prefix = 'tessera-spool-';

/**
 * @param {number} size bytes
 * @returns {Promise<Spool>}
 */
export async function openSpool(size) {
  try {
    return await fileSpool(size);
  } catch {
    return memorySpool();
  }
}

/**
 * @param {number} size
 * @returns {Promise<Spool>}
 */
async function fileSpool(size) {
  const root = await navigator.storage.getDirectory();
  await removeStale(root);
  const name = prefix + crypto.randomUUID();
  const file = await root.getFileHandle(name, { create: true });
  const handle = await file.createSyncAccessHandle();
  try {
    handle.truncate(size);
  } catch (error) {
    handle.close();
    root.removeEntry(name);
    throw error;
  }
  return {
    read: (view, at) => handle.read(view, { at }),
    write: (view, at) => handle.write(view, { at }),
    close() {
      handle.close();
      root.removeEntry(name);
    },
  };
}

/**
 * Removes files of killed tabs; a file in use can't be removed.
 * @param {FileSystemDirectoryHandle} root
 */
async function removeStale(root) {
  for await (const name of root.keys()) {
    if (name.startsWith(prefix)) await root.removeEntry(name).catch(() => {});
  }
}

const block = 16 << 20;

/**
 * Memory in blocks, allocated at the first write.
 * @returns {Spool}
 */
function memorySpool() {
  /** @type {Map<number, Uint8Array<ArrayBuffer>>} */
  const blocks = new Map();
  /**
   * @param {Uint8Array<ArrayBuffer>} view
   * @param {number} at
   * @param {(i: number, offset: number, part: Uint8Array<ArrayBuffer>) => void} move
   */
  const each = (view, at, move) => {
    for (let done = 0; done < view.length;) {
      const offset = (at + done) % block;
      const n = Math.min(view.length - done, block - offset);
      move((at + done - offset) / block, offset, view.subarray(done, done + n));
      done += n;
    }
    return view.length;
  };
  return {
    read: (view, at) => each(view, at, (i, offset, part) => {
      const b = blocks.get(i);
      if (b) part.set(b.subarray(offset, offset + part.length));
      else part.fill(0);
    }),
    write: (view, at) => each(view, at, (i, offset, part) => {
      if (!blocks.has(i)) blocks.set(i, new Uint8Array(block));
      blocks.get(i)?.set(part, offset);
    }),
    close: () => blocks.clear(),
  };
}
