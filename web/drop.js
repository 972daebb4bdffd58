// Files and folders: dropped anywhere on the page, or a folder that was picked.

/**
 * @param {(files: File[]) => void} take
 * @param {(error: unknown) => void} failed
 */
export function listenDrop(take, failed) {
  let depth = 0; // of elements that the pointer is in
  const mark = () => { document.body.dataset.drop = String(depth > 0); };
  const files = (/** @type {DragEvent} */ e) => e.dataTransfer?.types.includes('Files');
  addEventListener('dragenter', (e) => {
    if (!files(e)) return;
    depth++;
    mark();
  });
  addEventListener('dragleave', (e) => {
    if (!files(e)) return;
    depth = Math.max(0, depth - 1);
    mark();
  });
  addEventListener('dragover', (e) => {
    if (files(e)) e.preventDefault();
  });
  addEventListener('drop', (e) => {
    if (!files(e)) return;
    e.preventDefault();
    depth = 0;
    mark();
    filesOf(e.dataTransfer).then(take, failed);
  });
}

/** Files of a folder, and of those in it; more is hardly meant. */
const most = 10_000;

/** What comes first, by numbers in names. @param {string} a @param {string} b */
const order = (a, b) => a.localeCompare(b, 'en', { numeric: true });

/** The files of a folder that was picked, as filesOf has them. @param {File[]} files */
export function ofFolder(files) {
  const seen = files.filter((f) => !/(^|\/)\./.test(f.webkitRelativePath));
  return seen.sort((a, b) => order(a.webkitRelativePath, b.webkitRelativePath)).slice(0, most);
}

/**
 * The files of a drop, those in folders too, in the order of their names.
 * @param {DataTransfer|null} drop
 * @returns {Promise<File[]>}
 */
async function filesOf(drop) {
  const plain = [...drop?.files ?? []]; // a drop's lists are empty after the event
  const entries = [...drop?.items ?? []].map((item) => item.webkitGetAsEntry?.() ?? null);
  if (!entries.some((e) => e?.isDirectory)) return plain;
  /** @type {File[]} */ const files = [];
  for (const entry of entries) if (entry) await collect(entry, files);
  return files;
}

/**
 * @param {FileSystemEntry} entry
 * @param {File[]} into
 */
async function collect(entry, into) {
  if (entry.name.startsWith('.') || into.length >= most) return;
  if (entry.isFile) { // the classes have no names in browsers
    into.push(await new Promise((resolve, reject) => { /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject); }));
  } else {
    const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
    for (;;) {
      /** @type {FileSystemEntry[]} */
      const some = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); }); // a hundred at a time
      if (!some.length) break;
      for (const e of some.sort((a, b) => order(a.name, b.name))) await collect(e, into);
    }
  }
}
