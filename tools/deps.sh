#!/bin/sh
# Fetches what Tessera needs besides its own binary: the pinned Dawn library into the
# user cache and, on a Linux machine without a usable Vulkan adapter, Mesa's lavapipe.
# Prints nothing if nothing is missing.
#
#   tools/deps.sh          what a user needs
#   tools/deps.sh --test   also what make test needs: two other Dawns, Chromium with
#                          its SwiftShader, nginx, ffmpeg and a C compiler
#   tools/deps.sh --test-all   also Firefox, for make test-all
#   tools/deps.sh --dist DIR   only the libraries of every platform, with their
#                              licences, for tools/dist.sh
#
# Exit codes: 0 nothing is missing, 1 something failed, 3 the script printed commands
# for root.
set -eu
. "$(dirname "$0")/pins.sh"

# The oldest Mesa whose lavapipe Dawn accepts.
mesa_min=23
swiftshader=/usr/lib/chromium/vk_swiftshader_icd.json

say() { printf 'deps: %s\n' "$*"; }
die() { printf 'deps: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# as_root COMMAND runs it, or adds it to the list printed at the end.
todo=
as_root() {
	if [ "$(id -u)" = 0 ]; then
		say "$1"
		sh -c "$1" >"$tmp/root.log" 2>&1 || { tail -n 20 "$tmp/root.log" >&2; die "failed: $1"; }
	else
		todo="$todo
  sudo sh -c '$1'"
	fi
}

# finish ends the run; without root it prints the remaining commands.
finish() {
	[ -z "$todo" ] && return
	printf '%s\n' "deps: not root. Run these, then this again:$todo" >&2
	exit 3
}

apt_updated=
apt_install() { # apt_install ARGUMENTS
	has apt-get || die "no apt-get here; install by your system's own means: $*"
	if [ -z "$apt_updated" ]; then
		as_root "apt-get update -qq"
		apt_updated=1
	fi
	as_root "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $*"
}

sha256() {
	if has sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

sha512() { # base64, as npm writes it
	node -p 'require("crypto").createHash("sha512").update(require("fs").readFileSync(process.argv[1])).digest("base64")' "$1"
}

# cache prints the directory of Go's os.UserCacheDir.
cache() {
	case $os in
	linux) dir=${XDG_CACHE_HOME:-${HOME:?}/.cache} ;;
	macos) dir=${HOME:?}/Library/Caches ;;
	windows) dir=$(cygpath -u "${LOCALAPPDATA:?}") ;;
	esac
	echo "$dir/tessera/dawn"
}

# there FILE SHA256 succeeds if the file exists and is complete.
there() { [ -f "$1" ] && [ "$(sha256 "$1")" = "$2" ]; }

# install_library FROM TO SHA256
install_library() {
	got=$(sha256 "$1")
	[ "$got" = "$3" ] || die "$(basename "$1"): sha256 is $got, expected $3"
	mkdir -p "$(dirname "$2")"
	cp "$1" "$2.$$"
	mv -f "$2.$$" "$2"
	say "installed $2"
}

run_python() {
	if has python3; then python3 "$@"; elif has python; then python "$@"; else return 127; fi
}

run_pip() {
	if has pip3; then pip3 "$@"; elif has pip; then pip "$@"; else run_python -m pip "$@"; fi
}

# need_pip succeeds if there is a pip, and installs one if it may.
need_pip() {
	run_pip --version >/dev/null 2>&1 && return
	[ "$os" = linux ] || die "pip is missing: install Python 3"
	apt_install python3-pip
	[ -z "$todo" ]
}

