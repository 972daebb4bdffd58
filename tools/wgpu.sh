#!/bin/sh
# Replays every case of the operation tables on wgpu, which compiles and runs WGSL in
# Firefox, and compares within the same bounds. Go writes the cases; Python runs wgpu
# and is installed in the user's cache.
#
#   TESSERA_CASES=DIR   where the cases are written, 450 MB; default build/wgpu,
#                       removed at the end
set -eu
cd "$(dirname "$0")/.."
peer="wgpu==0.32.0 numpy==2.4.6"

tools/deps.sh
. tools/adapter.sh
venv=${XDG_CACHE_HOME:-$HOME/.cache}/tessera/wgpu
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$peer" ]; then
	echo "wgpu: installing $peer into $venv" >&2
	rm -rf "$venv"
	if ! python3 -c 'import ensurepip' 2>/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		apt-get update -qq >/dev/null
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
	fi
	python3 -m venv "$venv" || { echo "wgpu: needs Python 3.11 or later with venv, for example apt-get install python3-venv" >&2; exit 1; }
	"$venv/bin/pip" install -q --disable-pip-version-check --only-binary=:all: $peer
	echo "$peer" >"$venv/installed"
fi
if [ -z "${TESSERA_CASES:-}" ]; then
	TESSERA_CASES=$PWD/build/wgpu
	trap 'rm -rf "$TESSERA_CASES"' EXIT
fi
export TESSERA_CASES
rm -rf "$TESSERA_CASES"
mkdir -p "$TESSERA_CASES"
CGO_ENABLED=0 GPU=require go test -count=1 -timeout 40m ./wgsl
"$venv/bin/python" tools/wgpu/replay.py "$TESSERA_CASES"
