#!/bin/sh
# Builds the archives that people download and the Python package's wheels into
# build/dist, with SHA256SUMS.
# Needs Go, Node and pip. The same commit gives the same bytes.
#
#   tools/dist.sh                  all platforms
#   tools/dist.sh windows/amd64    these only
#
#   PAGE=built  the page in web/dist, rather than a new one
#   VERSION=V   the version to stamp, rather than what git describe says
set -eu
cd "$(dirname "$0")/.."

version=${VERSION:-$(git describe --tags --always --dirty)}
commit=$(git rev-parse --short=12 HEAD)
date=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
libraries=build/dist/libraries

export GOFLAGS=-buildvcs=false CGO_ENABLED=0
[ "${PAGE:-}" = built ] || tools/web.sh
tools/deps.sh --dist $libraries
rm -f build/dist/*.zip build/dist/*.whl build/dist/SHA256SUMS
go run ./tools/dist -version "$version" -commit "$commit" -date "$date" -libraries $libraries -o build/dist "$@"
