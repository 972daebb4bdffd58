// Files and folders that the user drops anywhere on the page, and a picked folder.

/**
 * @param {(files: File[]) => void} take
 * @param {(error: unknown) => void} failed
 */
export function listenDrop(take, failed) {
  let depth = 0; // nested elements that the pointer is in
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

/** Limit for the files of a folder with its subfolders; more is probably a mistake. */
const most = 10_000;

/** Orders by name, with numbers in names by value. @param {string} a @param {string} b */
const order = (a, b) => a.localeCompare(b, 'en', { numeric: true });

/** The files of a picked folder, in the order of filesOf. @param {File[]} files */
export function ofFolder(files) {
  const seen = files.filter((f) => !/(^|\/)\./.test(f.webkitRelativePath));
  return seen.sort((a, b) => order(a.webkitRelativePath, b.webkitRelativePath)).slice(0, most);
}

/**
 * The dropped files, including those in folders, ordered by name.
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
  if (entry.isFile) { // browsers do not expose these classes
    into.push(await new Promise((resolve, reject) => { /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject); }));
  } else {
    const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
    for (;;) {
      /** @type {FileSystemEntry[]} */
      const some = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); }); // about a hundred per call
      if (!some.length) break;
      for (const e of some.sort((a, b) => order(a.name, b.name))) await collect(e, into);
    }
  }
}
