// Finishes the built page: node page.js DIR
//
// Modules tell late which others they import: index.html names all that it
// begins with. PAGE_URL is where the page will be: what shows links wants the
// whole address of their picture.
const fs = require('fs');

const dir = process.argv[2];
const seen = new Set();

function follow(name) {
  if (seen.has(name)) return;
  seen.add(name);
  for (const [, path] of fs.readFileSync(`${dir}/${name}`, 'utf8').matchAll(/^import .*?"?'\.\/(.*?)';$/gm)) follow(path);
}

function address(page, file) {
  if (!page) return file;
  const url = URL.canParse(page) ? new URL(page) : undefined;
  if (!/^https?:$/.test(url?.protocol) || url.search || url.hash) {
    console.error(`PAGE_URL is ${JSON.stringify(page)}, not the http or https address of a folder`);
    process.exit(1);
  }
  const whole = new URL(file, url.href.replace(/\/?$/, '/')).href;
  return whole.replaceAll('&', '&amp;');
}

function put(page, place, text) {
  if (!page.includes(place)) throw new Error(`index.html has no ${place}`);
  return page.replace(place, () => text);
}

follow('app.js');
const links = [...seen].sort().map((name) => `<link rel="modulepreload" href="${name}">`).join('\n  ');
let page = fs.readFileSync(`${dir}/index.html`, 'utf8');
page = put(page, '<!-- tools/web.sh puts modulepreload links here -->', links);
page = put(page, 'content="share.jpg"', `content="${address(process.env.PAGE_URL, 'share.jpg')}"`);
fs.writeFileSync(`${dir}/index.html`, page);
