#!/bin/sh
# Writes the sources of HEAD into a new folder as a module that others can import:
# go.mod and every import get the path where it will be published instead of "tessera".
#
#   tools/module.sh github.com/OWNER/tessera DIR
set -eu
path=${1:?usage: tools/module.sh PATH DIR} out=${2:?usage: tools/module.sh PATH DIR}
cd "$(dirname "$0")/.."

case $path in
*[!A-Za-z0-9./_~-]* | /* | */ | *//*) bad=1 ;;
*.*/*) bad= ;;
*) bad=1 ;;
esac
[ -z "$bad" ] || { echo "module: $path: expected a host and a path, such as github.com/OWNER/tessera" >&2; exit 2; }
[ ! -e "$out" ] || { echo "module: $out is there already, expected a new folder" >&2; exit 2; }

mkdir -p "$out"
git archive HEAD | tar -x -C "$out"
folders=$(git ls-files '*.go' | grep -v ^integrations/ | sed -n 's,/.*,,p' | sort -u | paste -sd '|' -)
cd "$out"
sed "s,^module tessera\$,module $path," go.mod >go.mod.new
mv go.mod.new go.mod
find . -name '*.go' -o -name '*.sh' | while read -r file; do
	sed -E "s,(^|[^A-Za-z0-9./~_-])tessera/($folders)\\b,\\1$path/\\2,g" "$file" >"$file.new"
	if cmp -s "$file" "$file.new"; then rm "$file.new"; else cat "$file.new" >"$file" && rm "$file.new"; fi
done
gofmt -w . # sorts the imports again
