package main

import "fmt"

// set is the runs that a step belongs to.
type set uint8

const (
	check set = 1 << iota
	test
	all
)

var sets = map[string]set{"check": check, "test": test, "all": all}

// step is one line of the table.
type step struct {
	name    string
	in      set
	after   string   // the step that must end first
	alone   bool     // run no other step meanwhile: it replaces files that they read, or fails on a busy machine
	does    string   // a shell command line
	tests   string   // arguments of go test, which runs after `does`
	env     []string // NAME=value
	shows   string   // what it proves if it passes
	makes   string   // a file that must exist for its passing to be remembered
	kernels *kernels // the kernels of package wgsl that it runs, if each is remembered
	// rest is the step whose -short left out what this one runs. It runs all tests
	// unless that step passed in the same run: an old or partial log is incomplete.
	rest string
	// inputs for remembering that it passed. nil: it runs each time, because it is fast
	// or because Go's test cache remembers. A step of only changed kernels runs all of
	// them if its inputs changed.
	inputs *inputs
}

const (
	staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"
	misspell    = "github.com/golangci/misspell/cmd/misspell@v0.8.0"
	govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.8.0"
	gosec       = "github.com/securego/gosec/v2/cmd/gosec@v2.22.11"
	gotestsum   = "gotest.tools/gotestsum@v1.13.0"
)

// command returns the step's command line.
func (s *step) command() string { return s.commandFor(s.tests) }

// commandFor returns the step's command line with other arguments of go test.
func (s *step) commandFor(tests string) string {
	if tests == "" {
		return s.does
	}
	return fmt.Sprintf("%[5]s GOOS= GOARCH= GOBIN=$PWD/%[1]s/bin go install %[2]s && exec %[1]s/bin/gotestsum --format pkgname --hide-summary skipped --jsonfile %[1]s/%[3]s.json -- %[4]s",
		logs, gotestsum, s.name, tests, s.does)
}

// swiftshader is the Vulkan driver in Debian's package chromium. It compiles shaders in
// a fifth of lavapipe's time, and has no f16.
const swiftshader = "/usr/lib/chromium/vk_swiftshader_icd.json"

var onlySwiftShader = []string{"VK_DRIVER_FILES=" + swiftshader, "VK_ICD_FILENAMES=" + swiftshader}

// usual sets TABLES for lavapipe if SwiftShader runs the kernels that lavapipe would
// not choose.
const usual = `[ ! -f ` + swiftshader + ` ] || export TABLES=usual;`

// oneThread keeps lavapipe in the calling thread. Small dispatches otherwise wait for
// other threads as long as they compute, and another step has the other core.
const oneThread = "LP_NUM_THREADS=0"

// unoptimised makes lavapipe compile in half the time, for kernels that it would not
// choose and that run only once.
const unoptimised = "GALLIVM_PERF=nopt"

// onSwiftShader ends a step if the driver is missing.
const onSwiftShader = `[ -f ` + swiftshader + ` ] || { echo "skipped: no ` + swiftshader + `"; exit 0; };`

// inChromium is the environment and the flags of tests in a browser.
const inChromium = `command -v "${CHROMIUM:-chromium}" >/dev/null || { echo "skipped: no chromium"; exit 0; }; go build -o build/wasmtest ./tools/wasmtest && export GOOS=js GOARCH=wasm &&`

var (
	native   = build{"", []string{"./..."}}
	page     = build{"GOOS=js GOARCH=wasm", []string{"./cmd/wasm"}}
	tables   = build{"", []string{"./wgsl/...", "./gpu", "./gpu/gputest"}}
	pageFile = []string{"web", "vae/families_first.go", "tools/web.sh", "tools/page.js", "tools/offline.js", "assets"}
)

