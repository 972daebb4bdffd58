package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// module writes files into a new module under git and changes to its folder.
func module(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	}
	command(t, "git", "init", "-q")
	command(t, "git", "add", ".")
}

// Comments, documents and names of Go files do not change a fingerprint; code, tests,
// shaders, test data and other listed files do.
func TestFingerprint(t *testing.T) {
	files := map[string]string{
		"go.mod":          "module m\n\ngo 1.26\n",
		"a/a.go":          "package a\n\nimport _ \"embed\"\n\n//go:embed x.wgsl\nvar X string\n",
		"a/x.wgsl":        "let x = 1; // one\n",
		"a/a_test.go":     "package a\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n",
		"a/testdata/data": "1",
		"b/b.go":          "package b\n",
		"tool.sh":         "# runs\necho 1 # one\n",
		"text.md":         "words",
	}
	sum := func(changes map[string]string) string {
		all := map[string]string{}
		for name, text := range files {
			all[name] = text
		}
		for name, text := range changes {
			delete(all, name)
			if text != "" {
				all[name] = text
			}
		}
		module(t, all)
		sum, err := inputs{builds: []build{{"", []string{"./a"}}}, files: []string{"tool.sh", "text.md"}}.fingerprint("echo")
		require.NoError(t, err)
		return sum
	}
	was := sum(nil)
	for what, changes := range map[string]map[string]string{
		"a comment in Go":      {"a/a.go": "// Package a.\npackage a\n\nimport _ \"embed\" // for X\n\n//go:embed x.wgsl\nvar X string\n"},
		"a comment in WGSL":    {"a/x.wgsl": "// x\n  let x = 1;\n"},
		"a comment in a shell": {"tool.sh": "echo 1 # one\n"},
		"a renamed file":       {"a/a.go": "", "a/c.go": files["a/a.go"]},
		"a document":           {"text.md": "other words"},
		"another package":      {"b/b.go": "package b\n\nvar Y = 1\n"},
	} {
		assert.Equal(t, was, sum(changes), what)
	}
	for what, changes := range map[string]map[string]string{
		"code":        {"a/a.go": files["a/a.go"] + "\nvar Y = 1\n"},
		"a directive": {"a/a.go": "package a\n\nimport _ \"embed\"\n\n//go:embed x.wgsl tool.sh\nvar X string\n", "a/tool.sh": "1"},
		"a shader":    {"a/x.wgsl": "let x = 2;\n"},
		"a test":      {"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Log() }\n"},
		"test data":   {"a/testdata/data": "2"},
		"nested data": {"a/testdata/b/c/data": "1"},
		"a script":    {"tool.sh": "echo 2\n"},
	} {
		assert.NotEqual(t, was, sum(changes), what)
	}
}

func TestPassed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "folder", "passed")
	day := func(step, fingerprint string) string {
		day, err := passedOn(file, step, fingerprint)
		require.NoError(t, err)
		return day
	}
	assert.Empty(t, day("fuzz", "1"))
	require.NoError(t, remember(file, "fuzz", "1"))
	require.NoError(t, remember(file, "cross", "5"))
	assert.NotEmpty(t, day("fuzz", "1"))
	assert.Empty(t, day("fuzz", "2"), "other inputs")
	require.NoError(t, remember(file, "fuzz", "2"))
	assert.Empty(t, day("fuzz", "1"), "replaced")
	assert.NotEmpty(t, day("cross", "5"))

	require.NoError(t, os.WriteFile(file, []byte("fuzz\n"), 0o666))
	_, err := passedOn(file, "fuzz", "1")
	require.ErrorContains(t, err, `:1: found "fuzz", expected STEP FINGERPRINT DAY`)
}
