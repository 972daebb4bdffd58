// A classic script: a page that was opened as a file gets no modules, and this
// is all that can tell why nothing happens.
if (location.protocol === 'file:') document.documentElement.dataset.file = 'true';
