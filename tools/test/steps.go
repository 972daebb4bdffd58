package main

import (
	"fmt"
	"strings"
)

// set is which runs a step belongs to.
type set uint8

const (
	check set = 1 << iota
	test
	all
)

var sets = map[string]set{"check": check, "test": test, "all": all}

// step is one line of the table.
type step struct {
	name  string
	in    set
	after string   // the step that has to end first
	does  string   // a shell command line; or
	tests string   // arguments of go test
	env   []string // NAME=value
	shows string   // what its passing shows
	// inputs, where passing is remembered: nil runs each time, since it is quick or
	// since Go's own test cache remembers
	inputs *inputs
}

const (
	staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"
	govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.8.0"
	gosec       = "github.com/securego/gosec/v2/cmd/gosec@v2.22.11"
	gotestsum   = "gotest.tools/gotestsum@v1.13.0"
)

// command is the step's command line.
func (s *step) command() string {
	if s.tests == "" {
		return s.does
	}
	return fmt.Sprintf("GOOS= GOARCH= GOBIN=$PWD/%[1]s/bin go install %[2]s && exec %[1]s/bin/gotestsum --format pkgname --hide-summary skipped --jsonfile %[1]s/%[3]s.json -- %[4]s",
		logs, gotestsum, s.name, strings.Join(strings.Fields(s.tests), " "))
}

// swiftshader is the Vulkan driver in Debian's package chromium. It compiles shaders
// in a tenth of lavapipe's time.
const swiftshader = "/usr/lib/chromium/vk_swiftshader_icd.json"

// tables is TABLES for lavapipe: where SwiftShader runs the kernels that lavapipe
// would not take, lavapipe leaves them out.
const tables = `export TABLES=$([ -f ` + swiftshader + ` ] && echo usual); `

// device are the packages that the operations' tables run.
var device = []string{"./wgsl/...", "./gpu", "./gpu/gputest"}

var steps = []step{
	{name: "setup", in: test | all, does: "tools/deps.sh --test",
		shows: "Dawn, Vulkan drivers, Chromium and ffmpeg are installed"},
	{name: "format", in: check | test | all, does: `bad=$(gofmt -l .) && [ -z "$bad" ] || { echo "gofmt would change: $bad"; exit 1; }`,
		shows: "Go files are formatted"},
	{name: "vet", in: check | test | all, does: "go vet ./... && GOOS=js GOARCH=wasm go vet ./cmd/wasm ./app/session ./engine ./gpu/... ./vae ./wgsl ./tiling",
		shows: "go vet finds nothing, natively and in a page's code"},
	{name: "staticcheck", in: check | test | all, does: "go run " + staticcheck + " ./...",
		shows: "staticcheck finds nothing"},
	{name: "tidy", in: test | all, does: "go mod tidy -diff",
		shows: "go.mod lists what is imported"},
	{name: "builds", in: test | all, does: "for on in windows/amd64 darwin/arm64; do GOOS=${on%/*} GOARCH=${on#*/} go build -o /dev/null ./cmd/native || exit 1; done",
		shows: "the program builds for Windows and macOS"},
	{name: "page", in: test | all, does: "tools/web.sh check && tools/web.sh quick",
		shows: "the page's scripts have the right types, and the page builds"},
}
