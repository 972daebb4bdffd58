#!/bin/sh
# Writes docs/benchmarks/isa.md: what AMD's and NVIDIA's shader compilers produce from
# the kernels, without a card. Mesa's real drivers run on simulated kernel drivers from
# Debian's package mesa-drm-shim. Pipelines compile; submissions compute nothing.
#
#   tools/isa.sh        needs root and Debian or Ubuntu; about 4 minutes, the first
#                       time some more and 1 GB for a chroot
#   tools/isa.sh this   print the same for this machine's own card, if Mesa drives it
#
#   CARDS="navi31 ada"      also navi21 and ampere
#   TESSERA_ISA_ROOT=DIR    where the chroot is kept; default in the user's cache
set -eu
cd "$(dirname "$0")/.."
. tools/sid.sh
out=build/isa

die() { echo "isa: $*" >&2; exit 1; }

build() {
	tools/deps.sh
	mkdir -p $out
	CGO_ENABLED=0 go build -o $out/isa ./tests/isa
}

case ${1:-} in
this)
	build
	RADV_DEBUG=shaders,shaderstats NAK_DEBUG=print MESA_SHADER_CACHE_DISABLE=1 $out/isa compile 2>$out/this.txt ||
		{ tail -n 5 $out/this.txt >&2; exit 1; }
	exec $out/isa report $out/this.txt
	;;
'') ;;
*) die "unknown argument $1; usage: tools/isa.sh [this]" ;;
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

# list CARD writes the card's listing.
list() {
	icd=/usr/share/vulkan/icd.d
	case $1 in
	navi*) driver="LD_PRELOAD=libamdgpu_noop_drm_shim.so AMDGPU_GPU_ID=$1 VK_DRIVER_FILES=$icd/radeon_icd.json RADV_DEBUG=shaders,shaderstats" ;;
	ampere) driver="LD_PRELOAD=libnouveau_noop_drm_shim.so NOUVEAU_CHIPSET=174 VK_DRIVER_FILES=$icd/nouveau_icd.json NAK_DEBUG=print" ;;
	ada) driver="LD_PRELOAD=libnouveau_noop_drm_shim.so NOUVEAU_CHIPSET=192 VK_DRIVER_FILES=$icd/nouveau_icd.json NAK_DEBUG=print" ;;
	*) die "no card $1: there are navi31 navi21 ada ampere" ;;
	esac
	# UNTRIED: a simulated card computes nothing and would fail the test of its f16
	chroot "$root" env -u VK_ICD_FILENAMES HOME=/root MESA_SHADER_CACHE_DISABLE=1 TESSERA_UNTRIED=1 TESSERA_DAWN="/tessera/dawn/$(basename "$dawn")" \
		$driver /tessera/out/isa compile 2>"$out/$1.txt" || die "$1: $(tail -n 3 "$out/$1.txt")"
}

sid_made isa "$root"
mkdir -p "$shim/dawn" "$shim/out"
mount --bind "$(dirname "$(readlink -f "$dawn")")" "$shim/dawn"
mount --bind "$out" "$shim/out"
listings=
for card in ${CARDS:-navi31 ada}; do
	list "$card"
	listings="$listings $out/$card.txt"
done
commit=$(git describe --always --dirty --exclude '*')
{
	cat tests/isa/head.md
	echo
	echo "Commit $commit, $(date -u +%Y-%m-%d)."
	echo
	$out/isa report $listings
} >docs/benchmarks/isa.md
echo "isa: docs/benchmarks/isa.md"
