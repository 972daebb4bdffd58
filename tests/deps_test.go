// Package tests contains the tests that no single package owns: the rules of the whole
// repository. Its folders have goldens, benchmarks and tests of the built program and
// page:
//
//	go test ./tests                      # layers, documents, lists; seconds
//	go test ./tests/bench                # FLOPs, traffic and memory of the plans
//	FAULTS=200 go test ./tests/faults    # kills, full disks, hostile files
//	go test ./tests/web                  # the page in Chromium
package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/vae"
)

// root is the repository's root.
const root = ".."

// allowed are each package's imports from this module, layer by layer: no package
// imports one above it. Tests may import more, except what forbidden lists.
var allowed = map[string][]string{
	// The commands.
	"cmd/native":       {"app/api", "app/batch", "app/bench", "app/desktop", "app/files", "app/interrupt", "app/job", "app/machine", "app/models", "app/quiet", "app/report", "app/resume", "app/serve", "app/terminal", "assets", "cmd/native/flags", "engine", "format", "format/file", "format/known", "format/quote", "gpu", "latent", "media", "remote", "temporary", "tiling", "tune", "vae", "web"},
	"cmd/native/flags": {"app/files", "app/job", "app/machine", "app/report", "app/terminal", "format/safetensors", "gpu", "latent", "media", "tiling", "vae"},
	"cmd/wasm":         {"app/session", "gpu", "vae"},
	"web":              {},
	"assets":           {},
	// The application.
	"app/serve":     {"app/api", "app/session", "gpu", "vae"},
	"app/api":       {"app/job", "engine", "format/quote", "gpu", "latent", "media", "temporary", "tiling", "vae"},
	"app/session":   {"app/job", "engine", "format/json", "format/known", "format/quote", "gpu", "latent", "media", "tiling", "vae"},
	"app/batch":     {"app/files", "app/interrupt", "app/job", "app/models", "app/report", "app/resume", "app/terminal", "engine", "format", "format/file", "format/quote", "media", "remote", "temporary", "vae"},
	"app/bench":     {"app/terminal", "gpu", "latent", "tiling", "vae", "wgsl"},
	"app/desktop":   {"temporary"},
	"app/files":     {"app/interrupt", "app/job", "app/terminal", "engine", "format", "media", "temporary"},
	"app/interrupt": {},
	"app/machine":   {"app/interrupt", "app/job", "app/models", "app/quiet", "app/report", "app/terminal", "engine", "format", "gpu", "latent", "media", "tiling", "tune", "vae"},
	"app/models":    {"format/known", "remote", "temporary"},
	"app/quiet":     {},
	"app/report":    {"app/job", "app/terminal", "engine", "gpu", "media", "vae"},
	"app/resume":    {"app/files", "app/interrupt", "app/job", "app/machine", "app/terminal", "engine", "format", "latent", "media", "temporary", "vae"},
	"app/terminal":  {"app/job", "format/known", "format/quote", "gpu", "vae"},
	"app/job":       {"engine", "gpu", "latent", "media", "tiling", "vae"},
	// Kernels by trial.
	"tune": {"gpu", "wgsl", "wgsl/ref"},
	// Models.
	"vae": {"engine", "engine/runner", "format", "format/file", "format/known", "format/pth", "format/quantised", "format/quote", "format/safetensors", "gpu", "latent", "tiling", "wgsl"},
	// The engine, and arithmetic and kernels under it.
	"engine/runner": {"engine", "gpu", "temporary", "tiling", "wgsl"},
	"engine":        {"gpu", "memory", "tiling", "wgsl"},
	"tiling":        {},
	"wgsl":          {"gpu"},
	"wgsl/ref":      {},
	// Devices.
	"gpu":                    {"gpu/internal/browser", "gpu/internal/dawn", "gpu/internal/driver", "gpu/internal/diskcache"},
	"gpu/internal/browser":   {"gpu/internal/driver"},
	"gpu/internal/dawn":      {"gpu/internal/driver", "gpu/internal/diskcache", "temporary"},
	"gpu/internal/diskcache": {"temporary"},
	"gpu/internal/driver":    {},
	// Files.
	"media":              {"format", "format/file", "format/known", "format/pth", "format/quote", "format/safetensors", "latent", "memory", "temporary"},
	"latent":             {},
	"remote":             {},
	"format":             {"format/file", "format/known", "format/pth", "format/quote", "format/safetensors"},
	"format/quantised":   {"format", "format/quote", "format/safetensors"},
	"format/pth":         {"format/file", "format/quote", "format/safetensors"},
	"format/safetensors": {"format/file", "format/json", "format/quote"},
	"format/file":        {},
	"format/known":       {},
	"format/quote":       {},
	"format/json":        {},
	"memory":             {},
	"temporary":          {},
	// For tests and builds.
	"gpu/gputest":                    {"gpu", "tests/testenv"},
	"gpu/internal/driver/drivertest": {"gpu/internal/driver", "tests/testenv"},
	"format/pth/pthtest":             {"format/safetensors"},
	"tests/build":                    {},
	"tests/isa":                      {"engine", "gpu", "vae", "wgsl"},
	"tests/testenv":                  {},
	"tests/synthetic":                {"format/safetensors"},
	"tools/checkpoints":              {"tests/synthetic"},
	"tools/comfyui":                  {},
	"tools/dawn":                     {"gpu"},
	"tools/dist":                     {},
	"tools/drawings":                 {},
	"tools/flat":                     {"gpu", "vae"},
	"tools/hidden":                   {},
	"tools/peers":                    {"gpu", "tests/synthetic", "vae", "wgsl"},
	"tools/test":                     {},
	"tools/tiled":                    {"gpu", "media", "tiling", "vae"},
	"tools/wasmtest":                 {},
}

