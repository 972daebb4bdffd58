// VitePress's configuration for `make docs`. The pages are the Markdown files of docs/ and
// the four beside README.md, as the forge shows them: links are resolved here, against the
// file they are in. A link to no file ends the build; one to a file that is no page leads
// to the repository at SOURCE_URL, and without that is plain text.
import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../../..');
const pages = path.resolve(import.meta.dirname, '../pages'); // copies, below the folder of node_modules
const source = process.env.SOURCE_URL?.replace(/\/+$/, '');
const beside = ['README.md', 'RATIONALE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];

// page is the address of a Markdown file on the site: docs/guides/windows.tr.md is
// tr/guides/windows.md there.
function page(file) {
  if (beside.includes(file)) return file.toLowerCase().replace('readme', 'about');
  if (!file.startsWith('docs/') || !file.endsWith('.md')) return;
  let name = file.slice('docs/'.length);
  if (name.endsWith('.tr.md')) name = `tr/${name.replace(/\.tr\.md$/, '.md')}`;
  return name.replace(/README\.md$/, 'index.md');
}

// address is where a link of a file leads on the site, undefined where to nowhere.
function address(file, link) {
  const [, name, fragment] = link.match(/^([^#]*)(#.*)?$/);
  if (/^[a-z]+:/.test(link) || name === '') return link;
  const target = path.posix.join(path.posix.dirname(file), decodeURI(name)).replace(/\/$/, '');
  if (!fs.existsSync(path.join(root, target))) throw new Error(`${file}: ${link} leads to no file`);
  const index = `${target}/README.md`;
  const to = page(fs.existsSync(path.join(root, index)) ? index : target);
  if (to) return `/${to}${fragment ?? ''}`;
  return source && `${source}/blob/main/${target}${fragment ?? ''}`;
}

// links is a rule of markdown-it.
function links(md) {
  md.core.ruler.push('links', (state) => {
    const file = path.relative(pages, state.env.realPath ?? state.env.path);
    for (const { children } of state.tokens) {
      let left = false;
      for (const token of children ?? []) {
        if (token.type === 'link_open') {
          const to = address(file, token.attrGet('href'));
          left = !to;
          if (to) token.attrSet('href', to);
        }
        if (left && token.type.startsWith('link_')) {
          left = token.type === 'link_open';
          Object.assign(token, { type: 'text', tag: '', nesting: 0, content: '', attrs: null });
        }
      }
    }
  });
}

// slug is a heading's address as the forge makes it, so that a link works in both.
const slug = (title) => title.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '').replaceAll(' ', '-');

// groups are the sidebar of an index: its headings, and the pages that its tables begin with.
function groups(index) {
  const all = [];
  for (const line of fs.readFileSync(path.join(root, index), 'utf8').split('\n')) {
    if (line.startsWith('## ')) all.push({ text: line.slice(3), items: [] });
    const [, text, link] = line.match(/^\| *\[([^\]]*)\]\(([^)]*)\)/) ?? [];
    if (text && page(path.posix.join('docs', link))) all.at(-1).items.push({ text, link: address(index, link) });
  }
  return all;
}

const markdown = (folder) => fs.readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md')).map((name) => path.posix.join(folder, name));

export default {
  title: 'Tessera',
  description: 'Decode and encode with video VAEs on any GPU',
  srcDir: pages,
  outDir: path.join(root, 'build/docs'),
  cacheDir: path.join(root, 'build/docs-tools/cache'),
  rewrites: Object.fromEntries([...beside, ...markdown('docs')].map((file) => [file, page(file)])),
  base: process.env.DOCS_BASE ?? '/',
  locales: {
    root: { label: 'English', lang: 'en', themeConfig: { sidebar: groups('docs/README.md') } },
    tr: {
      label: 'Türkçe', lang: 'tr', description: 'Video VAE’lerini her GPU’da çözer ve kodlar',
      themeConfig: {
        sidebar: groups('docs/README.tr.md'),
        outline: { label: 'Bu sayfada' },
        docFooter: { prev: 'Önceki', next: 'Sonraki' },
        darkModeSwitchLabel: 'Görünüm', lightModeSwitchTitle: 'Açık renklere geç', darkModeSwitchTitle: 'Koyu renklere geç',
        sidebarMenuLabel: 'Sayfalar', returnToTopLabel: 'Başa dön', langMenuLabel: 'Dili değiştir', skipToContentLabel: 'İçeriğe geç',
        notFound: { title: 'Sayfa bulunamadı', quote: 'Bu adreste sayfa yok.', linkText: 'Dizine dön', linkLabel: 'Dizine dön' },
      },
    },
  },
  markdown: { anchor: { slugify: slug }, config: links },
  themeConfig: {
    i18nRouting: false, // not every page is in Turkish
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        locales: {
          tr: {
            translations: {
              button: { buttonText: 'Ara', buttonAriaLabel: 'Ara' },
              modal: {
                displayDetails: 'Ayrıntıları göster', resetButtonTitle: 'Sıfırla', backButtonTitle: 'Aramayı kapat', noResultsText: 'Sonuç yok:',
                footer: { selectText: 'seç', navigateText: 'gez', closeText: 'kapat' },
              },
            },
          },
        },
      },
    },
    ...(source && { socialLinks: [{ icon: 'git', link: source }] }),
  },
};
