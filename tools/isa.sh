#!/bin/sh
# Lists what cards' own compilers make of the kernels, without the cards: Mesa's
# drivers for AMD and NVIDIA on kernel drivers that Mesa itself pretends for its
# tests (drm-shim). Pipelines compile; what is submitted computes nothing.
#
#   tools/isa.sh MESA   MESA: a git repository with the tree of Mesa 24.1, which
#                       the pretended drivers are built of; the compilers are
#                       Debian sid's. Needs root and Debian or Ubuntu; the first
#                       time some minutes and 1.5 GB. Writes docs/benchmarks/isa.md.
#   tools/isa.sh        the same of this machine's card, where Mesa drives it
#
#   CARDS="navi31 ada"      also navi21 and ampere
#   TESSERA_ISA_ROOT=DIR    where the chroot is kept; default in the user's cache
set -eu
cd "$(dirname "$0")/.."
. tools/sid.sh
out=build/isa
mesa=${1:-}

die() { echo "isa: $*" >&2; exit 1; }

build() {
	tools/deps.sh
	mkdir -p $out
	CGO_ENABLED=0 go build -o $out/isa ./tests/isa
}

if [ -z "$mesa" ]; then
	build
	RADV_DEBUG=shaders,shaderstats NAK_DEBUG=print MESA_SHADER_CACHE_DISABLE=1 $out/isa compile 2>$out/this.txt ||
		{ tail -n 5 $out/this.txt >&2; exit 1; }
	exec $out/isa report $out/this.txt
fi

git -C "$mesa" cat-file -e HEAD:src/drm-shim/device.c 2>/dev/null || die "$mesa: no git repository with Mesa's src/drm-shim"
mesa=$(cd "$mesa" && pwd)
sid_or_skip isa

# Mounts are this process's own and end with it.
if [ -z "${TESSERA_UNSHARED:-}" ]; then
	build
	TESSERA_UNSHARED=1 exec unshare --mount "$0" "$@"
fi
root=${TESSERA_ISA_ROOT:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/tessera/isa}
shim=$root/tessera
dawn=$(sid_library)

# sources are Mesa's, changed for what newer drivers ask of a kernel.
sources() {
	mkdir -p "$shim/src"
	GIT_INDEX_FILE=$shim/index git -C "$mesa" --work-tree="$shim/src" checkout -q HEAD -- \
		src/drm-shim src/amd/drm-shim src/amd/common src/amd/addrlib/inc src/nouveau src/util src/c11 include src/gallium/drivers/nouveau
	# Who asks is let in, and waiting on sync objects is over at once.
	sed -i 's/^ioctl_fn_t core_ioctls\[\] = {/static int tessera_client(int fd, unsigned long request, void *arg) { ((struct drm_client *)arg)->auth = 1; return 0; }\n&\n   [_IOC_NR(DRM_IOCTL_GET_CLIENT)] = tessera_client, [0xC4 ... 0xC5] = drm_shim_ioctl_stub, [0xCB] = drm_shim_ioctl_stub, [0xCD] = drm_shim_ioctl_stub,/
		s/^   \[_IOC_NR(DRM_IOCTL_SYNCOBJ_TRANSFER)\].*/&\n   [0xCA] = drm_shim_ioctl_stub,/' "$shim/src/src/drm-shim/device.c"
	sed -i 's/version_minor = 49;/version_minor = 61;/' "$shim/src/src/amd/drm-shim/amdgpu_noop_drm_shim.c"
	# 12 GB, the parameters of 2024 and later, and Ada (19x) beside Ampere.
	sed -i 's/gp->value = 3ULL << 30;/gp->value = 12ULL << 30;/
		s/info->platform = NV_DEVICE_INFO_V0_PCIE;/& info->ram_user = info->ram_size = 12ull << 30;/
		s/^   case NOUVEAU_GETPARAM_GRAPH_UNITS:/   case 17: gp->value = 510; return 0;\n   case 18: gp->value = 1ull << 34; return 0;\n   case 19: gp->value = 4096; return 0;\n   case 20: gp->value = 1; return 0;\n&/
		s/^\( *\)case 0x170:/\1case 0x190:\n&/
		s/= GA102_3D_CLASS;/= device_info.chip_id >= 0x190 ? 0xC997 : GA102_3D_CLASS;/
		s/= GA102_COMPUTE_CLASS;/= device_info.chip_id >= 0x190 ? 0xC9C0 : GA102_COMPUTE_CLASS;/' "$shim/src/src/nouveau/drm-shim/nouveau_noop.c"
	cat >"$shim/src/stubs.c" <<-'C'
		#include <stdarg.h>
		#include <stdbool.h>
		#include <stdio.h>
		void mesa_log(int level, const char *tag, const char *format, ...) {}
		bool debug_get_bool_option(const char *name, bool fallback) { return fallback; }
		size_t u_printf_length(const char *format, va_list args) { return vsnprintf(0, 0, format, args); }
	C
}

