package tests

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const vocabularyFile = "docs/internals/vocabulary.md"

// said is a row of the vocabulary: what to write, what not, and what may contain that.
type said struct {
	write  string
	words  []string
	not    *regexp.Regexp // one of the words, whole
	except *strings.Replacer
}

// vocabulary reads the tables.
func vocabulary(t *testing.T) (rows []said) {
	t.Helper()
	quoted := regexp.MustCompile("`([^`]+)`")
	for _, line := range lines(t, vocabularyFile) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		var words, patterns []string
		for _, found := range quoted.FindAllStringSubmatch(cells[2], -1) {
			words = append(words, found[1])
			pattern := regexp.QuoteMeta(found[1])
			if !strings.HasSuffix(pattern, ".") {
				pattern += `\b`
			}
			patterns = append(patterns, pattern)
		}
		if len(words) == 0 {
			continue
		}
		var without []string
		for _, may := range quoted.FindAllStringSubmatch(cells[3], -1) {
			without = append(without, may[1], "")
		}
		rows = append(rows, said{strings.TrimSpace(cells[1]), words, regexp.MustCompile(`\b(?:` + strings.Join(patterns, "|") + `)`), strings.NewReplacer(without...)})
	}
	require.Greater(t, len(rows), 40)
	return rows
}

// check finds what the rows forbid in a text, line by line.
func check(t *testing.T, rows []said, where, text string) {
	t.Helper()
	for _, row := range rows {
		if !slices.ContainsFunc(row.words, func(word string) bool { return strings.Contains(text, word) }) {
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			if found := row.not.FindString(row.except.Replace(line)); found != "" {
				assert.Fail(t, "not in the vocabulary", "%s, line %d has %q, expected %s: %s", where, i+1, found, row.write, strings.TrimSpace(line))
			}
		}
	}
}

// Names and terms have one spelling, and some words are in no file: docs/internals/vocabulary.md.
func TestVocabulary(t *testing.T) {
	rows := vocabulary(t)
	for file := range files(t, "") {
		ext := path.Ext(file)
		switch {
		case file == vocabularyFile, strings.HasSuffix(file, ".tr.md"), file == "web/strings/tr.js", strings.HasPrefix(file, "web/vendor/"),
			!slices.Contains([]string{".md", ".go", ".wgsl", ".js", ".mjs", ".html", ".css", ".py", ".sh"}, ext):
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		text := string(data)
		if ext == ".md" {
			text = code.ReplaceAllString(fence.ReplaceAllStringFunc(text, func(block string) string {
				return strings.Repeat("\n", strings.Count(block, "\n"))
			}), "")
		}
		check(t, rows, file, text)
	}
}
