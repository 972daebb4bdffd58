#!/bin/sh
# One command for a real card. In a checkout it packs a folder that needs only the
# card's driver, and runs it. The folder, or the single file, can be copied to a
# machine without Go, Node or network and run there. It writes report.md and
# devices.json, with the chosen kernels, beside itself.
#
#   tools/gpu.sh        packs build/gpu and build/gpu.tar.gz, then runs it here
#   tools/gpu.sh pack   packs only
#   tools/gpu.sh check  the folder only, from what tests have compiled, to see that it is small enough
#   gpu/gpu.sh          runs, in the folder
#
#   LIMIT=540     seconds for all of it
#   SIZES="1280x720 1920x1080"   of the clips that are decoded
#   FRAMES=5      of each
#   LONG=832x480  size of a clip of 81 frames, by Wan 2.1 alone
#   BENCH=40      seconds for tessera bench
#   JOBS=N        test programs at once, one more than half as many as there are processors
#   STEPS="goldens decodes torch bench ops"   only some
#   VK_DRIVER_FILES=F, ADAPTER=N   that driver, that adapter
#
# Each part has its own time limit, so that no part uses the others' time; the report
# names what did not run. Figures come before the slowest part, the operations' tables.
# On a processor, clips are small and tests are those of make test.
#
# Exit codes: 0 everything passed or was skipped, 1 something failed; the report is
# written in both cases.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

most=66000000 # bytes of the folder, which must fit a limit of 64 MiB

# pack builds the folder. It leaves the page and the demo's clip and model out of the
# program, which does not need them here.
pack() {
	cd "$here/.."
	out=build/gpu
	rm -rf $out
	mkdir -p $out/tests $out/vae $out/wgsl
	tools/deps.sh
	trim=-trimpath
	[ "${1:-}" != check ] || trim=
	export CGO_ENABLED=0
	: >$out/empty
	{
		printf '{"Replace":{'
		{
			find "$PWD/web/dist" -type f ! -name icon.svg 2>/dev/null | sed 's/.*/"&":""/'
			find "$PWD/assets" -type f ! -name '*.go' | sed "s|.*|\"&\":\"$PWD/$out/empty\"|" # each of which must exist
		} | paste -sd , -
		printf '}}'
	} >$out/overlay.json
	go build $trim -overlay $out/overlay.json -ldflags "-s -w -X main.version=$(git describe --tags --always --dirty)" -o $out/tessera ./cmd/native
	rm $out/overlay.json $out/empty
	for package in wgsl vae; do
		go test -c $trim -ldflags "-s -w" -o $out/$package/test ./$package
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
	cp tools/gpu.sh tools/gpu_torch.py tools/torch_vae.py $out/
	size=$(find $out -type f -exec wc -c {} + | awk '$2 != "total" {s += $1} END {print s}')
	echo "gpu: $out, $size bytes of at most $most"
	[ "$size" -le $most ] || { echo "gpu: $out is $size bytes, expected at most $most" >&2; exit 1; }
	[ -n "$trim" ] || return 0
	tar -C build -czf build/gpu.tar.gz gpu
	echo "gpu: build/gpu.tar.gz, $(wc -c <build/gpu.tar.gz) bytes"
}

# left prints the remaining seconds, at most $1.
left() {
	rest=$((begun + ${LIMIT:-540} - 5 - $(date +%s)))
	[ "$rest" -lt "$1" ] || rest=$1
	[ "$rest" -gt 1 ] || rest=1
	echo $rest
}

# within runs a command for at most this many seconds.
within() {
	seconds=$(left "$1")
	shift
	timeout -k 5 "$seconds" "$@"
}

# wanted succeeds if a step is selected.
wanted() { case " ${STEPS:-goldens decodes torch bench ops} " in *" $1 "*) ;; *) return 1 ;; esac; }

say() { printf '%s\n' "$*" >>"$report"; }

# quote adds the end of a log.
quote() {
	say '```'
	tail -n "$2" "$1" | sed "s|$here/||g" | cut -c 1-300 >>"$report"
	say '```'
}