# fetch_wheel PIN PLATFORM SHA256 DIRECTORY, then FILE SHA256 pairs within it
fetch_wheel() {
	pin=$1 platform=$2 hash=$3 to=$4
	shift 4
	all_there "$to" "$@" && return
	need_pip || return 0
	say "fetching $pin for $platform"
	rm -rf "$tmp/wheel"
	printf '%s --hash=sha256:%s\n' "$pin" "$hash" >"$tmp/pin.txt"
	run_pip download -q --disable-pip-version-check --no-deps --only-binary=:all: \
		--python-version 3.12 --platform "$platform" --require-hashes \
		-r "$tmp/pin.txt" -d "$tmp/wheel" || die "$pin for $platform: not fetched"
	run_python -m zipfile -e "$tmp"/wheel/*.whl "$tmp/wheel/x"
	while [ $# -gt 0 ]; do
		install_library "$tmp/wheel/x/$1" "$to/$(basename "$1")" "$2"
		shift 2
	done
}

# all_there DIRECTORY, then FILE SHA256 pairs: succeeds if all exist and are complete.
all_there() {
	in=$1
	shift
	while [ $# -gt 0 ]; do
		there "$in/$(basename "$1")" "$2" || return 1
		shift 2
	done
}

# fetch_npm NAME@VERSION SHA512 DIRECTORY, then FILE SHA256 pairs within it
fetch_npm() {
	pin=$1 hash=$2 to=$3
	shift 3
	all_there "$to" "$@" && return
	if ! has npm; then
		[ "$os" = linux ] || die "npm is missing: install Node.js"
		apt_install npm
		[ -z "$todo" ] || return 0
	fi
	say "fetching $pin"
	rm -rf "$tmp/npm"
	mkdir -p "$tmp/npm"
	(cd "$tmp/npm" && npm pack --silent "$pin" >/dev/null) || die "$pin: not fetched"
	got=$(sha512 "$tmp"/npm/*.tgz)
	[ "$got" = "$hash" ] || die "$pin: sha512 is $got, expected $hash"
	tar -xzf "$tmp"/npm/*.tgz -C "$tmp/npm"
	while [ $# -gt 0 ]; do
		install_library "$tmp/npm/package/$1" "$to/$(basename "$1")" "$2"
		shift 2
	done
}

# windows_amd64 PROVIDER MSVC fetches the newer Dawn for Windows with its compiler and
# licences into one folder, and what it links with into another.
windows_amd64() {
	fetch_wheel $provider win_amd64 $provider_windows "$1" \
		onnxruntime_ep_webgpu/onnxruntime_providers_webgpu.dll $provider_windows_lib \
		onnxruntime_ep_webgpu/dxil.dll $provider_windows_dxil onnxruntime_ep_webgpu/dxcompiler.dll $provider_windows_dxcompiler \
		$provider_licence_file $provider_licence $provider_notices_file $provider_notices
	fetch_wheel $msvc win_amd64 $msvc_hash "$2" \
		$msvc_folder/msvcp140.dll $msvc_msvcp $msvc_folder/msvcp140_atomic_wait.dll $msvc_msvcp_wait \
		$msvc_folder/vcruntime140.dll $msvc_vcruntime $msvc_folder/vcruntime140_1.dll $msvc_vcruntime_1
}

# windows_arm64 PROVIDER MSVC does so for Windows on ARM.
windows_arm64() {
	fetch_wheel $provider win_arm64 $provider_windows_arm64 "$1" \
		onnxruntime_ep_webgpu/onnxruntime_providers_webgpu.dll $provider_windows_arm64_lib \
		onnxruntime_ep_webgpu/dxil.dll $provider_windows_arm64_dxil \
		onnxruntime_ep_webgpu/dxcompiler.dll $provider_windows_arm64_dxcompiler
	fetch_wheel $msvc win_arm64 $msvc_arm64 "$2" $msvc_folder/msvcp140.dll $msvc_arm64_msvcp \
		$msvc_folder/msvcp140_atomic_wait.dll $msvc_arm64_msvcp_wait $msvc_folder/vcruntime140.dll $msvc_arm64_vcruntime
}

# linux_arm64 DIRECTORY fetches Dawn for Linux on ARM.
linux_arm64() {
	fetch_wheel $provider manylinux_2_28_aarch64 $provider_linux_arm64 "$1" \
		onnxruntime_ep_webgpu/libonnxruntime_providers_webgpu.so $provider_linux_arm64_lib
}

# dist_libraries fetches the libraries for the archives of tools/dist.sh into $1, a
# folder for each package, and the newer Dawn that tests/windows tests.
dist_libraries() {
	fetch_wheel $wheel manylinux_2_28_x86_64 $wheel_linux "$1/linux" \
		rillfacet/libwebgpu_dawn.so $wheel_linux_lib $wheel_notices_file $wheel_notices
	fetch_wheel $wheel macosx_12_0_arm64 $wheel_macos "$1/macos" rillfacet/libwebgpu_dawn.dylib $wheel_macos_lib
	fetch_npm $npm_windows $npm_windows_hash "$1/windows" webgpu_wrapper.dll $npm_windows_lib LICENSE $npm_windows_licence
	windows_amd64 "$1/provider" "$1/msvc"
	windows_arm64 "$1/provider-windows-arm64" "$1/msvc-arm64"
	linux_arm64 "$1/provider-linux-arm64"
	fetch_wheel $wheel win_amd64 $wheel_windows "$1/newer" rillfacet/webgpu_dawn.dll $wheel_windows_lib
	fetch_npm $fxc $fxc_hash "$1/fxc" dist/win32-x64/d3dcompiler_47.dll $fxc_d3dcompiler \
		dist/win32-x64/dxcompiler-LICENSE.TXT $fxc_dxc_licence dist/win32-x64/dxcompiler-ThirdPartyNotices.txt $fxc_dxc_notices
	fetch_npm $fxc $fxc_hash "$1/fxc-arm64" dist/win32-arm64/d3dcompiler_47.dll $fxc_arm64_d3dcompiler
}

# adapters succeeds when Dawn finds an adapter on this machine.
adapters() {
	has go || die "go is missing: it is needed to build, and to look for adapters"
	if [ ! -x "$tmp/adapters" ]; then
		(cd "$root" && CGO_ENABLED=0 go build -o "$tmp/adapters" ./tools/dawn) || die "tools/dawn does not build"
	fi
	"$tmp/adapters" >"$tmp/adapters.log" 2>&1
}

mesa_version() { # major version of the candidate, 0 without one
	apt-cache policy mesa-vulkan-drivers 2>/dev/null |
		sed -n 's/^ *Candidate: *\([0-9]*\).*/\1/p' | grep . || echo 0
}

