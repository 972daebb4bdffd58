#!/bin/sh
# Times Tessera against its best peers on the same adapter and prints tables.
#
#   tools/peers.sh                       everything
#   tools/peers.sh -in native            without Chromium
#   tools/peers.sh -only 'conv3d 128'    the cases whose name matches
#   tools/peers.sh -report NAME          writes NAME.md and NAME.json, too
#   tools/peers.sh -in pictures,chromium-pictures -rounds 0 -sizes 512,1024
#                                        Stable Diffusion's whole decoder at these sizes,
#                                        once each; takes hours, so it runs only if asked
#                                        for
#
# Python and Node are only for the peers; their packages go into build/peers.
set -eu
cd "$(dirname "$0")/.."
python="onnxruntime-webgpu==1.27.0 onnx==1.23.2 numpy==2.4.6 tflite==2.18.0"
page="onnxruntime-web@1.30.0 @tensorflow/tfjs-core@4.22.0 @tensorflow/tfjs-backend-webgpu@4.22.0 @litertjs/core@2.5.3"

tools/deps.sh
. tools/adapter.sh
out=build/peers
mkdir -p $out
if [ "$(cat $out/venv/installed 2>/dev/null)" != "$python" ]; then
	echo "peers: installing $python into $out/venv" >&2
	rm -rf $out/venv
	python3 -m venv $out/venv || { echo "peers: needs Python 3.11 or later with venv, for example apt-get install python3-venv" >&2; exit 1; }
	$out/venv/bin/pip install -q --disable-pip-version-check --only-binary=:all: $python
	echo "$python" >$out/venv/installed
fi
if [ "$(cat $out/node_modules/installed 2>/dev/null)" != "$page" ]; then
	echo "peers: installing $page into $out/node_modules" >&2
	rm -rf $out/node_modules
	npm install --prefix $out --silent --no-audit --no-fund --no-save --no-package-lock --ignore-scripts $page
	echo "$page" >$out/node_modules/installed
fi
GOOS=js GOARCH=wasm go build -ldflags '-s -w' -o $out/ours.wasm ./tools/peers
CGO_ENABLED=0 go build -o $out/tessera ./cmd/native
CGO_ENABLED=0 go build -ldflags "-X main.commit=$(git describe --always --dirty 2>/dev/null)" -o $out/peers ./tools/peers
exec $out/peers -python $out/venv/bin/python "$@"
