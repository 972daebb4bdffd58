#!/bin/sh
# Runs the steps of the Dockerfile without a daemon, each stage in a chroot on Debian's
# smallest system. It then uses the image as servers do: as its user, with its
# environment and without a screen. Needs root, Debian or Ubuntu; minutes and 1.5 GB.
#
#   tools/container.sh
#
#   TESSERA_CONTAINER=DIR   where the base system is kept; default in the user's cache
set -eu
cd "$(dirname "$0")/.."
. tools/sid.sh

die() { echo "container: $*" >&2; exit 1; }

sid_or_skip container

# Mounts belong to this process and end with it.
if [ -z "${TESSERA_UNSHARED:-}" ]; then
	TESSERA_UNSHARED=1 exec unshare --mount "$0" "$@"
fi
cache=${TESSERA_CONTAINER:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/tessera/container}
work=$(mktemp -d)
server=

# cleared removes the stages once nothing of this machine is mounted in them.
cleared() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	for mounted in "$work"/*/dev "$work"/*/proc; do
		! mountpoint -q "$mounted" || umount -lR "$mounted" || exit 1
	done
	rm -rf --one-file-system "$work"
}
trap cleared EXIT

# base creates the equivalent of debian:SUITE-slim, once.
base() {
	[ -e "$cache/$1.made" ] && return
	command -v debootstrap >/dev/null || {
		apt-get update -qq >/dev/null
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap debian-archive-keyring >/dev/null
	}
	from=$(sid_uri)
	[ -n "$from" ] || die "no apt source of Debian to copy"
	echo "container: Debian $1 in $cache: some minutes, 300 MB"
	rm -rf "${cache:?}/$1"
	mkdir -p "$cache/$1"
	debootstrap --variant=minbase "$1" "$cache/$1" "$from" >"$cache/$1.log" 2>&1 || { tail "$cache/$1.log" >&2; die "debootstrap failed"; }
	touch "$cache/$1.made"
}

# stage FROM NAME starts another chroot.
stage() {
	case $1 in debian:*-slim) suite=${1#debian:} suite=${suite%-slim} ;; *) die "FROM $1: expected debian:SUITE-slim" ;; esac
	base "$suite"
	root=$work/$2
	cp -a "$cache/$suite" "$root"
	cp /etc/resolv.conf "$root/etc/"
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	: >"$root.env"
	user=0 folder=/
}

# within COMMAND... runs it as in the image, without this machine's environment.
within() {
	# shellcheck disable=SC2046 # NAME=VALUE are words
	${hand:-} chroot --userspec="$user:$user" "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		HOME="$(awk -F: -v u="$user" '$3 == u { print $6 }' "$root/etc/passwd" | grep . || echo /)" $(cat "$root.env") \
		sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
}

# copy [--from=STAGE] FROM... TO
copy() {
	from=.
	case $1 in --from=*) from=$work/${1#--from=} && shift ;; esac
	for to in "$@"; do :; done
	while [ $# -gt 1 ]; do
		for f in "$from"/${1#/}; do
			[ -e "$f" ] || die "COPY $1: no such file: tools/dist.sh linux/amd64 makes it"
			case $to in */) mkdir -p "$root$to" ;; esac
			cp -a "$f" "$root$to"
		done
		shift
	done
}

# step INSTRUCTION ARGUMENTS runs one instruction and refuses unknown ones.
step() {
	echo "container: $1 $2"
	case $1 in
	FROM)
		# shellcheck disable=SC2086 # words
		set -- $2
		stage "$1" "${3:-image}"
		;;
	ARG | ENV) echo "$2" >>"$root.env" ;;
	RUN) within sh -c "$2" >"$work/log" 2>&1 </dev/null || { tail "$work/log" >&2; die "RUN $2: failed"; } ;;
	# shellcheck disable=SC2086 # words
	COPY) copy $2 ;;
	USER) user=$2 ;;
	WORKDIR) folder=$2 ;;
	ENTRYPOINT) entry=$2 ;;
	CMD) ;;
	*) die "no instruction $1 is known here" ;;
	esac
}

# joined prints the instructions, one per line.
joined() { sed -e '/^#/d' -e :a -e '/\\$/{N;s/\\\n *//;ta' -e '}' -e '/^$/d' Dockerfile; }

archives=$(ls build/dist/tessera-*-linux-amd64.zip 2>/dev/null | wc -l)
[ "$archives" = 1 ] || { rm -f build/dist/tessera-*-linux-amd64.zip && tools/dist.sh linux/amd64; }
joined >"$work/steps"
while read -r instruction arguments <&3; do
	step "$instruction" "$arguments"
done 3<"$work/steps"

[ "$entry" = '["tessera"]' ] || die "ENTRYPOINT $entry: expected [\"tessera\"]"
echo "container: as its user"
within tessera devices | grep llvmpipe >/dev/null || die "no Vulkan adapter"
(user=12345 && within tessera devices) | grep llvmpipe >/dev/null || die "no Vulkan adapter as another user"
mkdir -m 777 "$root/clips"
within sh -c 'cp /opt/tessera/demo/clip/frame_000[01].png /clips/'
many() { within tessera batch -m /opt/tessera/demo/tiny-seedvr2.safetensors "$@" --resume -q 2>&1; }
statuses() { grep -o '"status":"[a-z]*"' | cut -d'"' -f4 | tr '\n' ' '; }
encode() { many '/clips/*.png' -o '/clips/{name}.safetensors'; }
[ "$(encode | statuses)" = "done done " ] || die "batch: $(encode)"
[ "$(encode | statuses)" = "skipped skipped " ] || die "clips are made again: $(encode)"
[ "$(many '/clips/*.safetensors' -o '/clips/{name}.mp4' | statuses)" = "done done " ] || die "batch makes no videos"
within ffprobe -v error /clips/frame_0001.mp4 || die "batch makes other than videos"
{ hand=exec && within tessera serve -m vae=/opt/tessera/demo/tiny-seedvr2.safetensors --listen 0.0.0.0:0; } >"$work/serve" 2>&1 & # so that $! is the server
server=$!
for _ in $(seq 300); do
	port=$(sed -n 's,^http://.*:\([0-9]*\)/#token=.*,\1,p' "$work/serve")
	[ -z "$port" ] || break
	kill -0 $server || die "serve: $(cat "$work/serve")"
	sleep 0.1
done
bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0" && printf "GET /healthz HTTP/1.0\r\nHost: 127.0.0.1:$0\r\n\r\n" >&3 && cat <&3' "$port" |
	grep ' 200 ' >/dev/null || die "serve does not answer"
echo "container: passed; $(du -sh --one-file-system "$root" | cut -f1)"
