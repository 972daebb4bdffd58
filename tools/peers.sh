#!/bin/sh
# Times Tessera against its best peers on the same adapter and prints tables.
#
#   tools/peers.sh                       everything
#   tools/peers.sh -only 'conv3d 128'    the cases whose name matches
#   tools/peers.sh -report NAME          writes NAME.md and NAME.json, too
#
# Python serves the peers only; what they need goes into build/peers.
set -eu
cd "$(dirname "$0")/.."
python="onnxruntime-webgpu==1.27.0 onnx==1.23.2 numpy==2.4.6"

tools/deps.sh
. tools/adapter.sh
out=build/peers
mkdir -p $out
if [ "$(cat $out/venv/installed 2>/dev/null)" != "$python" ]; then
	echo "peers: installing $python into $out/venv" >&2
	rm -rf $out/venv
	python3 -m venv $out/venv || { echo "peers: needs Python 3.11 or later with venv, e.g. apt-get install python3-venv" >&2; exit 1; }
	$out/venv/bin/pip install -q --disable-pip-version-check --only-binary=:all: $python
	echo "$python" >$out/venv/installed
fi
CGO_ENABLED=0 go build -o $out/peers ./tools/peers
exec $out/peers -python $out/venv/bin/python "$@"
