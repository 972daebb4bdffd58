#!/bin/sh
# Builds the page: a folder that any static host can serve. Needs Go and Node.
#
#   tools/web.sh           into web/dist, which the program then embeds
#   tools/web.sh DIR       into DIR
#   tools/web.sh quick     into web/dist as well, for tests: neither minified nor
#                          optimised, and of any size
#   tools/web.sh check     type-checks the page's scripts instead
#
# PAGE_URL=https://... is the page's address: previews of links need the absolute
# address of the picture. Without it index.html has a relative one.
# SOURCE_URL=https://... is where the source is published. The page then links to it,
# to its releases and to its README.
#
# There are two engines: the first knows the usual families (vae/families_first.go),
# the other all; the page loads it for a checkpoint that needs it. Both are packed,
# because not every host compresses files: by zopfli, whose gzip is 5 % smaller. The
# build fails if an engine is larger than a page should load. wasm-opt takes a minute
# for each; build/ caches the results by input.
set -eu
cd "$(dirname "$0")/.."

raw=6000000    # largest tessera.wasm in bytes, which the page loads first
packed=1600000 # the same, compressed by a host
raw_all=7000000 # largest tessera-all.wasm, with all families
packed_all=1600000

out=${1:-web/dist} quick=
case $out in
check) ;;
quick) out=web/dist quick=1 ;;
*/*) # the folder is emptied
	if [ "$out" != web/dist ] && [ -n "$(ls -A "$out" 2>/dev/null)" ] && [ ! -f "$out/tessera.wasm.gz" ]; then
		echo "web: $out: holds other files than a page, expected an empty folder or none" >&2
		exit 2
	fi
	;;
*)
	echo "web: $out: expected check, quick, or a folder with a slash in it, such as ./$out" >&2
	exit 2
	;;
esac
(cd web && npm ci --silent --no-audit --no-fund)
if [ "$out" = check ]; then
	cd web && exec npm run --silent check
fi

mkdir -p "$out"
rm -rf "${out:?}"/* "$out"/.gitignore
cp -r web/*.html web/*.css web/*.js web/*.svg web/*.jpg web/manifest.json web/icons web/strings web/demo web/recorded "$out"/
mkdir -p "$out/vendor" "$out/demo"
cp web/node_modules/mediabunny/dist/bundles/mediabunny.min.mjs "$out/vendor/mediabunny.js"
cp web/node_modules/mediabunny/LICENSE "$out/vendor/mediabunny.LICENSE"
cp assets/tiny-seedvr2.safetensors "$out"/
cp assets/demo/*.png "$out/demo"/
cp "$(go env GOROOT)/lib/wasm/wasm_exec.js" "$out"/

node tools/page.js "$out"

# Remove the scripts' comments and long names, because not every host compresses files:
# 140 kB.
for file in "$out"/*.js "$out"/strings/*.js; do
	[ -n "$quick" ] || [ "$file" = "$out/sw.js" ] || web/node_modules/.bin/terser "$file" --module --compress --mangle --comments false --output "$file"
done

# Packages that are not critical for speed are built without inlining: that saves 60 kB
# in fmt, and another 60 in recording, planning, running and headers. Go 1.26's new collector is
# for many cores, of which a tab has one, and 45 kB larger; 1.27 has no other.
mkdir -p build/wasm
case $(go env GOVERSION) in
go1.26*) collector=nogreenteagc ;;
*) collector= ;;
esac

# Remove the shaders' comments, checks, spaces and line breaks, 44 kB, and those for
# subgroup matrices, which no page has, and for Direct3D's compiler: 21 kB.
texts=$PWD/build/wasm/texts
rm -rf "$texts"
mkdir -p "$texts"
for file in wgsl/*/*.wgsl; do
	mkdir -p "$texts/$(basename "$(dirname "$file")")"
	sed 's/^ *//; s/ *\/\/.*//; /^$/d; /^const_assert/d; /^#/!s/ \([*+=/%&|<>]\|[=!+*<>-]=\|&&\|||\|<<\|>>\|->\) /\1/g; /^#/!s/\([,:;]\) /\1/g; s/ {$/{/' "$file" |
		awk '/^(#|enable |diagnostic)/ { if (line) print line; print; line = ""; next }
			line ~ /[A-Za-z0-9_]$/ && /^[A-Za-z0-9_]/ { line = line " " }
			{ line = line $0 }
			END { if (line) print line }' >"$texts/${file#wgsl/}"
	case $file in *matrix.wgsl | *_fma.wgsl) : >"$texts/${file#wgsl/}" ;; esac
	printf '%s"%s": "%s"' "${comma-}" "$PWD/$file" "$texts/${file#wgsl/}"
	comma=,
done >"$texts/files"
echo "{\"Replace\": {$(cat "$texts/files")}}" >"$texts/overlay.json"

# compile NAME TAGS builds an engine.
compile() {
	GOEXPERIMENT=$collector GOOS=js GOARCH=wasm go build -tags "$2" -overlay "$texts/overlay.json" -trimpath -ldflags '-s -w' \
		-gcflags=fmt=-l -gcflags=strings=-l -gcflags=tessera/engine=-l -gcflags=tessera/engine/runner=-l -gcflags=tessera/wgsl=-l -gcflags=tessera/vae=-l \
		-gcflags=tessera/format/json=-l -gcflags=tessera/format/safetensors=-l \
		-gcflags=tessera/app/session=-l -gcflags=tessera/latent=-l -o "build/wasm/$1.wasm" ./cmd/wasm
}

# pack NAME RAW PACKED optimises an engine, packs it and checks its size.
pack() {
	small=build/wasm/$1-$(cat "build/wasm/$1.wasm" web/package-lock.json tools/web.sh | cksum | tr ' ' -).opt
	if [ ! -f "$small.gz" ]; then
		rm -f "build/wasm/$1"-[0-9]*.opt*
		web/node_modules/.bin/wasm-opt "build/wasm/$1.wasm" -o build/wasm/part -Oz --skip-pass=inlining-optimizing \
			--enable-bulk-memory --enable-mutable-globals --enable-nontrapping-float-to-int --enable-sign-ext
		mv build/wasm/part "$small"
		(cd web && node -e '
const fs = require("fs"), file = process.argv[1];
require("@gfx/zopfli").gzip(fs.readFileSync(file), { numiterations: 5 }, (err, packed) => {
	if (err) throw err;
	fs.writeFileSync(file + ".part", packed);
});' "../$small")
		mv "$small.part" "$small.gz"
	fi
	cp "$small.gz" "$out/$1.wasm.gz"
	node -e '
const fs = require("fs"), zlib = require("zlib");
const [name, file, raw, packed] = process.argv.slice(1);
const wasm = fs.readFileSync(file);
const br = zlib.brotliCompressSync(wasm).length, gz = fs.statSync(file + ".gz").size;
console.log(`${name}.wasm: ${wasm.length} bytes of at most ${raw}; brotli ${br} of at most ${packed}, gzip ${gz}`);
process.exit(wasm.length > raw || br > packed ? 1 : 0);
' "$1" "$small" "$2" "$3"
}

compile tessera first
compile tessera-all ''
if [ -n "$quick" ]; then
	for name in tessera tessera-all; do
		gzip -1 -n -c build/wasm/$name.wasm >"$out/$name.wasm.gz"
	done
	node tools/offline.js "$out"
	echo "the page is in $out, for tests"
	exit
fi
pack tessera $raw $packed
pack tessera-all $raw_all $packed_all
node tools/offline.js "$out"
echo "the page is in $out"
