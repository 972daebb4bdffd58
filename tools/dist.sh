#!/bin/sh
# Builds a release into build/dist: archives to download, the Python package's wheels,
# the npm package, ComfyUI's node pack, the sources as a Go module, a bill of
# materials, the context of the container image, manifests for package managers, and
# SHA256SUMS. docs/internals/releasing.md describes their use. Needs Go, Node and pip. Equal
# commits give equal bytes.
#
#   tools/dist.sh                  everything
#   tools/dist.sh windows/amd64    only the archives and wheels of these platforms
#
#   PAGE=built   the page in web/dist, rather than a new one
#   VERSION=V    the version to stamp, rather than what git describe says
#   REPOSITORY=R where it will be published: the module's path, and the host and folder
#                of all addresses
set -eu
cd "$(dirname "$0")/.."

version=${VERSION:-$(git describe --tags --always --dirty)}
commit=$(git rev-parse HEAD)
repository=${REPOSITORY:-github.com/OWNER/tessera}
date=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
out=build/dist libraries=build/dist/libraries

export GOFLAGS=-buildvcs=false CGO_ENABLED=0
[ "${PAGE:-}" = built ] || tools/web.sh
tools/deps.sh --dist $libraries
rm -rf $out/*comfyui* $out/*.zip $out/*.whl $out/*.tgz $out/*.gz $out/*.json $out/manifests $out/SHA256SUMS
if [ $# = 0 ]; then
	[ -n "${REPOSITORY:-}" ] || echo "dist: REPOSITORY is not set: all addresses say $repository" >&2
	rm -rf build/npm
	tools/npm.sh build/npm
	[ ! -x tools/comfyui.sh ] || VERSION=$version tools/comfyui.sh $out
	rm -rf build/module
	tools/module.sh "$repository" build/module
	find build/module -exec touch -h -d "@$date" {} +
	tar -C build/module --sort=name --owner=0 --group=0 --numeric-owner --transform "s,^\.,tessera-$version," -cf - . |
		gzip -n >"$out/tessera-$version-source.tar.gz"
fi
go run ./tools/dist -version "$version" -commit "$commit" -repository "$repository" -date "$date" -libraries $libraries -npm build/npm -o $out "$@"