# tests runs a package's tests, some programs at once: name, seconds, description, then
# what to run, one program each.
tests() {
	package=$1 seconds=$2 what=$3 start=$(date +%s) ended=0
	shift 3
	rm -rf "$here/logs/$package"
	mkdir -p "$here/logs/$package"
	printf '%s\n' "$@" | (cd "$here/$package" && TESSERA_DAWN=$dawn GPU=require TABLES=$tables SHORT=$short within "$seconds" xargs -P "$jobs" -I {} \
		sh -c 'log=$(printf %s "$2" | tr -c "[:alnum:]\n" _); ./test -test.v $SHORT -test.run "$2" >"$1/$log.log" 2>&1; echo "exit $?" >>"$1/$log.log"' x "$here/logs/$package" {}) || ended=$?
	cat "$here/logs/$package"/*.log >"$here/$package.log" 2>/dev/null || :
	log=$here/$package.log
	failed=$(grep -c '^ *--- FAIL' "$log" || :)
	late=$(($# - $(grep -c '^exit ' "$log" || :)))
	verdict=passed
	[ "$late" = 0 ] || verdict="**$late of $# did not end**"
	[ "$late" = 0 ] || [ "$ended" = 124 ] || bad=1
	grep -q '^exit [^0]' "$log" && verdict="**failed**" bad=1
	say "| $what | $verdict | $(grep -c '^ *--- PASS' "$log" || :) | $failed | $(grep -c '^ *--- SKIP' "$log" || :) | $(($(date +%s) - start)) |"
	[ "$failed" = 0 ] || fails="$fails$(grep -A 12 '^ *--- FAIL' "$log" | head -n 60)
"
	for pattern in "$@"; do
		grep -q '^exit ' "$here/logs/$package/$(printf %s "$pattern" | tr -c '[:alnum:]\n' _).log" 2>/dev/null || unended="$unended $pattern"
	done
}

# tables_of lists the tests of operations, the convolutions' in three parts each.
tables_of() {
	(cd "$here/wgsl" && ./test -test.list '^Test') | grep '^Test' | while read -r name; do
		case $name in
		TestConv3D | TestConvUp | TestConv3DWinograd | TestPointwise) for part in '[a-f]' '[g-o]' '[^a-o]'; do echo "^$name\$/^$part"; done ;;
		*) echo "^$name\$" ;;
		esac
	done
}

# driver finds the card's Vulkan driver. In containers, its loader and the file that
# names it are often missing although its libraries exist.
driver() {
	for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib; do
		[ ! -d $folder ] || export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
	done
	ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1 ' || export LD_LIBRARY_PATH="$here/loader${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
	[ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] || return 0
	command -v nvidia-smi >/dev/null 2>&1 || return 0
	for library in "" /usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json libGLX_nvidia.so.0 libEGL_nvidia.so.0; do
		case $library in
		"") ;;
		/*) [ -f $library ] && export VK_DRIVER_FILES=$library VK_ICD_FILENAMES=$library || continue ;;
		*)
			printf '{"file_format_version":"1.0.0","ICD":{"library_path":"%s","api_version":"1.3.0"}}' $library >"$here/driver.json"
			export VK_DRIVER_FILES="$here/driver.json" VK_ICD_FILENAMES="$here/driver.json"
			;;
		esac
		if timeout -k 5 20 "$here/tessera" devices --dawn "$dawn" 2>/dev/null | grep -qi nvidia; then
			[ -z "$library" ] || say "The system names no Vulkan driver of NVIDIA's; taken was $library."
			return 0
		fi
	done
	unset VK_DRIVER_FILES VK_ICD_FILENAMES
	say "**NVIDIA's driver is there, its Vulkan part is not**: no libGLX_nvidia.so.0 or libEGL_nvidia.so.0 that works. In a container NVIDIA_DRIVER_CAPABILITIES=all brings it."
}

# found lists what the machine has of what a card needs: the Vulkan loader, the files that
# name drivers, cards on the PCI bus and their device nodes.
found() {
	loader=$(ldconfig -p 2>/dev/null | awk '/libvulkan\.so\.1 / {print $NF; exit}')
	[ -n "$loader" ] || [ ! -f "$here/loader/libvulkan.so.1" ] || loader="none, brought along"
	say "Vulkan loader: ${loader:-none, and none was packed}"
	say "Vulkan drivers:$(ls -d /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json ${VK_DRIVER_FILES:-} 2>/dev/null | sed "s|$here/||" | sort -u | sed 's/^/ /' | tr -d '\n' | grep . || echo " none")"
	cards=
	for class in /sys/bus/pci/devices/*/class; do
		case $(cat "$class" 2>/dev/null) in 0x03*) card=${class%/class} cards="$cards ${card##*/} $(cut -c 3- "$card/vendor"):$(cut -c 3- "$card/device")" ;; esac
	done
	say "cards on the PCI bus:${cards:- none}"
	say "device nodes:$(ls -d /dev/nvidia[0-9]* /dev/nvidiactl /dev/dri/renderD* /dev/kfd /dev/dxg 2>/dev/null | sed 's/^/ /' | tr -d '\n' | grep . || echo " none")"
}

