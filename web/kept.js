// Checkpoints remembered in this browser (OPFS): chosen once, there next time.

const folder = 'checkpoints';

/** @returns {Promise<FileSystemDirectoryHandle>} */
async function directory() {
  return (await navigator.storage.getDirectory()).getDirectoryHandle(folder, { create: true });
}

/**
 * The checkpoints that are kept, by name.
 * @returns {Promise<{name: string, size: number}[]>}
 */
export async function list() {
  if (!navigator.storage?.getDirectory) return [];
  const all = [];
  for await (const handle of (await directory()).values()) {
    if (!(handle instanceof FileSystemFileHandle) || handle.name.endsWith('.part')) continue;
    all.push({ name: handle.name, size: (await handle.getFile()).size });
  }
  return all.sort((a, b) => a.name.localeCompare(b.name));
}

/**
 * Keeps a copy of a checkpoint. It gets its name when it is complete.
 * @param {File} file
 */
export async function keep(file) {
  const where = await directory();
  const part = await where.getFileHandle(`${file.name}.part`, { create: true });
  try {
    await file.stream().pipeTo(await part.createWritable());
    await rename(where, part, file.name);
  } catch (error) {
    await where.removeEntry(`${file.name}.part`).catch(() => {});
    throw error;
  }
  void navigator.storage.persist?.();
}

/**
 * @param {FileSystemDirectoryHandle} where
 * @param {FileSystemFileHandle & {move?: (name: string) => Promise<void>}} part
 * @param {string} name
 */
async function rename(where, part, name) {
  if (part.move) return part.move(name);
  const to = await where.getFileHandle(name, { create: true });
  await (await part.getFile()).stream().pipeTo(await to.createWritable());
  await where.removeEntry(part.name);
}

/** @param {string} name @returns {Promise<File>} */
export async function get(name) {
  return (await (await directory()).getFileHandle(name)).getFile();
}

/** @param {string} name */
export async function remove(name) {
  await (await directory()).removeEntry(name);
}
