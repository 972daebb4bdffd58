#!/bin/sh
# Runs the checks, on a machine with nothing but Go and Node: installs what the
# tests need, then takes every step in order and prints how long each took.
#
#   tools/test.sh              all steps
#   tools/test.sh vet race     these only
#
#   GPU=                a missing device skips its tests; by default it fails them
#   ADAPTER=any         the program's own choice of adapter, rather than lavapipe
#   VK_DRIVER_FILES=F   that Vulkan driver
#   FUZZTIME=100000x    inputs, or a time, for each fuzz test
#   TABLES=all          every kernel in all storages, also those that are for other devices
#   GOLDENS=all         every case of the published sizes, in f16 and through the command line too
set -eu
cd "$(dirname "$0")/.."

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.8.0
gosec=github.com/securego/gosec/v2/cmd/gosec@v2.22.11
swiftshader=/usr/lib/chromium/vk_swiftshader_icd.json
steps="setup format tidy vet staticcheck govulncheck gosec cross race test swiftshader web pack fuzz"

export CGO_ENABLED=0 GPU="${GPU-require}"

# setup installs Dawn, Vulkan drivers, ffmpeg and, for -race, a C compiler.
setup() {
	tools/deps.sh --test
	missing=
	command -v ffmpeg >/dev/null 2>&1 || missing=ffmpeg
	command -v cc >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
	[ -n "$missing" ] || return 0
	install="apt-get install -y -qq --no-install-recommends $missing"
	if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" != 0 ]; then
		echo "test: not root, or no apt-get. Install by your system's means, e.g. sudo $install" >&2
		exit 3
	fi
	echo "test: $install"
	apt-get update -qq >/dev/null
	DEBIAN_FRONTEND=noninteractive $install >/dev/null
}

format() {
	bad=$(gofmt -l .)
	[ -z "$bad" ] || { echo "gofmt: $bad"; return 1; }
	go test -count=1 -v -run '^TestLines$' ./tests | grep lines
}

# tidy holds go.mod and go.sum to what is imported, and prints what differs. It
# looks at the tests of what we import, too: without a network it works where it
# has run before.
tidy() { go mod tidy -diff; }

vet() { go vet ./...; }

staticcheck() { go run $staticcheck ./...; }

# govulncheck finds calls of what is known to be vulnerable. Its data is on the
# network only.
govulncheck() {
	if out=$(go run $govulncheck ./... 2>&1); then
		printf '%s\n' "$out"
		return
	fi
	printf '%s\n' "$out"
	case $out in
	*"fetching vulnerabilities: "*) skip "no vulnerability data" ;;
	*) return 1 ;;
	esac
}

# gosec looks for what is often a hole. Left out are, with what was looked at:
#   G103  unsafe: in gpu/internal and memory alone, which tests/deps_test.go holds
#   G104  errors that nobody looks at: of closing and removing, where another is told already
#   G115  narrower integers: sizes are bounded where they are read and where they are planned
#   G204  commands: ffmpeg, and who opens a browser, without a shell
#   G301 G302 G306  modes: what users make has the mode that their umask says; what is private asks for 0600
#   G304  files by name: that is what a command line is for; pages go through os.Root
#   G602  indices: Go checks them itself, and a page's job survives its panics
gosec() {
	go run $gosec -quiet -exclude-generated -exclude=G103,G104,G115,G204,G301,G302,G304,G306,G602 ./...
}

# cross builds the program and type-checks the tests for every platform.
cross() {
	for os in linux windows darwin; do
		for arch in amd64 arm64; do
			GOOS=$os GOARCH=$arch go vet ./...
			GOOS=$os GOARCH=$arch go build -o /dev/null ./cmd/native
		done
	done
}

# race runs what needs no device of its own under the race detector.
race() {
	some="./format ./format/file ./format/json ./format/pth ./format/quote ./format/safetensors ./tests/synthetic ./app/job ./app/serve ./engine ./latent ./media ./temporary ./tiling ./wgsl/ref ./tests"
	CGO_ENABLED=1 go test -race -count=1 -shuffle=on $some
	raced=$(go list $some)
}