// steps are in the order in which they start: the longest early, so that two of them
// end together.
var steps = []step{
	{name: "setup", in: test | all, does: "tools/deps.sh --test",
		shows: "Dawn, Vulkan drivers, Chromium, nginx and ffmpeg are installed"},
	{name: "format", in: check | test | all, does: `bad=$(gofmt -l .) && [ -z "$bad" ] || { echo "gofmt would change: $bad"; exit 1; }`,
		shows: "Go files are formatted"},
	{name: "vet", in: check | test | all, does: "go vet ./... && GOOS=js GOARCH=wasm go vet ./cmd/wasm ./app/session ./engine ./gpu ./gpu/gputest ./gpu/internal/browser ./vae ./wgsl ./tiling && go vet -tags first ./vae",
		shows: "go vet finds nothing, natively and in a page's code"},
	{name: "staticcheck", in: check | test | all, does: "go run " + staticcheck + " ./...",
		shows: "staticcheck finds nothing"},
	{name: "spelling", in: check | test | all, does: spelling,
		shows: "documents, comments and messages have no common misspelling"},
	{name: "nodevice", in: check, tests: "-short -p 2 -skip ^Fuzz ./...", env: []string{"GPU=none"},
		shows: "tests that need no device"},
	{name: "operations", in: check, kernels: &kernels{driver: "lavapipe", tables: "usual", changed: true},
		tests: "-short -timeout 20m -skip '^Fuzz' ./wgsl ./gpu", env: []string{oneThread},
		inputs: &inputs{builds: []build{tables}, except: ".wgsl", versions: []string{"mesa-vulkan-drivers"}},
		shows:  "operations by the kernels that lavapipe takes"},
	{name: "goldens", in: check, tests: "-short -run '^TestGoldens$/^f32$/./^small$' ./vae", env: []string{oneThread},
		shows: "small models compute what PyTorch does"},
	{name: "kernels", in: check, kernels: &kernels{driver: "swiftshader", changed: true}, does: onSwiftShader, tests: "-short -timeout 20m -skip './././cooperative4|././././cooperative4|^Test(Parts|AsOnCards|OtherTiles|ConvolutionsInPieces|ManyKernels|GroupNormInParts)$' ./wgsl",
		env:   onlySwiftShader,
		shows: "kernels whose texts changed, on SwiftShader"},
	{name: "shown", in: check, does: "tools/web.sh check && tools/web.sh quick && ", tests: "-short -skip '^TestVisitor$' ./tests/web",
		inputs: &inputs{builds: []build{page, {"", []string{"./tests/web"}}}, except: ".wgsl", files: pageFile, versions: []string{"chromium"}},
		shows:  "the page in Chromium, without a job"},
	{name: "page", in: test | all, alone: true, does: "tools/web.sh check && tools/web.sh quick", makes: "web/dist/index.html",
		inputs: &inputs{builds: []build{page}, files: pageFile},
		shows:  "the page's scripts have the right types, and the page builds"},
	{name: "tests", in: test | all, after: "page", kernels: &kernels{driver: "lavapipe"}, does: usual, env: []string{oneThread}, tests: "-short -p 2 -timeout 60m ./vae ./tests/web ./wgsl ./cmd/native ./media ./app/... ./gpu/... ./...",
		shows: "all packages: operations and models on lavapipe, files, the command line, the page in Chromium"},
	{name: "swiftshader", in: test | all, after: "page", does: onSwiftShader, tests: "-short -timeout 60m -skip './././cooperative4|././././cooperative4' ./wgsl/... ./gpu ./gpu/gputest",
		env: onlySwiftShader, kernels: &kernels{driver: "swiftshader"},
		shows: "operations by every kernel on a second driver"},
	{name: "tidy", in: test | all, does: "go mod tidy -diff",
		shows: "go.mod lists what is imported"},
	{name: "builds", in: all, does: "for on in windows/amd64 darwin/arm64; do GOOS=${on%/*} GOARCH=${on#*/} go build -o /dev/null ./cmd/native || exit 1; done",
		shows: "the program builds for Windows and macOS"},

	{name: "setup-all", in: all, after: "setup", does: "tools/deps.sh --test-all",
		shows: "Firefox is installed, too"},
	{name: "page-all", in: all, alone: true, does: "tools/web.sh && tools/gpu.sh check",
		shows: "the page's engine and the folder for a real card are small enough"},
	{name: "windows", in: all, alone: true, does: "tools/windows.sh chroot device tables goldens report",
		inputs: &inputs{builds: []build{{"GOOS=windows", []string{"./memory", "./gpu", "./gpu/internal/dawn", "./wgsl", "./vae"}}},
			files: []string{"tests/goldens", "tools/wine", "tools/windows.sh", "tools/deps.sh"}},
		shows: "operations and small models through Direct3D 12 and Vulkan under Wine"},
	{name: "dxc", in: all, alone: true, does: "tools/windows.sh chroot dxc",
		inputs: &inputs{builds: []build{{"GOOS=windows", []string{"./tests/isa"}}},
			files: []string{"tools/wine", "tools/windows.sh", "tools/deps.sh"}},
		shows: "kernels and published models' shaders compile with Microsoft's compiler, without arrays in loops"},
	{name: "windows-program", in: all, alone: true, does: "PAGE=built DEMO=short tools/windows.sh chroot dist program",
		inputs: &inputs{builds: []build{page, {"GOOS=windows", []string{"./cmd/native"}}, {"", []string{"./tests/windows", "./tools/dist"}}},
			files: append(pageFile, "tests/goldens", "tools/wine", "tools/windows.sh", "tools/dist.sh", "tools/deps.sh")},
		shows: "the archive for Windows and its command line under Wine"},
	{name: "vae-all", in: all, after: "page-all", rest: "tests", env: []string{oneThread}, tests: "-timeout 60m ./vae",
		inputs: &inputs{builds: []build{{"", []string{"./vae"}}}, files: []string{"tests/goldens"}, versions: []string{"mesa-vulkan-drivers"}},
		shows:  "models of published sizes, in every storage and way to save memory"},
	{name: "web-all", in: all, after: "setup-all", rest: "tests", env: []string{oneThread}, tests: "-timeout 60m ./tests/web",
		inputs: &inputs{builds: []build{page, {"", []string{"./tests/web", "./cmd/native"}}}, files: append(pageFile, "tests"), versions: []string{"mesa-vulkan-drivers", "chromium", "firefox-esr", "ffmpeg", "nginx-light"}},
		shows:  "every visit to the page"},
	{name: "program-all", in: all, after: "page-all", rest: "tests", env: []string{oneThread}, tests: "-p 1 -timeout 60m ./cmd/native ./app/... ./media ./tune ./tests/bench ./tests/faults ./tools/dist",
		inputs: &inputs{builds: []build{page, {"", []string{"./cmd/native", "./app/...", "./media", "./tune", "./tests/bench", "./tests/faults", "./tools/dist"}}}, files: append(pageFile, "tests", "integrations", "tools/gpu.sh"), versions: []string{"mesa-vulkan-drivers", "ffmpeg"}},
		shows:  "the command line, sessions, the server, files and releases, every test that -short leaves out"},
	{name: "tables-all", in: all, after: "setup", rest: "tests", tests: "-timeout 60m ./wgsl", env: []string{"TABLES=rest", unoptimised, oneThread},
		inputs: &inputs{builds: []build{tables}, versions: []string{"mesa-vulkan-drivers"}},
		shows:  "operations by every kernel in every storage on lavapipe, all cases of those that it takes"},
	{name: "swiftshader-all", in: all, after: "setup", does: onSwiftShader, tests: "-timeout 60m -skip './././cooperative4|././././cooperative4' ./wgsl",
		env:    append([]string{"TABLES=all"}, onlySwiftShader...),
		inputs: &inputs{builds: []build{tables}, versions: []string{"chromium"}},
		shows:  "operations by every kernel in f32 and packed halves on SwiftShader"},
	{name: "unrolled", in: all, after: "setup", does: onSwiftShader,
		tests:  "-short -timeout 60m -run '^Test(Conv|Pointwise|PixelShuffle|TimeConv|Attention|TimeAttention|Unrolled|AvgDown3D|Fold|DupUp3D|GroupNorm|Quantise|SpaceToDepth|DepthToSpace|Unpatchify)' ./wgsl",
		env:    append([]string{"TABLES=unrolled"}, onlySwiftShader...),
		inputs: &inputs{builds: []build{tables}, versions: []string{"chromium"}},
		shows:  "operations by kernels of cards as Direct3D 12's compiler gets them"},
	{name: "chromium-all", in: all, after: "setup", does: inChromium,
		tests:  `-exec "$PWD/build/wasmtest" -p 1 -timeout 60m ./wgsl ./engine/... ./gpu ./gpu/gputest ./gpu/internal/browser ./latent ./tiling`,
		inputs: &inputs{builds: []build{{"GOOS=js GOARCH=wasm", []string{"./wgsl", "./engine/...", "./gpu", "./gpu/gputest", "./gpu/internal/browser", "./latent", "./tiling"}}, {"", []string{"./tools/wasmtest"}}}, versions: []string{"chromium"}},
		shows:  "operations and the engine's packages as wasm in Chromium"},
	{name: "chromium-vae", in: all, after: "setup", does: inChromium,
		tests:  `-exec "$PWD/build/wasmtest" -timeout 60m -run '^TestGoldens$/././^small$|^Test(BandsAreExact|EveryLayerInBands)$/^(seedvr2|wan)|^TestPreviewsInBands$' ./vae`,
		inputs: &inputs{builds: []build{{"GOOS=js GOARCH=wasm", []string{"./vae"}}, {"", []string{"./tools/wasmtest"}}}, files: []string{"tests/goldens"}, versions: []string{"chromium"}},
		shows:  "small models in bands as wasm in Chromium"},
	{name: "wgpu", in: all, after: "setup", does: "tools/wgpu.sh",
		inputs: &inputs{builds: []build{tables}, files: []string{"tools/wgpu", "tools/wgpu.sh"}, versions: []string{"mesa-vulkan-drivers"}},
		shows:  "operations on wgpu, which Firefox runs WGSL with"},
	{name: "matrix", in: all, after: "setup", does: "tools/matrix.sh",
		inputs: &inputs{builds: []build{{"", []string{"./gpu", "./wgsl", "./vae"}}}, files: []string{"tools/matrix.sh", "tools/sid.sh", "tests/goldens"}},
		shows:  "kernels of subgroup matrices on Mesa 26"},
	{name: "ffmpeg", in: all, after: "setup", does: "tools/ffmpeg.sh",
		inputs: &inputs{builds: []build{{"", []string{"./media"}}}, files: []string{"tools/ffmpeg.sh", "tools/sid.sh"}},
		shows:  "video through Debian sid's ffmpeg"},
	{name: "race", in: all, after: "setup", tests: "-race -shuffle on ./format/... ./tests/synthetic ./app/batch ./app/job ./app/serve ./engine ./latent ./media ./temporary ./tiling ./wgsl/ref ./tests",
		env: []string{"CGO_ENABLED=1"}, inputs: &inputs{builds: []build{native}, versions: []string{"ffmpeg"}},
		shows: "no data races in packages that need no device of their own"},
	{name: "fuzz", in: all, does: `grep -roE --include='*_test.go' '^func Fuzz\w+' . | while IFS=: read -r file name; do go test -run '^$' -fuzz "^${name#func }\$" -fuzztime "${FUZZTIME:-100000x}" -fuzzminimizetime 1000x "$(dirname "$file")" || exit 1; done`,
		inputs: &inputs{builds: []build{{"", []string{"./format/...", "./media", "./tiling", "./vae", "./engine/...", "./latent", "./app/..."}}}},
		shows:  "100,000 inputs for each fuzz test"},
	{name: "cross", in: all, does: "for on in linux windows darwin; do for arch in amd64 arm64; do GOOS=$on GOARCH=$arch go vet ./... && GOOS=$on GOARCH=$arch go build -o /dev/null ./cmd/native || exit 1; done; done",
		inputs: &inputs{builds: []build{native, {"GOOS=windows", []string{"./..."}}, {"GOOS=darwin", []string{"./..."}}}},
		shows:  "the program and all tests build for six platforms"},
	{name: "govulncheck", in: all, does: vulnerabilities,
		shows: "no calls of code that is known to be vulnerable"},
	{name: "gosec", in: all, does: "go run " + gosec + " -quiet -exclude-generated -exclude=" + unsafeButMeant + " ./...",
		inputs: &inputs{builds: []build{native}},
		shows:  "no code that is often a hole"},
}

