package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEdgesAreTested: every test in docs/reference/edges.md exists, and every row of its tables
// names a test or refers to the row above.
func TestEdgesAreTested(t *testing.T) {
	known := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for file := range files(t, "_test.go") {
		data, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		for _, found := range declared.FindAllSubmatch(data, -1) {
			known[string(found[1])] = true
		}
	}
	row := regexp.MustCompile(`^\| .* \| (.*) \|$`)
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	rows := 0
	for i, line := range lines(t, "docs/reference/edges.md") {
		found := row.FindStringSubmatch(line)
		if found == nil || found[1] == "test" {
			continue
		}
		rows++
		names := named.FindAllStringSubmatch(found[1], -1)
		assert.True(t, len(names) > 0 || found[1] == "the same", "line %d names no test: %s", i+1, line)
		for _, name := range names {
			assert.True(t, known[name[1]], "line %d names %s, which is no test", i+1, name[1])
		}
	}
	require.NotZero(t, rows, "no rows in docs/reference/edges.md")
}
