package tests

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/known"
)

var update = flag.Bool("update", false, "write web/places.js from the table of published checkpoints")

// places returns web/places.js for the table of published checkpoints.
func places() string {
	var b strings.Builder
	b.WriteString(`// Where checkpoints are published: the table of format/known, which ` + "`go test ./tests -run TestPlaces -update`" + ` writes.

/**
 * Licence: undefined where it is only on the page of the repository.
 * @type {{model: string, file: string, from: string, path: string, size: number, licence?: string}[]}
 */
export const places = [
`)
	for _, c := range known.Checkpoints {
		size := fmt.Sprint(c.Size)
		if c.About {
			size = fmt.Sprintf("%de6", c.Size/1e6)
		}
		licence := ""
		if c.Licence != "" {
			licence = fmt.Sprintf(", licence: '%s'", c.Licence)
		}
		fmt.Fprintf(&b, "  { model: '%s', file: '%s', from: '%s', path: '%s', size: %s%s },\n", c.Model, filepath.Base(c.Path), c.Repo, c.Path, size, licence)
	}
	return b.String() + "];\n"
}

// The page offers the checkpoints that `tessera pull` downloads.
func TestPlacesAreTheTable(t *testing.T) {
	path := filepath.Join(root, "web/places.js")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(places()), 0o666))
	}
	script, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, places(), string(script))
}

// Checkpoints have unique names and local file names, and docs/reference/models.md has a row for
// each, with its size and licence.
func TestPublishedCheckpoints(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs/reference/models.md"))
	require.NoError(t, err)
	var names, bases []string
	for _, c := range known.Checkpoints {
		names, bases = append(names, strings.ToLower(c.Name)), append(bases, strings.ToLower(c.Base()))
		assert.Regexp(t, `^[0-9a-f]*$`, c.SHA256, c.Name)
		assert.Contains(t, []int{0, 16, 64}, len(c.SHA256), c.Name)
		told := fmt.Sprint(c.Size)
		if c.About {
			told = told[:len(told)-6]
		}
		for i := len(told) - 3; i > 0; i -= 3 {
			told = told[:i] + "," + told[i:]
		}
		if c.About {
			told = "about " + told + " million"
		}
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(c.Name) + "` \\| `" + regexp.QuoteMeta(c.Path[strings.LastIndex(c.Path, "/")+1:]) + "`.*\\| .*" + regexp.QuoteMeta(c.Repo) + ".*\\| " + told + " \\|(.*)\\|$").FindSubmatch(doc)
		if assert.NotNil(t, row, "docs/reference/models.md: %s", c.Name) {
			assert.Equal(t, c.Licence != "", strings.Contains(string(row[1]), "Apache-2.0"), "docs/reference/models.md: the licence of %s", c.Name)
		}
	}
	for _, all := range [][]string{names, bases} {
		slices.Sort(all)
		assert.Len(t, slices.Compact(slices.Clone(all)), len(all), "a name twice: %v", all)
	}
}
