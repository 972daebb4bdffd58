#!/bin/sh
# Tests the archive for Windows under Wine: Dawn's Vulkan backend on Mesa's lavapipe,
# and its Direct3D 12 backend on Wine's own, which lacks one call (tools/wine/d3d12.c).
# The step dxc compiles every kernel with Microsoft's compiler, as on an RTX card.
# Needs root, Debian or Ubuntu with debootstrap, Go, Node.
#
#   tools/windows.sh                 all steps
#   tools/windows.sh chroot tables   these only
#
#   TESSERA_WINE_ROOT=DIR   where the chroot is kept; default in the user's cache
#   DXC_PAGE=FILE           where the step dxc writes its page: docs/benchmarks/dxc.md; default
#                           build/isa/dxc.md
#   DEMO=short              without the demo on Direct3D 12, which takes minutes
set -eu
cd "$(dirname "$0")/.."
steps="chroot dist program device tables goldens report dxc"

die() { echo "windows: $*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || { echo "skipped: needs root, for a chroot"; exit; }

# Mounts belong to this process and end with it.
if [ -z "${TESSERA_UNSHARED:-}" ]; then
	TESSERA_UNSHARED=1 exec unshare --mount "$0" "$@"
fi

root=${TESSERA_WINE_ROOT:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/tessera/wine}
tests=$root/wine/prefix/drive_c/tests
wineserver=/usr/lib/x86_64-linux-gnu/wine/wineserver
packages="wine wine64 xvfb mesa-vulkan-drivers libvulkan1 gcc-mingw-w64-x86-64-win32"

# uri prints the address of this system's packages.
uri() {
	sed -n 's/^URIs: *\([^ ]*debian\)\/* *$/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null | grep . ||
		awk '$1 == "deb" && $2 ~ /debian\/*$/ { print $2 }' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null
}

# chroot_step creates a Debian sid with Wine 10 and the library for tests, once.
chroot_step() {
	if [ ! -e "$root/wine/ready" ]; then
		if ! command -v debootstrap >/dev/null; then
			apt-get update -qq >/dev/null
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap debian-archive-keyring >/dev/null
		fi
		from=$(uri | head -n 1)
		[ -n "$from" ] || die "no apt source of Debian to copy"
		echo "windows: Debian sid with Wine in $root: some minutes, 3 GB"
		rm -rf "$root"
		mkdir -p "$root"
		debootstrap --variant=minbase sid "$root" "$from" >"$root.log" 2>&1 || { tail "$root.log" >&2; die "debootstrap failed"; }
		mounts
		DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y -qq --no-install-recommends $packages >"$root.log" 2>&1 ||
			{ tail "$root.log" >&2; die "apt-get failed"; }
		mkdir -p "$root/wine"
		display
		"$run" / wineboot -i >/dev/null 2>&1
		"$run" / $wineserver -w
		system32=$root/wine/prefix/drive_c/windows/system32
		[ -f "$system32/d3d12.dll" ] || die "Wine made no prefix"
		mv "$system32/d3d12.dll" "$system32/d3d12r.dll"
		touch "$root/wine/ready"
	fi
}

# wine_library NAME FILE compiles a library of tools/wine to a file of C:.
wine_library() {
	mkdir -p "$root/wine/src"
	cp tools/wine/*.c tools/wine/*.def "$root/wine/src/"
	chroot "$root" x86_64-w64-mingw32-gcc -O2 -Wall -shared -o "/wine/src/$1.dll" "/wine/src/$1.c" "/wine/src/$1.def"
	cp "$root/wine/src/$1.dll" "$root/wine/prefix/drive_c/$2"
}

mounts() {
	mountpoint -q "$root/proc" || mount --bind /proc "$root/proc"
	mountpoint -q "$root/dev" || mount --bind /dev "$root/dev"
}

# display starts an X server for Wine, which ends with this script.
display() {
	[ -z "${server:-}" ] || return 0
	chroot "$root" Xvfb :77 -screen 0 640x480x24 >/dev/null 2>&1 &
	server=$!
	trap '"$run" / $wineserver -k >/dev/null 2>&1 || true; kill $server 2>/dev/null || true' EXIT
	sleep 2
}

# write_run writes the command that runs its arguments in the chroot, from the folder
# in its first argument. There are many shaders and little to compute, so LLVM does not
# optimise them. The C++ runtime is Microsoft's: with Wine's own, Dawn waits 100 ms at a
# time.
write_run() {
	run=$root.run
	mkdir -p "$(dirname "$root")"
	cat >"$run" <<END
#!/bin/sh
dir=\$1
shift
exec chroot "$root" env HOME=/wine WINEPREFIX=/wine/prefix DISPLAY=:77 WINEDEBUG=-all LANG=C.UTF-8 GPU=require \\
	VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json GALLIVM_PERF=nopt \\
	'WINEDLLOVERRIDES=mscoree,mshtml=;winemenubuilder.exe=d;d3d12=n,b;msvcp140,msvcp140_atomic_wait,vcruntime140,vcruntime140_1=n' \\
	sh -c 'cd "\$0" && exec "\$@"' "\$dir" "\$@"
END
	chmod +x "$run"
}

dist() { tools/dist.sh windows/amd64 linux/amd64; }

# program runs a user's commands, tests/windows, and the tests of the command line.
program() {
	test_programs cmd/native
	GOOS=windows go build -o "$tests/tessera.exe" ./cmd/native
	# Start Wine's server and services here: they would keep the output of the process
	# that starts them.
	"$run" / $wineserver -p
	"$run" / wine cmd /c exit >/dev/null 2>&1
	beside "commands [A-R]" "archive_and_commands [S-Z]" # these take equally long
}

archive_and_commands() {
	TESSERA_WINE=$run TESSERA_WINE_ROOT=$root TESSERA_DIST=$PWD/build/dist \
		TESSERA_NEWER_DAWN=$PWD/build/dist/libraries/newer/webgpu_dawn.dll \
		go test -count=1 -v -timeout 60m ${DEMO:+-short} ./tests/windows
	commands "$1"
}

# test_programs builds the Go tests of packages for Windows, beside the archive's
# libraries.
test_programs() {
	tools/deps.sh --dist build/dist/libraries
	mkdir -p "$tests" "$root/source"
	mountpoint -q "$root/source" || mount --bind "$PWD" "$root/source"
	for package; do
		GOOS=windows go test -c -o "$tests/$(basename $package).exe" ./$package
	done
	for library in provider/onnxruntime_providers_webgpu.dll windows/webgpu_wrapper.dll \
		provider/dxcompiler.dll provider/dxil.dll fxc/d3dcompiler_47.dll \
		msvc/msvcp140.dll msvc/msvcp140_atomic_wait.dll msvc/vcruntime140.dll msvc/vcruntime140_1.dll; do
		cp "build/dist/libraries/$library" "$tests/"
	done
}

# in_wine BACKEND PACKAGE ARGUMENTS... runs a package's tests from cmd, which ends with
# their exit code: Wine's server kills a process that takes more than half a second to
# end after it, which happens on a busy machine. cmd interprets ^.
in_wine() {
	backend=$1 package=$2
	shift 2
	log=$(mktemp "$root/wine/log.XXXXXX")
	echo "windows: $package on $backend"
	TESSERA_BACKEND=$backend TESSERA_STATS="Z:\\wine\\stats-$backend.txt" TESSERA_PROGRAM='C:\tests\tessera.exe' \
		"$run" "/source/$package" wine cmd /c "C:\\tests\\$(basename "$package").exe" "$@" >"$log" 2>&1 || {
		grep -v -e 'get cached blob' -e CheckHRESULTImpl -e 'artificially reduced' "$log" | tail -n 60 >&2
		die "$package on $backend failed"
	}
	rm -f "$log"
	echo "windows: $package on $backend passed"
}

# beside runs two command lines at once.
beside() {
	$1 &
	first=$!
	$2
	wait $first
}

# commands LETTERS runs the tests of the command line whose names begin with these.
commands() { in_wine vulkan cmd/native -test.short -test.parallel 1 -test.run "Test$1"; }

# device runs the tests of the device, one backend after the other because they measure
# time, and of package memory.
device() {
	test_programs gpu gpu/internal/dawn memory
	rm -f "$root"/wine/stats-*.txt
	in_wine vulkan gpu
	in_wine d3d12 gpu
	in_wine auto memory
	in_wine auto gpu/internal/dawn
}

# tables runs the tests of the operations.
tables() {
	test_programs wgsl
	beside "in_wine vulkan wgsl" "in_wine d3d12 wgsl"
}

# goldens runs the small models against the reference's numbers.
goldens() {
	test_programs vae
	goldens_of vulkan .
	# FXC takes minutes for a family, so three of them stand for all.
	beside "goldens_of d3d12 seed" "goldens_of d3d12 [wq][aw]"
}

# goldens_of BACKEND FAMILIES
goldens_of() { in_wine $1 vae -test.run "TestGoldens\$/./$2/small\$"; }

# report prints the compile times of Direct3D's old compiler and the longest pieces.
report() {
	echo "Slowest f32 shaders to compile for Direct3D 12 through FXC, seconds:"
	sort -k2 -rn "$root/wine/stats-d3d12.txt" | awk '$1 == "compile" && $3 !~ /_(f16|packed)$/ && !seen[$3]++ { print "  " $2, $3; if (++n == 10) exit }'
	for b in vulkan d3d12; do
		for kind in piece first; do
			echo "Longest $kind on $b: $(awk -v kind=$kind '$1 == kind && $2 > most { most = $2 } END { print most }' "$root/wine/stats-$b.txt") s"
		done
	done
}

# dxc compiles every kernel and the shaders of published models on the adapter that only
# compiles, and writes the page about it. It fails if one does not compile or accesses an
# array in a loop.
dxc() {
	tools/deps.sh --dist build/dist/libraries
	folder=$root/wine/prefix/drive_c/dxc
	mkdir -p "$folder" build/isa
	wine_library dxcompiler dxc/dxcompiler.dll
	cp build/dist/libraries/provider/dxcompiler.dll "$folder/dxcompilerr.dll"
	for library in provider/onnxruntime_providers_webgpu.dll provider/dxil.dll fxc/d3dcompiler_47.dll \
		msvc/msvcp140.dll msvc/msvcp140_atomic_wait.dll msvc/vcruntime140.dll msvc/vcruntime140_1.dll; do
		cp "build/dist/libraries/$library" "$folder/"
	done
	GOOS=windows go build -o "$folder/isa.exe" ./tests/isa
	go build -o build/isa/isa ./tests/isa
	TESSERA_CARD=rtx TESSERA_UNTRIED=1 WINE_D3D_CONFIG="VideoPciVendorID=0x10de,VideoPciDeviceID=0x2206,VideoMemorySize=24576" \
		build/isa/isa keep build/isa/dxc.txt "$run" /wine/prefix/drive_c/dxc wine isa.exe compile published
	build/isa/isa dxc "${DXC_PAGE:-build/isa/dxc.md}" tests/isa/dxc_head.md \
		"Commit $(git describe --always --dirty --exclude '*'), $(date -u +%Y-%m-%d)." build/isa/dxc.txt
}

write_run
for step in ${*:-$steps}; do
	case " $steps " in
	*" $step "*) ;;
	*) die "no step $step; there are: $steps" ;;
	esac
	echo "== $step"
	case $step in
	chroot) chroot_step ;;
	*)
		[ -e "$root/wine/ready" ] || die "run the step chroot first"
		mounts
		display
		wine_library d3d12 windows/system32/d3d12.dll
		$step
		;;
	esac
done
echo "== passed"