drivers() {
	[ -f "$shim/nvidia.so" ] && return
	sources
	chroot "$root" sh -eu <<-'C' >"$shim/log" 2>&1 || die "the pretended drivers do not build: $(tail -n 3 "$shim/log")"
		cd /tessera/src
		cc="gcc -shared -fPIC -O1 -w -std=gnu11 -fcommon -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DHAVE_PTHREAD -DHAVE_THRD_CREATE -DHAVE_STRUCT_TIMESPEC
			-DHAVE_ENDIAN_H -DHAVE_LIBDRM -DMAJOR_IN_SYSMACROS -DHAVE_DLFCN_H -DUSE_GCC_ATOMIC_BUILTINS -DHAVE___BUILTIN_CLZ -DHAVE___BUILTIN_EXPECT
			-DHAVE_SECURE_GETENV -DHAVE_LINUX_FUTEX_H -DHAVE_MEMFD_CREATE -Iinclude -Isrc -Iinclude/drm-uapi -Isrc/amd -Isrc/amd/include -Isrc/nouveau
			-Isrc/nouveau/headers -I/usr/include/libdrm"
		common="src/drm-shim/device.c src/drm-shim/drm_shim.c stubs.c"
		for name in hash_table set ralloc vma anon_file futex; do common="$common src/util/$name.c"; done
		$cc -Wl,-z,defs -o ../amd.so src/amd/drm-shim/amdgpu_noop_drm_shim.c src/amd/drm-shim/amdgpu_devices.c $common -ldrm -ldl -lpthread -lm
		$cc -Wl,-z,defs -o ../nvidia.so src/nouveau/drm-shim/nouveau_noop.c $common -ldrm -ldl -lpthread -lm
	C
}

# list CARD writes its listing.
list() {
	icd=/usr/share/vulkan/icd.d
	case $1 in
	navi*) driver="LD_PRELOAD=/tessera/amd.so AMDGPU_GPU_ID=$1 VK_DRIVER_FILES=$icd/radeon_icd.json RADV_DEBUG=shaders,shaderstats" ;;
	ampere) driver="LD_PRELOAD=/tessera/nvidia.so NOUVEAU_CHIPSET=174 VK_DRIVER_FILES=$icd/nouveau_icd.json NAK_DEBUG=print" ;;
	ada) driver="LD_PRELOAD=/tessera/nvidia.so NOUVEAU_CHIPSET=192 VK_DRIVER_FILES=$icd/nouveau_icd.json NAK_DEBUG=print" ;;
	*) die "no card $1: there are navi31 navi21 ada ampere" ;;
	esac
	# UNTRIED: a card that computes nothing would fail the trial of its f16
	chroot "$root" env -u VK_ICD_FILENAMES HOME=/root MESA_SHADER_CACHE_DISABLE=1 TESSERA_UNTRIED=1 TESSERA_DAWN="/tessera/dawn/$(basename "$dawn")" \
		$driver /tessera/out/isa compile 2>"$out/$1.txt" || die "$1: $(tail -n 3 "$out/$1.txt")"
}

sid_made isa "$root"
mkdir -p "$shim/dawn" "$shim/out"
drivers
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
