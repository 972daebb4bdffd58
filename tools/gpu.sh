#!/bin/sh
# One command for a real card. In a checkout it packs a folder that needs nothing
# but the card's driver, and runs it; the folder can be carried to a machine
# without Go, Node or network and run there. It writes report.md beside itself.
#
#   tools/gpu.sh        packs build/gpu, then runs it here
#   tools/gpu.sh pack   packs only
#   gpu/gpu.sh          runs, in the folder
#
#   LIMIT=540     seconds for all of it
#   SIZES="1280x720 1920x1080"   of the clips that are decoded
#   FRAMES=5      of each
#   BENCH=60      seconds for tessera bench
#   STEPS="ops goldens bench decodes torch"   only some
#   VK_DRIVER_FILES=F, ADAPTER=N   that driver, that adapter
#
# Exit codes: 0 all passed or was skipped, 1 something failed; the report is
# written either way.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

most=60000000 # bytes of the folder

# pack builds the folder. The page is left out of the program.
pack() {
	cd "$here/.."
	out=build/gpu
	rm -rf $out
	mkdir -p $out/tests $out/vae $out/wgsl
	tools/deps.sh
	export CGO_ENABLED=0
	{
		printf '{"Replace":{'
		find "$PWD/web/dist" -type f ! -name icon.svg 2>/dev/null | sed 's/.*/"&":""/' | paste -sd , -
		printf '}}'
	} >$out/overlay.json
	go build -trimpath -overlay $out/overlay.json -ldflags "-s -w -X main.version=$(git describe --tags --always --dirty)" -o $out/tessera ./cmd/native
	rm $out/overlay.json
	for package in wgsl vae; do
		go test -c -trimpath -ldflags "-s -w" -o $out/$package/test ./$package
	done
	. tools/pins.sh
	library=${TESSERA_DAWN:-${XDG_CACHE_HOME:-$HOME/.cache}/tessera/dawn/$wheel_pin/libwebgpu_dawn.so}
	[ -f "$library" ] || { echo "gpu: no Dawn at $library, expected what tools/deps.sh fetches for Linux x64" >&2; exit 1; }
	cp "$library" $out/
	mkdir $out/loader # for machines without
	loader=$(ldconfig -p | awk '/libvulkan\.so\.1 / {print $NF; exit}')
	[ -z "$loader" ] || cp -L "$loader" $out/loader/libvulkan.so.1
	mkdir $out/tests/goldens
	cp tests/goldens/*_small* $out/tests/goldens/
	cp tools/gpu.sh tools/gpu_torch.py $out/
	size=$(find $out -type f -exec wc -c {} + | awk '$2 != "total" {s += $1} END {print s}')
	echo "gpu: $out, $size bytes"
	[ "$size" -le $most ] || { echo "gpu: expected at most $most bytes" >&2; exit 1; }
}

# left is how many seconds there are, at most $1 of them.
left() {
	rest=$((begun + ${LIMIT:-540} - $(date +%s)))
	[ "$rest" -lt "$1" ] || rest=$1
	[ "$rest" -gt 1 ] || rest=1
	echo $rest
}

# tests runs a test program in its folder: name, seconds, what.
tests() {
	log=$here/$1.log
	start=$(date +%s) code=0
	(cd "$here/$1" && TESSERA_DAWN=$dawn GPU=require TABLES=all timeout "$(left "$2")" ./test -test.v -test.short -test.run "$3") >"$log" 2>&1 || code=$?
	passed=$(grep -c '^ *--- PASS' "$log" || true)
	skips=$(grep -c '^ *--- SKIP' "$log" || true)
	failed=$(grep -c '^ *--- FAIL' "$log" || true)
	case $code in
	0) verdict=passed ;;
	124) verdict="**ran out of time** ($(left 100000) s were left)" ;;
	*) verdict="**failed**" bad=1 ;;
	esac
	say "| $4 | $verdict | $passed | $failed | $skips | $(($(date +%s) - start)) |"
	[ "$failed" = 0 ] || fails="$fails$(grep -A 12 '^ *--- FAIL' "$log" | head -n 60)
"
}

# driver finds the card's Vulkan driver. In containers its loader and the file that
# names it are often missing though its libraries are there.
driver() {
	ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1 ' || export LD_LIBRARY_PATH="$here/loader${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
	[ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] || return 0
	command -v nvidia-smi >/dev/null 2>&1 || return 0
	for library in "" libGLX_nvidia.so.0 libEGL_nvidia.so.0; do
		if [ -n "$library" ]; then
			printf '{"file_format_version":"1.0.0","ICD":{"library_path":"%s","api_version":"1.3.0"}}' $library >"$here/driver.json"
			export VK_DRIVER_FILES="$here/driver.json" VK_ICD_FILENAMES="$here/driver.json"
		fi
		if "$here/tessera" devices --dawn "$dawn" 2>/dev/null | grep -qi nvidia; then
			[ -z "$library" ] || say "The system names no Vulkan driver of NVIDIA's; taken was $library."
			return 0
		fi
	done
	unset VK_DRIVER_FILES VK_ICD_FILENAMES
	say "**NVIDIA's driver is there, its Vulkan part is not**: no libGLX_nvidia.so.0 or libEGL_nvidia.so.0 that works. In a container NVIDIA_DRIVER_CAPABILITIES=all brings it."
}

say() { printf '%s\n' "$*" >>"$report"; }

# measured runs the program's benchmark and adds what it prints: seconds, arguments.
measured() {
	limit=$1
	shift
	if timeout "$(left "$limit")" "$here/tessera" -q --progress=none bench --dawn "$dawn" ${ADAPTER:+--adapter=$ADAPTER} "$@" --report "$here/part.md" >"$here/bench.log" 2>&1; then
		sed 's/^#/##/' "$here/part.md" >>"$report"
	else
		say "**failed** or ran out of time: tessera bench $*"
		say '```'
		tail -n 5 "$here/bench.log" | sed "s|$here/||g" >>"$report"
		say '```'
		bad=1
	fi
	say ""
	rm -f "$here/part.md"
}

# run does everything that there is time for.
run() {
	begun=$(date +%s) bad= fails=
	report=$here/report.md
	dawn=$(ls "$here"/libwebgpu_*)
	steps=" ${STEPS:-ops goldens bench decodes torch} "
	: >"$report"
	say "# Tessera on this card, $(date -u '+%Y-%m-%d %H:%M') UTC"
	say ""
	driver
	say '```'
	"$here/tessera" --version >>"$report"
	uname -srm >>"$report"
	(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit --format=csv,noheader 2>/dev/null || echo "no nvidia-smi") >>"$report"
	if ! "$here/tessera" devices --dawn "$dawn" >"$here/devices.log" 2>&1; then
		cat "$here/devices.log" >>"$report"
		say '```'
		cat "$report"
		exit 1
	fi
	sed "s|$here/||g" "$here/devices.log" >>"$report"
	say '```'
	case $steps in *" ops "* | *" goldens "*)
		say ""
		say "| | | passed | failed | skipped | s |"
		say "|---|---|---|---|---|---|"
		;;
	esac
	case $steps in *" ops "*) tests wgsl 150 . "operations, every case in every variant and storage" ;; esac
	case $steps in *" goldens "*) tests vae 120 '^TestGoldens$/././^small$' "goldens of the small models, f32 and f16" ;; esac
	if [ -n "$fails" ]; then
		say ""
		say '```'
		say "$fails"
		say '```'
	fi
	say ""
	case $steps in *" bench "*) measured 120 --seconds "${BENCH:-60}" ;; esac
	case $steps in *" decodes "*)
		for size in ${SIZES:-1280x720 1920x1080}; do
			measured 150 decode --size "$size" --frames "${FRAMES:-5}" --seconds 10
		done
		;;
	esac
	case $steps in *" torch "*)
		say "## PyTorch on the same card"
		say ""
		python=$(command -v python3 || true)
		if [ -z "$python" ]; then
			say "skipped: no python3"
		elif ! FRAMES=${FRAMES:-5} SIZES="${SIZES:-1280x720 1920x1080}" timeout "$(left 120)" "$python" "$here/gpu_torch.py" >>"$report" 2>"$here/torch.log"; then
			say "failed or ran out of time: $(tail -n 1 "$here/torch.log" | cut -c 1-200)"
		fi
		say ""
		;;
	esac
	say "All of it took $(($(date +%s) - begun)) s."
	cat "$report"
	[ -z "$bad" ]
}

if [ -x "$here/tessera" ]; then
	run
	exit
fi
pack
[ "${1:-}" = pack ] || exec build/gpu/gpu.sh
