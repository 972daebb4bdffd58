// A classic script for a page opened by file:, where browsers load no modules. It shows
// why the page does nothing.
if (location.protocol === 'file:') document.documentElement.dataset.file = 'true';