# backports_source prints an apt source for suite $1-backports with the URI of a source
# configured for suite $1: first in deb822 form, then as one line.
backports_source() {
	for f in /etc/apt/sources.list.d/*.sources; do
		[ -f "$f" ] || continue
		grep -v '^#' "$f" | awk -v suite="$1" -v RS= '
			match($0, /Suites:[^\n]*(\n[ \t][^\n]*)*/) {
				suites = substr($0, RSTART, RLENGTH)
				gsub(/[ \t\n]+/, " ", suites)
				if (index(suites " ", " " suite " ") == 0) next
				print substr($0, 1, RSTART - 1) "Suites: " suite "-backports" substr($0, RSTART + RLENGTH)
				exit
			}' >"$tmp/backports.sources"
		[ -s "$tmp/backports.sources" ] && { echo "$tmp/backports.sources"; return; }
	done
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | awk -v suite="$1" '
		$1 == "deb" { for (i = 2; i < NF; i++) if ($i == suite) { $i = suite "-backports"; print; exit } }
		' >"$tmp/backports.list"
	[ -s "$tmp/backports.list" ] && echo "$tmp/backports.list"
}

# lavapipe installs Mesa's Vulkan driver for the processor.
lavapipe() {
	has apt-get || die "no Vulkan adapter is usable, and no apt-get to install Mesa's lavapipe:
$(cat "$tmp/adapters.log")"
	say "no Vulkan adapter is usable: Mesa's lavapipe, which computes on the processor, is needed"
	as_root "apt-get update -qq"
	apt_updated=1
	if [ "$(mesa_version)" -ge $mesa_min ]; then
		apt_install mesa-vulkan-drivers libvulkan1
		return
	fi
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	say "this release's Mesa $(mesa_version) is older than $mesa_min: taking it from $codename-backports"
	if ! apt-cache policy | grep -q "n=$codename-backports\|a=$codename-backports"; then
		source=$(backports_source "$codename") || die "no apt source for suite $codename to copy: add $codename-backports by hand"
		say "adding an apt source for $codename-backports, copied from the one for $codename"
		as_root "printf \"%s\\n\" \"$(cat "$source")\" >/etc/apt/sources.list.d/tessera-$(basename "$source")"
		as_root "apt-get update -qq"
	fi
	apt_install -t "$codename-backports" mesa-vulkan-drivers libvulkan1
}

