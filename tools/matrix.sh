#!/bin/sh
# Tests subgroup matrices, which few machines have, on a processor: Debian sid's Mesa
# 26 has them in lavapipe. In a chroot, runs the operation tables of every matrix
# kernel and of the column kernels, which this driver has in another form than the
# usual one, and a small model in f16.
#
#   TESSERA_ISA_ROOT=DIR   where the chroot is kept, the one of tools/isa.sh; default
#                          in the user's cache
set -eu
cd "$(dirname "$0")/.."
. tools/sid.sh

sid_or_skip

# Mounts belong to this process and end with it.
if [ -z "${TESSERA_UNSHARED:-}" ]; then
	TESSERA_UNSHARED=1 exec unshare --mount "$0" "$@"
fi
tools/deps.sh
out=build/matrix
mkdir -p $out
for package in gpu wgsl vae; do
	CGO_ENABLED=0 go test -c -o $out/$package.test ./$package
done
root=${TESSERA_ISA_ROOT:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/tessera/isa}
sid_made matrix "$root"
mkdir -p "$root/tessera/source" "$root/tessera/dawn"
dawn=$(sid_library)
mount --bind "$PWD" "$root/tessera/source"
mount --bind "$(dirname "$(readlink -f "$dawn")")" "$root/tessera/dawn"

# in_sid PACKAGE RUN [KERNEL] runs a package's tests there; none may be skipped.
in_sid() {
	echo "matrix: $1 $2${3:+ of $3}"
	chroot "$root" env -u VK_ICD_FILENAMES HOME=/root GPU=require TABLES="${3:-matrix}" VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json \
		TESSERA_DAWN="/tessera/dawn/$(basename "$dawn")" sh -c 'cd "/tessera/source/$1" && exec "../$2/$1.test" -test.v -test.run "$3"' x "$1" $out "$2" >$out/$1.txt 2>&1 ||
		{ grep -v '^=== ' $out/$1.txt | tail -n 40 >&2; exit 1; }
	if grep -q -e '--- SKIP' $out/$1.txt || ! grep -q -e '^--- PASS' $out/$1.txt; then
		grep -v '^=== ' $out/$1.txt | tail -n 40 >&2
		echo "matrix: not all of $1 ran" >&2
		exit 1
	fi
}
in_sid gpu '^TestMatrices$'
in_sid wgsl '^Test(Attention|AttentionMovingMaximum|AttentionExact|Conv3D|ConvUp|Pointwise|PixelShuffle|TimeConv|MatricesInOtherLayouts)$'
in_sid wgsl '^Test(Conv3D|Conv3DWinograd|Conv3DWinogradRows|ConvUp)$' columns
in_sid wgsl '^Test(Conv3DWinograd|WinogradInputsInRows|Conv3DWinogradRows|WinogradRowInputsInRows)$' transformed
in_sid vae '^TestMatrixGoldens$'
echo "matrix: passed"
