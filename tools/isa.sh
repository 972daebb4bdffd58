#!/bin/sh
# Writes docs/benchmarks/isa.md: what the shader compilers for AMD, NVIDIA, Intel and
# Adreno produce from the kernels, without a card. Mesa's real drivers run on simulated
# kernel drivers, from Debian's package mesa-drm-shim and tools/isa/card.c. Pipelines
# compile; submissions compute nothing. Then compares the figures with
# tests/isa/bars.txt.
#
#   tools/isa.sh         needs root and Debian or Ubuntu; about 20 minutes, the first
#                        time some more and 1 GB for a chroot
#   tools/isa.sh check   the same, but leaves the page as it is
#   tools/isa.sh this    print the same for this machine's own card, if Mesa drives it
#
#   CARDS="navi31 ada arc bmg a740"
#                           also navi21, ampere, lnl and mtl; others keep their section
#   TESSERA_ISA_ROOT=DIR    where the chroot is kept; default in the user's cache
set -eu
cd "$(dirname "$0")/.."
. tools/sid.sh
out=build/isa
page=docs/benchmarks/isa.md

die() { echo "isa: $*" >&2; exit 1; }

build() {
	tools/deps.sh
	mkdir -p $out
	CGO_ENABLED=0 go build -o $out/isa ./tests/isa
}

case ${1:-} in
this)
	build
	RADV_DEBUG=shaders,shaderstats NAK_DEBUG=print INTEL_DEBUG=cs IR3_SHADER_DEBUG=cs,disasm MESA_SHADER_CACHE_DISABLE=1 \
		$out/isa keep $out/this.txt $out/isa compile
	exec $out/isa report $out/this.txt
	;;
check) page=$out/isa.md ;;
'') ;;
*) die "unknown argument $1; usage: tools/isa.sh [check | this]" ;;
esac

sid_or_skip

# Mounts belong to this process and end with it.
if [ -z "${TESSERA_UNSHARED:-}" ]; then
	build
	TESSERA_UNSHARED=1 exec unshare --mount "$0" "$@"
fi
root=${TESSERA_ISA_ROOT:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/tessera/isa}
shim=$root/tessera
dawn=$(sid_library)

# devices gives the chroot an empty /sys and a /dev without this machine's cards:
# card.c writes its files there.
devices() {
	mount -t tmpfs tmpfs "$root/sys"
	mount -t tmpfs tmpfs "$root/dev"
	for node in null zero random urandom; do
		: >"$root/dev/$node"
		mount --bind "/dev/$node" "$root/dev/$node"
	done
}

# list CARD writes the card's listing.
list() {
	icd=/usr/share/vulkan/icd.d
	case $1 in
	navi*) driver="LD_PRELOAD=libamdgpu_noop_drm_shim.so AMDGPU_GPU_ID=$1 VK_DRIVER_FILES=$icd/radeon_icd.json RADV_DEBUG=shaders,shaderstats" ;;
	ampere) driver="LD_PRELOAD=libnouveau_noop_drm_shim.so NOUVEAU_CHIPSET=174 VK_DRIVER_FILES=$icd/nouveau_icd.json NAK_DEBUG=print" ;;
	ada) driver="LD_PRELOAD=libnouveau_noop_drm_shim.so NOUVEAU_CHIPSET=192 VK_DRIVER_FILES=$icd/nouveau_icd.json NAK_DEBUG=print" ;;
	arc | bmg | lnl | mtl) driver="LD_PRELOAD=/tessera/card.so CARD=$1 VK_DRIVER_FILES=$icd/intel_icd.json INTEL_XE_IGNORE_EXPERIMENTAL_WARNING=1 INTEL_DEBUG=cs" ;;
	a740) driver="LD_PRELOAD=/tessera/card.so:libfreedreno_noop_drm_shim.so CARD=$1 VK_DRIVER_FILES=$icd/freedreno_icd.json IR3_SHADER_DEBUG=cs,disasm" ;;
	*) die "no card $1: there are navi31 navi21 ada ampere arc bmg lnl mtl a740" ;;
	esac
	devices
	# UNTRIED: a simulated card computes nothing and would fail the test of its f16
	$out/isa keep "$out/$1.txt" chroot "$root" env -u VK_ICD_FILENAMES HOME=/root XDG_RUNTIME_DIR=/tmp \
		MESA_SHADER_CACHE_DISABLE=1 TESSERA_UNTRIED=1 TESSERA_DAWN="/tessera/dawn/$(basename "$dawn")" $driver /tessera/out/isa compile
}

sid_made isa "$root"
[ -x "$root/usr/bin/gcc" ] && [ -d "$root/usr/include/libdrm" ] || {
	cp /etc/resolv.conf "$root/etc/"
	DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y -qq --no-install-recommends gcc libc6-dev libdrm-dev >>"$root.log" 2>&1 ||
		die "packages: $(tail -n 1 "$root.log")"
}
mkdir -p "$shim/dawn" "$shim/out"
cp tools/isa/card.c "$shim/"
chroot "$root" gcc -O1 -Wall -shared -fPIC -I/usr/include/libdrm -o /tessera/card.so /tessera/card.c
mount --bind "$(dirname "$(readlink -f "$dawn")")" "$shim/dawn"
mount --bind "$out" "$shim/out"
listings=
for card in ${CARDS:-navi31 ada arc bmg a740}; do
	list "$card"
	listings="$listings $out/$card.txt"
done
[ $page = docs/benchmarks/isa.md ] || cp docs/benchmarks/isa.md $page
$out/isa page $page tests/isa/head.md "Commit $(git describe --always --dirty --exclude '*'), $(date -u +%Y-%m-%d)." $listings
echo "isa: $page"
PAGE=$PWD/$page go test -count=1 -v -run 'TestBars$' ./tests/isa
