#!/bin/sh
# Runs the program for Linux on ARM on this machine: qemu emulates the processor, and
# Debian's lavapipe for ARM is the device. Commands without a device, devices, and the
# driver's tests. Takes some minutes. Needs root for qemu-user-static, Debian or Ubuntu,
# Go and pip.
#
#   TESSERA_ARM_ROOT=DIR   where Debian's libraries are kept; default in the user's cache
set -eu
cd "$(dirname "$0")/.."
. tools/sid.sh

sid_or_skip
die() { echo "arm: $*" >&2; exit 1; }

root=${TESSERA_ARM_ROOT:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/tessera/arm}
library=libonnxruntime_providers_webgpu.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# libraries unpacks Mesa's Vulkan drivers for ARM, and all they need, below $root.
libraries() {
	[ -e "$root/ready" ] && return
	from=$(sid_uri)
	[ -n "$from" ] || die "no apt source of Debian to copy"
	echo "arm: Debian's libraries for ARM into $root: 1 GB"
	rm -rf "$root"
	mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial" "$root/proc"
	touch "$root/apt/status"
	for suite in bookworm bookworm-backports; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from $suite main"
	done >"$root/apt/sources.list"
	cat >"$root/apt/conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
Dir::State "$root/apt";
Dir::State::status "$root/apt/status";
Dir::Cache "$root/apt/cache";
Dir::Etc::sourcelist "$root/apt/sources.list";
Dir::Etc::sourceparts "/nonexistent";
END
	APT_CONFIG=$root/apt/conf apt-get update -qq
	APT_CONFIG=$root/apt/conf apt-get install -y -qq --no-install-recommends --download-only \
		-t bookworm-backports mesa-vulkan-drivers libvulkan1 libstdc++6 libc6
	for package in "$root"/apt/cache/archives/*.deb; do
		dpkg-deb -x "$package" "$root"
	done
	sed "s,\"/usr/,\"$root/usr/,; s,\"libvulkan_lvp,\"$root/usr/lib/aarch64-linux-gnu/libvulkan_lvp," \
		"$root"/usr/share/vulkan/icd.d/lvp_icd*.json >"$root/lavapipe.json"
	# The library reads the processor's kind when it is loaded, and ends if it is none of ARM.
	for cpu in 0 1; do
		printf 'processor\t: %d\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid\n' $cpu
		printf 'CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd08\nCPU revision\t: 3\n\n'
	done >"$root/proc/cpuinfo"
	touch "$root/ready"
}

# on_arm runs a program for ARM.
on_arm() {
	HOME=$work/home XDG_CACHE_HOME=$work/home/.cache GPU=require QEMU_LD_PREFIX=$root \
		VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver qemu-aarch64-static "$@"
}

command -v qemu-aarch64-static >/dev/null || {
	apt-get update -qq >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends qemu-user-static >/dev/null
}
libraries
tools/deps.sh --dist build/dist/libraries
mkdir -p "$work/home/.cache/tessera/dawn/dawn-2026-09"
cp build/dist/libraries/provider-linux-arm64/$library "$work/home/.cache/tessera/dawn/dawn-2026-09/"
export CGO_ENABLED=0
GOARCH=arm64 go build -o "$work/tessera" ./cmd/native
GOARCH=arm64 go test -c -o "$work/dawn.test" ./gpu/internal/dawn
arm=$work/tessera model=assets/tiny-seedvr2.safetensors

echo "arm: the program without a device" # with one, these measure it, which takes long here
driver=/nonexistent
on_arm "$arm" --version
on_arm "$arm" info "$model" 2>"$work/log" | grep SeedVR2
on_arm "$arm" plan -m "$model" --size 64x64 --frames 1 2>"$work/log" | grep memory

echo "arm: the program on lavapipe"
driver=$root/lavapipe.json
on_arm "$arm" devices | grep -e llvmpipe -e "$library"

echo "arm: the driver's tests"
TESSERA_CHILD=TestHidden on_arm "$work/dawn.test" -test.run '^TestHidden$/^(Compute|ShaderError|DeviceLost|LargeTransfers|Order|Times)$'
echo "arm: passed"