# bench runs the program's benchmark into part.md: seconds, arguments.
bench() {
	limit=$1
	shift
	rm -f "$here/part.md"
	within "$limit" "$here/tessera" -q --progress=none bench --dawn "$dawn" ${ADAPTER:+--adapter=$ADAPTER} "$@" --report "$here/part.md" >"$here/bench.log" 2>&1
}

# decode adds a line about a clip: seconds, MODEL:WxH:FRAMES, flags. If a clip takes
# too long, larger clips of its model are left out.
decode() {
	limit=$1 model=${2%%:*} frames=${2##*:} size=${2#*:}
	size=${size%:*}
	shift 2
	case $slow in *" $model "*)
		say "| $model decode | $frames × $size: left out, the one before took too long | | | | | | | |"
		return
		;;
	esac
	bench "$limit" decode -m "$model" --size "$size" --frames "$frames" --tile auto --seconds 1 "$@" || slow="$slow $model "
	if grep -q "^| $model " "$here/part.md" 2>/dev/null; then
		grep "^| $model " "$here/part.md" >>"$report"
	else
		say "| $model decode | $frames × $size: not measured within $limit s: $(tail -n 1 "$here/bench.log" | sed "s|$here/||g" | cut -c 1-200) | | | | | | | |"
	fi
}

