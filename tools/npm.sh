#!/bin/sh
# Puts the npm package tessera-vae into a new folder: the page's engine from web/dist,
# which tools/web.sh builds, its scripts, and their types.
#
#   tools/npm.sh DIR
set -eu
cd "$(dirname "$0")/.."
out=${1:?usage: tools/npm.sh DIR}
[ -f web/dist/tessera.wasm.gz ] || { echo "npm: web/dist has no engine: run tools/web.sh" >&2; exit 1; }
[ ! -e "$out" ] || { echo "npm: $out is there already, expected a new folder" >&2; exit 2; }
mkdir -p "$out"

# scripts NAME... prints these scripts and their imports, each once.
scripts() {
	for name; do
		case " ${seen-} " in *" $name "*) continue ;; esac
		seen="${seen-} $name"
		[ -f "web/$name" ] || continue # wasm_exec.js is only in web/dist
		# shellcheck disable=SC2046 # names are words
		scripts $(sed -n "s/^import .*'\.\/\(.*\)';$/\1/p" "web/$name")
	done
}
scripts engine.js worker.js
for name in $seen; do
	cp "web/$name" "$out/" 2>/dev/null || cp "web/dist/$name" "$out/"
done
cp web/dist/tessera.wasm.gz web/dist/tessera-all.wasm.gz integrations/npm/package.json integrations/npm/README.md LICENSE "$out/"
cp -r integrations/npm/example "$out/"

types=$(cd "$out" && pwd)
(cd web && node_modules/.bin/tsc -p tsconfig.types.json --outDir "$types")
