#!/bin/sh
# Times Tessera against PyTorch on the same processor with equal numbers of threads,
# and prints a table: decodes and encodes of the bundled small model and of SeedVR2's
# published size with random weights, in f32, in turns; and decodes of Stable
# Diffusion, if -only selects them.
#
#   tools/torch.sh              on lavapipe, and as root on Mesa 26's in tools/isa.sh's
#                               chroot, where that was made
#   tools/torch.sh -turns 9     more of them
#   tools/torch.sh -only demo   the cases whose name has that in it: demo, published, sd
#
# PyTorch, some gigabytes with its dependencies, goes into build/torch.
set -eu
cd "$(dirname "$0")/.."
packages="torch==2.9.1 numpy==2.4.6 safetensors==0.8.0"

tools/deps.sh
. tools/adapter.sh
. tools/sid.sh
out=build/torch
if [ "$(cat $out/installed 2>/dev/null)" != "$packages" ]; then
	echo "torch: installing $packages into $out" >&2
	rm -rf $out
	python3 -m venv $out || { echo "torch: needs Python 3.11 or later with venv, for example apt-get install python3-venv" >&2; exit 1; }
	$out/bin/pip install -q --disable-pip-version-check --no-cache-dir --only-binary=:all: $packages
	echo "$packages" >$out/installed
fi
CGO_ENABLED=0 go build -o $out/tessera ./cmd/native
cp assets/tiny-seedvr2.safetensors $out/
root=${TESSERA_ISA_ROOT:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/tessera/isa}
[ "$(id -u)" = 0 ] && [ -d "$root/usr/share/doc/mesa-drm-shim" ] || root=
TESSERA_DAWN=$(sid_library) exec $out/bin/python tools/torch_bench.py -folder $out -goldens tests/goldens -chroot "$root" "$@"
