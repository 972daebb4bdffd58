#!/bin/sh
# Times Tessera against its best peer on the same adapter and prints a table.
# Python serves the peer only; it lives in the user's cache.
set -eu
cd "$(dirname "$0")/.."
peer="onnxruntime-webgpu==1.27.0 onnx==1.23.2 numpy==2.4.6"

tools/deps.sh
. tools/adapter.sh
venv=${XDG_CACHE_HOME:-$HOME/.cache}/tessera/bench
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$peer" ]; then
	echo "bench: installing $peer into $venv" >&2
	rm -rf "$venv"
	python3 -m venv "$venv" || { echo "bench: needs Python 3.11 or later with venv, e.g. apt-get install python3-venv" >&2; exit 1; }
	"$venv/bin/pip" install -q --disable-pip-version-check --only-binary=:all: $peer
	echo "$peer" >"$venv/installed"
fi
CGO_ENABLED=0 go run ./tests/bench -python "$venv/bin/python" "$@"
