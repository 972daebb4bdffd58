// A classic script for a page that was opened by file:, where browsers load no modules. It
// shows why nothing happens.
if (location.protocol === 'file:') document.documentElement.dataset.file = 'true';
