// Writes the list of files to store into the built page's sw.js: node offline.js DIR
//
// The list leaves out the worker itself, and what the page does not use: licences, and
// the picture for links. A packed file also counts in the form of hosts that unpack it.
const crypto = require('crypto'), fs = require('fs'), path = require('path'), zlib = require('zlib');

const dir = process.argv[2];
const place = 'const files = {};';
const hash = (data) => `sha256-${crypto.createHash('sha256').update(data).digest('base64')}`;

const files = {};
for (const entry of fs.readdirSync(dir, { recursive: true, withFileTypes: true })) {
  const file = path.join(entry.parentPath, entry.name), name = path.relative(dir, file);
  if (!entry.isFile() || /^(sw\.js|share\.jpg)$|\.LICENSE$/.test(name)) continue;
  const data = fs.readFileSync(file);
  files[name === 'index.html' ? '' : name] = hash(data) + (name.endsWith('.gz') ? ` ${hash(zlib.gunzipSync(data))}` : '');
}
const sorted = Object.fromEntries(Object.entries(files).sort());

const worker = fs.readFileSync(`${dir}/sw.js`, 'utf8');
if (!worker.includes(place)) throw new Error(`sw.js has no ${place}`);
fs.writeFileSync(`${dir}/sw.js`, worker.replace(place, () => `const files = ${JSON.stringify(sorted, null, 1)};`));
