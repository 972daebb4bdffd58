#!/bin/sh
# Builds the documentation site, a folder for any static host: build/docs. Needs Node.
#
#   tools/docs.sh          builds it; a link to no file or page is an error
#   tools/docs.sh preview  and serves it on this machine
#
# SOURCE_URL=https://... is where the source is published: links to files that are no pages
# lead there, and are plain text without it. DOCS_BASE=/tessera/ is the folder of the host.
set -eu
cd "$(dirname "$0")/.."

site=build/docs-tools
rm -rf $site/pages
mkdir -p $site/.vitepress $site/pages
cp -r docs README.md RATIONALE.md CONTRIBUTING.md CHANGELOG.md $site/pages/
cp tools/docs/package.json tools/docs/package-lock.json $site/
cp tools/docs/config.mjs $site/.vitepress/
(cd $site && npm ci --silent --no-audit --no-fund)
$site/node_modules/.bin/vitepress build $site
echo "the documentation is in build/docs"
[ "${1-}" != preview ] || exec $site/node_modules/.bin/vitepress preview $site
