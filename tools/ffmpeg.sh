#!/bin/sh
# Runs the tests of package media with Debian sid's ffmpeg, in a chroot. Versions of
# ffmpeg differ in options, messages and output, and users have the newest.
#
#   TESSERA_FFMPEG_ROOT=DIR   where the chroot is kept; default in the user's cache.
#                             Remove it for a newer ffmpeg
#   tools/ffmpeg.sh [RUN]     only the tests whose names match
set -eu
cd "$(dirname "$0")/.."
. tools/sid.sh

sid_or_skip

# Mounts belong to this process and end with it.
if [ -z "${TESSERA_UNSHARED:-}" ]; then
	TESSERA_UNSHARED=1 exec unshare --mount "$0" "$@"
fi
out=build/ffmpeg
mkdir -p $out
CGO_ENABLED=0 go test -c -o $out/media.test ./media
root=${TESSERA_FFMPEG_ROOT:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/tessera/ffmpeg}
sid_made ffmpeg "$root" ffmpeg
mkdir -p "$root/tessera"
mount --bind "$PWD" "$root/tessera"
chroot "$root" ffmpeg -version | head -n 1
chroot "$root" env HOME=/root TMPDIR=/tmp GPU=require \
	sh -c 'cd /tessera/media && exec ../$0 -test.run "$1"' $out/media.test "${1:-.}" >$out/media.txt 2>&1 ||
	{ tail -n 100 $out/media.txt >&2; exit 1; }
if grep -q 'no tests to run' $out/media.txt; then
	echo "ffmpeg: no test has a name like ${1:-.}" >&2
	exit 1
fi
echo "ffmpeg: passed"