# test runs everything that race has not run just before; two packages at a time,
# since the longest wait for the program that they start, or for one core that
# compiles shaders; the longest first. app/session looks at a clock, and goes alone.
raced=
tests() {
	go test -count=1 -shuffle=on ./app/session
	go test -p 2 -count=1 -shuffle=on -timeout 40m ./cmd/native ./vae $({ go list ./... && echo "$raced"; } | grep -v -e /tests/web -e /app/session | sort | uniq -u)
}

# two takes lines of arguments of go test, the longest first, and runs two of these at
# once: a driver for processors compiles a shader on one core, which is most of what
# they do.
two() { xargs -P 2 -L 1 go test -p 1 -count=1 "$@"; }

# swiftshader repeats the operations on a second driver. Kernels for its subgroups
# and whole models web runs there, since it is Chromium's own driver.
swiftshader() {
	if [ ! -f $swiftshader ]; then
		skip "no $swiftshader"
		return
	fi
	VK_DRIVER_FILES=$swiftshader VK_ICD_FILENAMES=$swiftshader two -timeout 20m <<-'end'
		./wgsl -run ^TestConv -skip ./././broadcast4|././././broadcast4
		./wgsl/... ./gpu ./gpu/gputest -skip ^TestConv|./././broadcast4|././././broadcast4
	end
}

# web builds the page, and runs the operations and the page in Chromium.
web() {
	if ! command -v "${CHROMIUM:-chromium}" >/dev/null 2>&1; then
		skip "no chromium"
		return
	fi
	tools/web.sh check
	tools/web.sh
	go build -o build/wasmtest ./tools/wasmtest
	GOOS=js GOARCH=wasm go vet ./cmd/wasm ./app/session ./engine ./gpu ./gpu/gputest ./gpu/internal/browser ./vae ./wgsl ./tiling
	GOOS=js GOARCH=wasm two -exec "$PWD/build/wasmtest" -timeout 30m <<-'end'
		./wgsl -run ^TestConv
		./vae -short -run ^TestGoldens$/././^small$|^Test(BandsAreExact|EveryLayerInBands)$/^(seedvr2|wan)|^TestPreviewsInBands$
		./wgsl -skip ^TestConv
		./engine ./gpu ./gpu/gputest ./gpu/internal/browser ./latent ./tiling
	end
	go test -count=1 -short -parallel 2 -timeout 40m ./tests/web
}

# pack makes the folder for a real card, which must stay small, beside a page.
pack() { tools/gpu.sh check; }

# fuzz gives every fuzz test a short run. It counts inputs: where the time is
# limited, go test on a busy machine fails with "context deadline exceeded" of
# its own until Go 1.27 (golang/go issue 75804).
fuzz() {
	grep -roE --include='*_test.go' '^func Fuzz\w+' . | while IFS=: read -r file name; do
		go test -run '^$' -fuzz "^${name#func }\$" -fuzztime "${FUZZTIME:-100000x}" -fuzzminimizetime 1000x "$(dirname "$file")" || exit 1
	done
}

# skip says why a step is not taken, there and in the sum at the end.
skip() {
	echo "test: $1: skipped"
	skipped=", skipped: $1"
}

begun=$(date +%s)
times=
for step in ${*:-$steps}; do
	case " $steps " in
	*" $step "*) ;;
	*) echo "test: no step $step; there are: $steps" >&2; exit 2 ;;
	esac
	echo "== $step"
	[ "$step" = setup ] || . tools/adapter.sh
	start=$(date +%s) skipped=
	case $step in test) tests ;; *) $step ;; esac
	times="$times$(printf '%6d s  %s' $(($(date +%s) - start)) "$step$skipped")
"
done
printf '== passed\n%s%6d s  in all\n' "$times" $(($(date +%s) - begun))
