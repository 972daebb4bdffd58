package tests

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	code    = regexp.MustCompile("`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	scheme  = regexp.MustCompile(`^[a-z]+:`)
	slug    = regexp.MustCompile(`[^\p{L}\p{M}\p{N}\p{Pc}\- ]`)
	// mentioned is a page or a picture of docs in any other text.
	mentioned = regexp.MustCompile(`\bdocs/[a-z0-9/.-]+\.(?:md|svg|png)\b`)
)

// headings are the fragments that lead into a Markdown text, as the forge makes them.
func headings(text string) map[string]bool {
	found := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := strings.ReplaceAll(slug.ReplaceAllString(strings.ToLower(strings.TrimSpace(h[1])), ""), " ", "-")
		for i, again := 1, name; found[name]; i++ {
			name = again + "-" + strconv.Itoa(i)
		}
		found[name] = true
	}
	return found
}

// Links of Markdown files lead to files of the repository, and to headings of those.
func TestLinks(t *testing.T) {
	count := 0
	for file := range files(t, ".md") {
		data, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		text := code.ReplaceAllString(fence.ReplaceAllString(string(data), ""), "")
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			to := found[1] + found[2]
			if scheme.MatchString(to) {
				continue
			}
			count++
			name, fragment, _ := strings.Cut(to, "#")
			target := file
			if name != "" {
				target = path.Join(path.Dir(file), name)
			}
			_, err := os.Stat(filepath.Join(root, target))
			if !assert.NoError(t, err, "%s: (%s)", file, to) || fragment == "" {
				continue
			}
			data, err := os.ReadFile(filepath.Join(root, target))
			require.NoError(t, err)
			assert.True(t, headings(string(data))[fragment], "%s: (%s): %s has no such heading", file, to, target)
		}
	}
	assert.Greater(t, count, 100)
}

func TestHeadings(t *testing.T) {
	for text, want := range map[string]string{
		"# Ne kanıtlandı, ne kanıtlanmadı\n":   "ne-kanıtlandı-ne-kanıtlanmadı",
		"## Which model of `AutoencoderKL`?\n": "which-model-of-autoencoderkl",
		"# A\n# A\n":                           "a-1",
		"```sh\n# only a comment\n```\n## B\n": "b",
	} {
		got := headings(text)
		assert.True(t, got[want], "%q: %v", text, got)
		assert.False(t, got["only-a-comment"])
	}
}

// Each page or picture of docs that comments, help and messages name is there.
func TestMentionedPages(t *testing.T) {
	for file := range files(t, "") {
		for i, line := range lines(t, file) {
			for _, name := range mentioned.FindAllString(line, -1) {
				assert.FileExists(t, filepath.Join(root, name), "%s:%d", file, i+1)
			}
		}
	}
}

// The index leads to every page.
func TestIndexOfDocs(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs/README.md"))
	require.NoError(t, err)
	for file := range files(t, ".md") {
		page, ok := strings.CutPrefix(file, "docs/")
		if !ok || page == "README.md" {
			continue
		}
		assert.Contains(t, string(data), "("+page+")", "docs/README.md has no link to %s", file)
	}
}

// Every file and folder that CONTRIBUTING.md names is there, and a latent's way to the
// written file passes each file once.
func TestPathsOfContributing(t *testing.T) {
	there := map[string]bool{} // by path, and by name alone
	for file := range files(t, "") {
		there[file], there[path.Base(file)] = true, true
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			there[dir], there[path.Base(dir)] = true, true
		}
	}
	named := regexp.MustCompile(`^[a-z_][\w.-]*(?:/[\w.-]+)*/?$`)
	file := regexp.MustCompile(`/|\.(?:go|wgsl|js|py|json|md|sh|html|txt)$`)
	text := strings.Join(lines(t, "CONTRIBUTING.md"), "\n")
	count := 0
	for _, span := range code.FindAllString(fence.ReplaceAllString(text, ""), -1) {
		name := strings.Trim(span, "`")
		if !named.MatchString(name) || !file.MatchString(name) || strings.Contains(name, "NAME") || strings.HasPrefix(name, "build/") || strings.HasPrefix(name, "make") {
			continue
		}
		count++
		assert.True(t, there[strings.TrimSuffix(name, "/")], "CONTRIBUTING.md: no file or folder %s", name)
	}
	assert.Greater(t, count, 50)
	_, way, _ := strings.Cut(text, "\nA latent's way ")
	way, _, _ = strings.Cut(way, "\n")
	seen := map[string]bool{}
	for _, name := range code.FindAllString(way, -1) {
		assert.False(t, seen[name], "a latent's way names %s twice", name)
		seen[name] = true
	}
	assert.NotEmpty(t, seen)
}
