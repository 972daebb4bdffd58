// Files dropped anywhere on the page.

/** @param {(files: File[]) => void} take */
export function listenDrop(take) {
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
    take([...e.dataTransfer?.files ?? []]);
  });
}