# debian succeeds if apt-get installs browsers: Ubuntu's are snaps.
debian() { has apt-get && [ "$(. /etc/os-release && echo "${ID:-}")" != ubuntu ]; }

# swiftshader_icd installs the tests' second Vulkan driver.
swiftshader_icd() {
	[ -f $swiftshader ] && return
	if ! debian; then
		say "SwiftShader is not available: only Debian's chromium package has it; its tests will be skipped"
		return
	fi
	apt_install chromium
}

# programs installs the programs that some tests run, and a compiler for go test -race.
programs() {
	missing=
	has ffmpeg || missing=ffmpeg
	has cc || missing="$missing gcc libc6-dev"
	[ -z "$missing" ] || apt_install $missing
}

# static_host installs the server that tests use as a static host.
static_host() {
	has nginx || [ -x /usr/sbin/nginx ] && return
	if ! has apt-get; then
		say "nginx is not available: the test of the page on a static host will be skipped"
		return
	fi
	apt_install nginx-light
}

# other_browser installs a browser with another WebGPU engine.
other_browser() {
	has firefox || has firefox-esr && return
	if ! debian; then
		say "Firefox is not available: the page's test in it will be skipped"
		return
	fi
	apt_install firefox-esr
}

# dawn_linux_other takes the distribution's build, because none is pinned.
dawn_linux_other() {
	say "no pinned Dawn for Linux on $arch: taking the distribution's libwebgpu-dawn0"
	ldconfig -p 2>/dev/null | grep -q 'libwebgpu_dawn\.so' && return
	apt_install libwebgpu-dawn0
}

test= all= dist=
case ${1:-} in
--test) test=1 ;;
--test-all) test=1 all=1 ;;
--dist) dist=${2:?--dist wants a folder} ;;
'') ;;
*) die "unknown argument $1; usage: tools/deps.sh [--test | --test-all | --dist DIR]" ;;
esac

root=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
arch=$(uname -m)
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=macos ;;
MINGW* | MSYS* | CYGWIN*) os=windows ;;
*) die "no Dawn for $(uname -s)" ;;
esac
dawn=$(cache)

if [ -n "$dist" ]; then
	dist_libraries "$dist"
	finish
	exit
fi

case $os-$arch in
linux-x86_64) fetch_wheel $wheel manylinux_2_28_x86_64 $wheel_linux "$dawn/$wheel_pin" rillfacet/libwebgpu_dawn.so $wheel_linux_lib ;;
linux-aarch64) linux_arm64 "$dawn/$provider_pin" ;;
linux-*) dawn_linux_other ;;
macos-arm64) fetch_wheel $wheel macosx_12_0_arm64 $wheel_macos "$dawn/$wheel_pin" rillfacet/libwebgpu_dawn.dylib $wheel_macos_lib ;;
windows-x86_64) windows_amd64 "$dawn/$provider_pin" "$dawn/$provider_pin" ;;
windows-aarch64) windows_arm64 "$dawn/$provider_pin" "$dawn/$provider_pin" ;;
*) die "no pinned Dawn for $os on $arch: put a libwebgpu_dawn with the stable API beside the program" ;;
esac
finish

if [ $os = linux ]; then
	adapters || lavapipe
	if [ -n "$test" ]; then
		if [ "$arch" = x86_64 ]; then
			fetch_npm $npm_linux $npm_linux_hash "$dawn/$npm_pin" libwebgpu_wrapper.so $npm_linux_lib
			fetch_wheel $provider manylinux_2_28_x86_64 $provider_linux "$dawn/$provider_pin" \
				onnxruntime_ep_webgpu/libonnxruntime_providers_webgpu.so $provider_linux_lib
		fi
		swiftshader_icd
		programs
		static_host
	fi
	if [ -n "$all" ]; then
		other_browser
	fi
	finish
	adapters || die "still no usable Vulkan adapter:
$(cat "$tmp/adapters.log")"
fi
