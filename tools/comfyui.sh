#!/bin/sh
# Writes ComfyUI's node pack: a folder to publish as a git repository, and a zip to
# unpack into custom_nodes. Equal commits give equal bytes. tools/dist.sh runs it.
#
#   tools/comfyui.sh [DIR]    into DIR, else build/dist
#
#   VERSION=V     the version to stamp, rather than what git describe says
#   REPOSITORY=R  where Tessera is published, such as github.com/OWNER/tessera; the pack
#                 is published beside it as tessera-comfyui
set -eu
cd "$(dirname "$0")/.."

repository=${REPOSITORY:-}
[ -z "$repository" ] || repository=https://${repository%/*}/tessera-comfyui
go run ./tools/comfyui -version "${VERSION:-$(git describe --tags --always --dirty)}" \
	-date "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" -repository "$repository" -o "${1:-build/dist}"
