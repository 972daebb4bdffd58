// Finishes the built page: node page.js DIR
//
// Browsers learn late which modules a module imports, so index.html names all modules
// of the start. PAGE_URL is the page's address: previews of links need the absolute
// address of the picture. SOURCE_URL is where the source is published: the page links
// to it, to its releases and to its README.
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

/** Returns the links in the page's head; none if nothing is published. */
function published(source) {
  if (!source) return '';
  if (!URL.canParse(source) || !/^https?:$/.test(new URL(source).protocol)) {
    console.error(`SOURCE_URL is ${JSON.stringify(source)}, not the http or https address of a repository`);
    process.exit(1);
  }
  const at = new URL(source).href.replace(/\/$/, '').replaceAll('&', '&amp;');
  const links = [['guide', 'Guide', '#readme'], ['download', 'Download', '/releases'], ['source', 'Source', '']];
  return `<nav class="links">${links.map(([key, text, more]) => `<a href="${at}${more}" data-t="links.${key}">${text}</a>`).join('')}</nav>`;
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
page = put(page, '<!-- tools/page.js puts the links here -->', published(process.env.SOURCE_URL));
fs.writeFileSync(`${dir}/index.html`, page);
