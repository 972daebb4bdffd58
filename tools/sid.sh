# Sourced by isa.sh and matrix.sh: a Debian sid with Mesa's newest Vulkan drivers in
# a folder, once. Needs root and Debian or Ubuntu; some minutes and 1 GB.
#
#   sid_or_skip              says "skipped: REASON" and ends where that cannot be had
#   sid_made NAME DIR        makes it, with /proc and /dev mounted in it: call it in
#                            a mount namespace of your own
#   sid_library              the path of Dawn's library here

sid_or_skip() {
	if [ "$(id -u)" != 0 ]; then
		echo "skipped: needs root, for a chroot"
		exit
	fi
	command -v apt-get >/dev/null || { echo "skipped: needs Debian or Ubuntu, whose packages it installs"; exit; }
}

# sid_uri prints where this system's packages come from.
sid_uri() {
	{ sed -n 's/^URIs: *\([^ ]*debian\)\/* *$/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null
	awk '$1 == "deb" && $2 ~ /debian\/*$/ { print $2 }' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null; } | head -n 1
}

sid_made() {
	if [ ! -d "$2/usr/share/doc/mesa-drm-shim" ]; then
		command -v debootstrap >/dev/null || {
			apt-get update -qq >/dev/null
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap debian-archive-keyring >/dev/null
		}
		sid_from=$(sid_uri)
		[ -n "$sid_from" ] || { echo "$1: no apt source of Debian to copy" >&2; exit 1; }
		echo "$1: Debian sid with Mesa in $2: some minutes, 1 GB"
		rm -rf "$2"
		mkdir -p "$2"
		debootstrap --variant=minbase sid "$2" "$sid_from" >"$2.log" 2>&1 || { echo "$1: debootstrap: $(tail -n 1 "$2.log")" >&2; exit 1; }
	fi
	mountpoint -q "$2/proc" || mount -t proc proc "$2/proc"
	mountpoint -q "$2/dev" || mount --rbind /dev "$2/dev"
	[ -d "$2/usr/share/doc/mesa-drm-shim" ] && return
	cp /etc/resolv.conf "$2/etc/"
	DEBIAN_FRONTEND=noninteractive chroot "$2" apt-get install -y -qq --no-install-recommends \
		mesa-vulkan-drivers mesa-drm-shim libvulkan1 >>"$2.log" 2>&1 || { echo "$1: packages: $(tail -n 1 "$2.log")" >&2; exit 1; }
}

sid_library() {
	echo "${TESSERA_DAWN:-$(find "${XDG_CACHE_HOME:-$HOME/.cache}/tessera/dawn" -name 'libwebgpu_dawn.so*' | sort | tail -n 1)}"
}
