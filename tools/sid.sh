# Sourced by ffmpeg.sh, isa.sh and matrix.sh: creates a Debian sid with some packages
# in a folder, once; by default with Mesa's newest Vulkan drivers. Needs root and
# Debian or Ubuntu; some minutes and 1 GB.
#
#   sid_or_skip              says "skipped: REASON" and ends where that cannot be had
#   sid_made NAME DIR [PACKAGE...]
#                            makes it, with /proc and /dev mounted in it: call it in
#                            a mount namespace of your own
#   sid_library              the path of Dawn's library here

sid_or_skip() {
	if [ "$(id -u)" != 0 ]; then
		echo "skipped: needs root, for a chroot"
		exit
	fi
	command -v apt-get >/dev/null || { echo "skipped: needs Debian or Ubuntu, whose packages it installs"; exit; }
}

# sid_uri prints the address of this system's packages.
sid_uri() {
	{ sed -n 's/^URIs: *\([^ ]*debian\)\/* *$/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null
	awk '$1 == "deb" && $2 ~ /debian\/*$/ { print $2 }' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null; } | head -n 1
}

sid_made() {
	[ $# -gt 2 ] || set -- "$1" "$2" mesa-drm-shim mesa-vulkan-drivers libvulkan1
	if [ ! -d "$2/usr/share/doc/$3" ]; then
		command -v debootstrap >/dev/null || {
			apt-get update -qq >/dev/null
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap debian-archive-keyring >/dev/null
		}
		sid_from=$(sid_uri)
		[ -n "$sid_from" ] || { echo "$1: no apt source of Debian to copy" >&2; exit 1; }
		echo "$1: Debian sid with $3 in $2: some minutes, 1 GB"
		rm -rf "$2"
		mkdir -p "$2"
		debootstrap --variant=minbase sid "$2" "$sid_from" >"$2.log" 2>&1 || { echo "$1: debootstrap: $(tail -n 1 "$2.log")" >&2; exit 1; }
	fi
	mountpoint -q "$2/proc" || mount -t proc proc "$2/proc"
	mountpoint -q "$2/dev" || mount --rbind /dev "$2/dev"
	[ -d "$2/usr/share/doc/$3" ] && return
	cp /etc/resolv.conf "$2/etc/"
	sid_name=$1 sid_root=$2
	shift 2
	DEBIAN_FRONTEND=noninteractive chroot "$sid_root" apt-get install -y -qq --no-install-recommends \
		"$@" >>"$sid_root.log" 2>&1 || { echo "$sid_name: packages: $(tail -n 1 "$sid_root.log")" >&2; exit 1; }
}

sid_library() {
	echo "${TESSERA_DAWN:-$(find "${XDG_CACHE_HOME:-$HOME/.cache}/tessera/dawn" -name 'libwebgpu_dawn.so*' | sort | tail -n 1)}"
}