# run does everything that fits the time.
run() {
	begun=$(date +%s) bad= fails= unended= slow=
	report=$here/report.md
	dawn=$(ls "$here"/libwebgpu_*)
	: >"$report"
	say "# Tessera on this card, $(date -u '+%Y-%m-%d %H:%M') UTC"
	say ""
	driver
	say '```'
	"$here/tessera" --version >>"$report"
	uname -srm >>"$report"
	found
	(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit --format=csv,noheader 2>/dev/null || echo "no nvidia-smi") >>"$report"
	if ! timeout -k 5 60 "$here/tessera" devices --dawn "$dawn" >"$here/devices.log" 2>&1; then
		cat "$here/devices.log" >>"$report"
		say '```'
		cat "$report"
		exit 1
	fi
	sed -E "s|$here/||g; /^ *(kernels?|chosen) /d" "$here/devices.log" >>"$report" # these come at the end
	say '```'
	say ""
	user=${XDG_CACHE_HOME:-$HOME/.cache}
	export XDG_CACHE_HOME="$here/cache" # nothing is compiled yet, and nothing remains
	short= tables=all jobs=${JOBS:-$((1 + $(nproc) / 2))} every=--every-kernel sizes=${SIZES:-1280x720 1920x1080} long=${LONG-832x480}
	if awk -v n="${ADAPTER:-*}" '/^[* ] *[0-9]+ / {on = $1 == n || $1 == "*" && $2 == n} on && /, cpu, / {found = 1} END {exit !found}' "$here/devices.log"; then
		export XDG_CACHE_HOME="$user" # whose drivers compile for minutes
		short=-test.short tables= every= sizes=${SIZES:-32x32 48x48} long=${LONG-}
		say "This adapter is a processor: clips are of $sizes, kernels are not all tried, and tests are those of make test."
		say ""
	fi
	if wanted goldens; then
		say "| | | passed | failed | skipped | s |"
		say "|---|---|---|---|---|---|"
		tests vae 90 "small models' goldens, f32 and f16, by every kernel" '^TestGoldens$/^f32$/./^small$' '^TestGoldens$/^f16$/./^small$' '^TestMatrixGoldens$' '^TestWinogradGoldens$' '^TestVariantGoldens$'
		say ""
		say "Largest NMSE of f32 $(worst f32), of f16 $(worst f16); allowed are 1e-09 and 1e-05."
		say ""
	fi
	clips=
	for size in $sizes; do clips="$clips wan2.1:$size:${FRAMES:-5} seedvr2:$size:${FRAMES:-5}"; done
	[ -z "$long" ] || clips="$clips wan2.1:$long:81"
	if wanted decodes; then
		say "| tiles as large as fit | clip | s | frames/s | megapixels/s | GFLOP/s | share | first run, s | peak MiB |"
		say "|---|---|---|---|---|---|---|---|---|"
		first=" "
		for clip in $clips; do
			case $first in
			*" ${clip%%:*} "*) decode 60 "$clip" ;;
			*) decode 100 "$clip" $every ;; # with trials of kernels
			esac
			first="$first${clip%%:*} "
		done
		say ""
	fi
	if wanted torch; then
		say "## PyTorch on the same card"
		say ""
		python=$(command -v python3 || :)
		if [ -z "$python" ]; then
			say "skipped: no python3"
		elif ! within 100 "$python" -u "$here/gpu_torch.py" $clips >>"$report" 2>"$here/torch.log"; then
			say ""
			say "failed or ran out of time: $(tail -n 1 "$here/torch.log" | cut -c 1-200)"
		fi
		say ""
	fi
	if wanted bench; then
		bench 90 --seconds "${BENCH:-40}" || bad=1
		if [ -f "$here/part.md" ]; then
			sed '/^## Kernels/,$d; s/^#/##/' "$here/part.md" >>"$report" # which come below
		else
			say "**failed**: tessera bench"
			quote "$here/bench.log" 5
		fi
		say ""
	fi
	say "## Kernels, by proof and by trial"
	say ""
	say '```'
	timeout -k 5 60 "$here/tessera" devices --dawn "$dawn" 2>&1 | grep -E '^[* ] [0-9]+ |^ *(kernels?|chosen) ' >>"$report" || :
	say '```'
	say ""
	timeout -k 5 60 "$here/tessera" devices --json --dawn "$dawn" >"$here/devices.json" 2>/dev/null || :
	say "devices.json, beside this report, has all of it and the adapters' limits."
	say ""
	if wanted ops; then
		say "| | | passed | failed | skipped | s |"
		say "|---|---|---|---|---|---|"
		what="operations, the cases of make test"
		[ -z "$tables" ] || what="operations, every case by every kernel in every storage"
		set --
		for pattern in $(tables_of); do set -- "$@" "$pattern"; done
		tests wgsl 1000 "$what" "$@"
		say ""
	fi
	[ -z "$unended" ] || say "Did not end in time:$unended"
	if [ -n "$fails" ]; then
		say '```'
		say "$fails"
		say '```'
	fi
	say "All of it took $(($(date +%s) - begun)) s."
	cat "$report"
	[ -z "$bad" ]
}

# worst prints the largest NMSE of goldens in a storage.
worst() {
	awk -v want="$1" '/^=== (RUN|NAME|CONT)/ {in_it = $3 ~ want || want == "f16" && $3 ~ /Matrix|Winograd|Goldens\/winograd/} in_it && / NMSE / {some = 1; if ($NF + 0 > most) most = $NF + 0} END {if (some) printf "%.0e", most; else printf "none"}' "$here/vae.log"
}

if [ -x "$here/tessera" ]; then
	run
	exit
fi
pack "${1:-}"
case ${1:-} in pack | check) ;; *) exec build/gpu/gpu.sh ;; esac
