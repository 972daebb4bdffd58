#!/bin/sh
# Tests other programs' clients against a local tessera serve, and engines that run
# tessera batch, on lavapipe unless the user has selected a driver. Each result must
# equal the command line's.
#
#   tools/clients.sh            all parts
#   tools/clients.sh comfyui    one: the node pack in a real ComfyUI without a window
#   tools/clients.sh curl       tensors and jobs
#   tools/clients.sh diffusers  its own remote_decode and remote_encode
#   tools/clients.sh python     integrations/python, by a server, the program and a pipeline
#   tools/clients.sh wheel      the wheel of tools/dist.sh, with nothing beside it
#   tools/clients.sh ray        integrations/ray on two nodes, one of SwiftShader; minutes
#
# COMFYUI=DIR names a checkout, otherwise the script clones one. Packages go into
# virtual environments in build/clients, with some gigabytes for PyTorch. Needs Python
# 3.11 or later, curl and ffmpeg.
set -eu
cd "$(dirname "$0")/.."
out=$PWD/build/clients
parts="comfyui curl diffusers python wheel ray"

# venv NAME PACKAGES creates or reuses a virtual environment with these packages.
venv() {
	[ "$(cat "$out/$1/installed" 2>/dev/null)" = "$2" ] && return
	echo "clients: installing into $out/$1: $2" >&2
	rm -rf "$out/$1"
	python3 -m venv "$out/$1" || { echo "clients: needs Python with venv, for example apt-get install python3-venv" >&2; exit 1; }
	# shellcheck disable=SC2086 # packages are words
	"$out/$1/bin/pip" install -q --disable-pip-version-check --only-binary=:all: $2
	echo "$2" >"$out/$1/installed"
}

# install_wheel VENV installs the wheel that tools/dist.sh built for this machine, or
# builds it.
install_wheel() {
	wheel="build/dist/tessera_vae-*-manylinux*_$(uname -m).whl"
	# shellcheck disable=SC2086 # a pattern
	ls $wheel >/dev/null 2>&1 || tools/dist.sh "linux/$(go env GOARCH)"
	"$out/$1/bin/pip" uninstall -qq -y tessera-vae # perhaps an older one of this version
	# shellcheck disable=SC2086
	"$out/$1/bin/pip" install -q --disable-pip-version-check --only-binary=:all: $wheel
}

# comfyui runs ComfyUI on the processor with the pack in its custom_nodes.
comfyui() {
	comfy=${COMFYUI:-$out/ComfyUI}
	if [ ! -f "$comfy/main.py" ]; then
		git clone -q --depth 1 --branch v0.33.0 https://github.com/Comfy-Org/ComfyUI "$comfy" ||
			{ echo "clients: no ComfyUI: COMFYUI=DIR names a checkout" >&2; exit 1; }
	fi
	# without the page and its templates, which this test does not use
	needs=$(sed -e 's/#.*//' -e '/^comfyui-/d' -e '/^torch\(vision\|audio\)\{0,1\}$/d' "$comfy/requirements.txt" | tr -s ' \n' ' ')
	[ ! -f "$comfy/manager_requirements.txt" ] || needs="$needs $(cat "$comfy/manager_requirements.txt")"
	venv comfyui "torch==2.9.1 torchvision==0.24.1 torchaudio==2.9.1 requests websockets $needs"
	install_wheel comfyui
	[ -f "$out/models/wan22_published.safetensors" ] || go run ./tools/checkpoints "$out/models" wan22_published
	tools/comfyui.sh "$out"
	"$out/comfyui/bin/python" -u tools/clients/comfyui.py --comfyui "$comfy" --tessera "$out/tessera" --models "$out/models" --folder "$out/run"
}

# All parts of tools/clients/server.py use one virtual environment.
server() {
	venv python "torch==2.9.1 numpy==2.4.6 diffusers==0.42.1 transformers==5.23.0 requests==2.34.2 pillow==13.0.0 safetensors==0.8.0 mypy==2.4.1"
	"$out/python/bin/python" -u tools/clients/server.py --tessera "$out/tessera" --models "$out/models" --folder "$out/run-server" "$1"
}

curl() { server curl; }

diffusers() { server diffusers; }

python() {
	server python
	"$out/python/bin/python" tools/clients/strange.py
	(cd integrations/python && "$out/python/bin/python" -m mypy)
}

# wheel decodes with the wheel alone. There is no program on the PATH.
wheel() {
	rm -rf "$out/wheel"
	python3 -m venv "$out/wheel"
	install_wheel wheel
	"$out/wheel/bin/pip" check
	(cd "$out/wheel" && PATH=/usr/bin:/bin bin/python ../../../tools/clients/wheel.py "$out/tessera" "$out/models/wan.safetensors")
}

# ray runs many clips on two local nodes.
ray() {
	swiftshader=/usr/lib/chromium/vk_swiftshader_icd.json
	[ -f $swiftshader ] || { echo "clients: no SwiftShader: Debian's chromium package has it" >&2; exit 1; }
	venv ray "ray[data]==2.52.0 numpy==2.4.6"
	"$out/ray/bin/python" -u tools/clients/ray_clips.py --tessera "$out/tessera" --model "$out/models/seedvr2.safetensors" \
		--folder "$out/run-ray" "${VK_DRIVER_FILES:-/usr/share/vulkan/icd.d/lvp_icd.json}" $swiftshader
}

for part in "$@"; do
	case " $parts " in *" $part "*) ;; *) echo "clients: no part $part, there are: $parts" >&2; exit 2 ;; esac
done
tools/deps.sh
. tools/adapter.sh
mkdir -p "$out/models"
[ -f web/dist/index.html ] || tools/web.sh # serve needs its page to start
CGO_ENABLED=0 go build -o "$out/tessera" ./cmd/native
go run ./tools/checkpoints "$out/models"
cp assets/tiny-seedvr2.safetensors "$out/models/seedvr2.safetensors"
for part in ${*:-$parts}; do
	"$part"
done
echo "clients: as the command line: ${*:-$parts}"