// forbidden are imports that even tests of these packages and of those below them must
// not have.
var forbidden = map[string][]string{
	"gpu":    {"app", "engine", "media", "tiling", "vae", "wgsl"},
	"media":  {"app", "engine", "gpu", "tiling", "vae", "wgsl"},
	"tiling": {"app", "engine", "gpu", "media", "vae", "wgsl"},
	"wgsl":   {"app", "engine", "media", "tiling", "vae"},
	"engine": {"app", "format", "media", "vae"},
	"vae":    {"app", "cmd", "media"},
	"format": {"app", "engine", "gpu", "media", "vae", "wgsl"},
}

// exclusive are packages that only some of our packages, and those below them, may
// import.
var exclusive = map[string][]string{
	"unsafe":     {"gpu/internal", "memory"},
	"syscall/js": {"gpu/internal", "cmd/wasm", "tools/peers"},
	// The rest of the program gets flags as values.
	"github.com/alecthomas/kong": {"cmd/native"},
}

// forTests are packages that only tests and helpers need.
var forTests = []string{"testing", "net/http/httptest", "github.com/stretchr/testify"}

// helpers are our packages for tests only.
var helpers = []string{"format/pth/pthtest", "gpu/gputest", "gpu/internal/driver/drivertest", "tests"}

// TestLayers checks the direction of dependencies: cmd on vae, vae on tiling and wgsl,
// wgsl on gpu. It covers every platform, because it reads all files whatever their
// build constraints. Files of the program must not contain test code.
func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	for file := range files(t, ".go") {
		pkg, test := path.Dir(file), strings.HasSuffix(file, "_test.go")
		if !test {
			seen[pkg] = true
		}
		for _, name := range imports(t, file) {
			assert.Empty(t, refuse(pkg, name, test), "%s imports %s", file, name)
		}
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(allowed)), slices.Collect(maps.Keys(seen)), "lines of allowed, and packages")
}

// buffers are the engine's types, which models do not use.
var buffers = []string{"gpu.Batch", "gpu.Buffer", "gpu.View", "wgsl.Tensor", "wgsl.Weights"}

// Models use no buffers, and only a family's own code tests for its name.
func TestModelsAndFamilies(t *testing.T) {
	letters := regexp.MustCompile(`^[a-z]+`)
	var of []string // seedvr of seedvr2, wan of wan2.1
	for _, family := range vae.Families() {
		of = append(of, letters.FindString(family))
	}
	own := regexp.MustCompile(`^vae/(` + strings.Join(of, "|") + `)\w*\.go$`)
	named := 0
	for file := range files(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || below(path.Dir(file), "tests") {
			continue
		}
		if path.Dir(file) == "format/known" { // its tables are of published files, pulled by such names
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && path.Dir(file) == "vae" {
					assert.NotContains(t, buffers, x.Name+"."+n.Sel.Name, file)
				}
			case *ast.BasicLit:
				if v, err := strconv.Unquote(n.Value); err == nil && slices.Contains(vae.Families(), v) {
					named++
					assert.Regexp(t, own, file, "names a family: %s", n.Value)
				}
			case *ast.BinaryExpr:
				if x, ok := n.X.(*ast.SelectorExpr); ok && x.Sel.Name == "Family" && !own.MatchString(file) {
					assert.Equal(t, "vae/family.go", file, "asks for the family")
				}
			}
			return true
		})
	}
	require.Len(t, vae.Families(), named, "families by name")
}