// spelling is British in documents and in Go's comments; code has the names of other
// libraries. It ignores ComfyUI's folder python_embeded, its normalized latents, and a
// state of the reference implementation.
const spelling = `bin=$PWD/` + logs + `/bin && GOBIN=$bin go install ` + misspell + ` && ours() { git ls-files -z -co --exclude-standard -- "$@" ':!*.tr.md' ':!web/strings/tr.js' ':!web/vendor'; } && find="-error -i embeded,normalized,initializing" &&
ours '*.md' web/strings/en.js | xargs -0 $bin/misspell $find -locale UK &&
ours '*.go' | xargs -0 $bin/misspell $find -locale UK -source go &&
ours '*.go' '*.wgsl' '*.js' '*.mjs' '*.py' '*.sh' '*.html' '*.css' Makefile | xargs -0 $bin/misspell $find`

// vulnerabilities skips the step if the network has no data.
const vulnerabilities = `out=$(go run ` + govulncheck + ` ./... 2>&1) && { printf '%s\n' "$out"; exit; }; printf '%s\n' "$out"; case $out in *"fetching vulnerabilities: "*) echo "skipped: no vulnerability data" ;; *) exit 1 ;; esac`

// unsafeButMeant are gosec's rules that are left out:
//
//	G103  unsafe: only gpu/internal and memory have it, which tests/deps_test.go checks
//	G104  ignored errors: of closing and removing, behind an error that is reported
//	G115  narrower integers: sizes have bounds where they are read and planned
//	G204  commands: ffmpeg and the program that opens a browser, without a shell
//	G301 G302 G306  modes: the umask decides for users' files; private ones ask for 0600
//	G304  files by name: that is what a command line is for; pages go through os.Root
//	G602  indices: Go checks them itself, and a page's job survives its panics
const unsafeButMeant = "G103,G104,G115,G204,G301,G302,G304,G306,G602"
