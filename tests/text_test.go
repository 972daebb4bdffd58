package tests

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Patterns of what ties a file to the machine it was made on: a path in somebody's home
// or checkout, or the host of a package registry, which configuration or a mirror
// should determine. They are written so that they don't match themselves.
var (
	machinePath  = regexp.MustCompile("(^|[\\s\"'`=:(\\[,])/(root|home|work|Users)/")
	registryHost = regexp.MustCompile(`(?i)\b(pypi\.(org|python)|pythonhosted\.(org|com)|npmjs\.(org|com)|yarnpkg\.com|(deb|security|snapshot|ftp)\.debian\.org|(archive|ports|security)\.ubuntu\.com|(proxy|sum)\.golang\.(org|com))`)
)

func TestNoMachineInFiles(t *testing.T) {
	for file := range files(t, "") {
		for i, line := range lines(t, file) {
			for _, pattern := range []*regexp.Regexp{machinePath, registryHost} {
				found := pattern.FindString(line)
				assert.Empty(t, found, "%s:%d", file, i+1)
			}
		}
	}
}

func TestMachinePatterns(t *testing.T) {
	slash := "/"
	for text, want := range map[string]bool{
		"see " + slash + "work/shared":               true,
		"`" + slash + "root/.cache`":                 true,
		`"` + slash + `home/me"`:                     true,
		"$tmp/root/log":                              false,
		"net" + "work/home/page":                     false,
		"/usr/share/vulkan":                          false,
		"https://files.python" + "hosted.org/x":      true,
		"https://registry." + "npm" + "js.org/x":     true,
		"http://deb." + "debian.org/debian bookworm": true,
		"proxy." + "golang.org":                      true,
		"an npm package of golang.org/x/sys":         false,
	} {
		assert.Equal(t, want, machinePath.MatchString(text) || registryHost.MatchString(text), "%q", text)
	}
}

// TestLines prints how much text there is to read and maintain.
func TestLines(t *testing.T) {
	kinds := map[string]int{}
	for file := range files(t, "") {
		kind := path.Ext(file)
		switch {
		case strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "gpu/gputest/"):
			kind = "test"
		case strings.Contains(file, "testdata/") || kind == ".json":
			continue
		}
		kinds[kind] += len(lines(t, file))
	}
	t.Logf("lines: Go %d, WGSL %d, tests %d, shell %d, prose %d",
		kinds[".go"], kinds[".wgsl"], kinds["test"], kinds[".sh"], kinds[".md"])
	for _, kind := range []string{".go", ".wgsl", "test"} {
		require.NotZero(t, kinds[kind], "nothing to count: %s", kind)
	}
}

// lines returns the lines of a file, none if it is not text.
func lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	if bytes.IndexByte(data, 0) >= 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}