// described are the names of package gpu that package engine may use: those for
// descriptions. Package runner runs a plan on a device.
var described = []string{"Batch", "Buffer", "Command", "Cost", "ErrTooLarge", "Incomparable", "Info", "Limits", "Program", "View"}

// Plans are data: package engine does not call a device.
func TestPlansAreData(t *testing.T) {
	used := map[string]bool{}
	for file := range files(t, ".go") {
		if path.Dir(file) != "engine" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "gpu" {
					assert.Contains(t, described, s.Sel.Name, "%s: gpu.%s, expected what describes alone", file, s.Sel.Name)
					used[s.Sel.Name] = true
				}
			}
			return true
		})
	}
	assert.ElementsMatch(t, described, slices.Collect(maps.Keys(used)), "names in the list, and in use")
}

// pageless are the engine's files that a page does not need, and why. The size of a
// page's engine is no reason.
var pageless = map[string]string{
	"engine/runner/spool_file.go": "a page has no disk",
}

// A page runs the program's engine.
func TestPagesHaveTheEngine(t *testing.T) {
	found := map[string]bool{}
	for file := range files(t, ".go") {
		if !below(path.Dir(file), "engine") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		if native, tagged := strings.CutSuffix(file, "_js.go"); tagged || strings.Contains(string(text), "//go:build") {
			reason := pageless[file] + pageless[native+".go"] + pageless[native+"_file.go"]
			assert.NotEmpty(t, reason, "%s: is built for a page alone, or left out of it", file)
			found[file] = true
		}
	}
	for file := range pageless {
		assert.True(t, found[file], "%s: is built for every system, or is not there", file)
	}
}

// refuse says why a file of pkg must not import name, or returns "".
func refuse(pkg, name string, test bool) string {
	if only := exclusive[name]; only != nil {
		if !belowAny(pkg, only) {
			return "only allowed in " + strings.Join(only, " and ")
		}
	}
	if !test && belowAny(name, forTests) && !belowAny(pkg, helpers) {
		return "for tests, and for " + strings.Join(helpers, ", ")
	}
	name, ours := strings.CutPrefix(name, "tessera/")
	if !ours {
		return ""
	}
	if !test {
		if !slices.Contains(allowed[pkg], name) {
			return "allowed are " + strings.Join(allowed[pkg], ", ")
		}
		return ""
	}
	for dir, list := range forbidden {
		if below(pkg, dir) && belowAny(name, list) {
			return "not even in a test"
		}
	}
	return ""
}

func TestRefuse(t *testing.T) {
	for _, c := range []struct {
		pkg, name  string
		test, want bool
	}{
		{"vae", "tessera/wgsl", false, false},
		{"wgsl", "tessera/vae", false, true},
		{"wgsl", "tessera/vae", true, true},
		{"wgsl", "tessera/wgsl/ref", false, true},
		{"wgsl", "tessera/wgsl/ref", true, false},
		{"media", "tessera/gpu/gputest", true, true},
		{"gpu/gputest", "tessera/wgsl", true, true},
		{"gpux", "tessera/wgsl", true, false},
		{"vae", "unsafe", true, true},
		{"gpu/internal/dawn", "unsafe", false, false},
		{"gpu", "syscall/js", false, true},
		{"app/batch", "github.com/alecthomas/kong", true, true},
		{"cmd/native/flags", "github.com/alecthomas/kong", false, false},
		{"media", "testing", false, true},
		{"media", "testing", true, false},
		{"media", "testing/iotest", false, true},
		{"app/serve", "net/http/httptest", false, true},
		{"vae", "github.com/stretchr/testify/require", false, true},
		{"vae", "tessera/gpu/gputest", false, true},
		{"gpu/gputest", "testing", false, false},
		{"tests/bench", "testing", false, false},
	} {
		assert.Equal(t, c.want, refuse(c.pkg, c.name, c.test) != "", "%s imports %s, in a test %t", c.pkg, c.name, c.test)
	}
}

// below reports whether a package is dir or below it.
func below(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

func belowAny(pkg string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return below(pkg, dir) })
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
	require.NoError(t, err)
	var names []string
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		names = append(names, name)
	}
	return names
}

// files yields the repository's files with this suffix, by path from its root, without
// what the Makefile builds and fetches.
func files(t *testing.T, suffix string) iter.Seq[string] {
	skip := []string{".git", "build", "out", "tessera", "web/dist", "web/node_modules"}
	return func(yield func(string) bool) {
		err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			rel = filepath.ToSlash(rel)
			if slices.Contains(skip, rel) {
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if e.Type().IsRegular() && strings.HasSuffix(rel, suffix) && !yield(rel) {
				return fs.SkipAll
			}
			return nil
		})
		require.NoError(t, err)
	}
}
