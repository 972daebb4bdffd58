#!/bin/sh
# Builds the page: a folder that any static host can serve. Needs Go and Node.
#
#   tools/web.sh           into web/dist, which the program then embeds
#   tools/web.sh DIR       into DIR
#   tools/web.sh check     type-checks the page's scripts instead
#
# It fails where the engine is larger than a page should load.
set -eu
cd "$(dirname "$0")/.."

raw=4500000    # bytes of tessera.wasm at most
packed=1300000 # as a host compresses it

out=${1:-web/dist}
(cd web && npm ci --silent --no-audit --no-fund)
if [ "$out" = check ]; then
	cd web && exec npm run --silent check
fi

mkdir -p "$out"
rm -rf "${out:?}"/*
cp -r web/*.html web/*.css web/*.js web/*.svg web/strings web/demo "$out"/
mkdir -p "$out/vendor" "$out/demo"
cp web/node_modules/mediabunny/dist/bundles/mediabunny.min.mjs "$out/vendor/mediabunny.mjs"
cp web/node_modules/mediabunny/LICENSE "$out/vendor/mediabunny.LICENSE"
cp assets/tiny-seedvr2.safetensors "$out"/
cp assets/demo/*.png "$out/demo"/
cp "$(go env GOROOT)/lib/wasm/wasm_exec.js" "$out"/
GOOS=js GOARCH=wasm go build -trimpath -ldflags '-s -w' -o "$out/tessera.wasm" ./cmd/wasm

node -e '
const fs = require("fs"), zlib = require("zlib");
const [file, raw, packed] = process.argv.slice(1);
const wasm = fs.readFileSync(file);
const br = zlib.brotliCompressSync(wasm).length, gz = zlib.gzipSync(wasm, { level: 9 }).length;
console.log(`tessera.wasm: ${wasm.length} bytes of at most ${raw}; brotli ${br} of at most ${packed}, gzip ${gz}`);
process.exit(wasm.length > raw || br > packed ? 1 : 0);
' "$out/tessera.wasm" $raw $packed
echo "the page is in $out"
