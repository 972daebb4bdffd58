package tests

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/vae"
)

// models maps each family's name to that of its published model: wan2.1 to "Wan 2.1".
func models(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, family := range vae.Families() {
		m, err := vae.Published(family, gpu.Info{Limits: gpu.DefaultLimits}, vae.Settings{})
		require.NoError(t, err)
		all[family] = m.Config.Model
	}
	return all
}

// A new family must be added to these places by hand: each lists the families, between
// quotes, or their models. A place is the paragraph with these words, in a file or in
// one below a folder.
var familyPlaces = []struct {
	where, words string
	quoted       bool // "wan2.1" rather than Wan 2.1
	short        bool // Wan for Wan 2.1 and Wan 2.2
}{
	{where: "vae/config.go", words: "`json:\"family\"`", quoted: true},
	{where: "web/protocol.js", words: "@property {string} family", quoted: true},
	{where: "integrations/python/src/tessera_vae/_client.py", words: "family: str", quoted: true},
	{where: "README.md", words: "| model | tiled decoding |"},
	{where: "docs/reference/accuracy.md", words: "| | bound (NMSE)"},
	{where: "docs/reference/accuracy.md", words: "| | native | browser"},
	{where: "cmd/native", words: "from the original checkpoints of"},
	{where: "cmd/native", words: "Models: SeedVR2, "},
	{where: "docs/reference/models.md", words: "| pipeline | file |"},
	{where: "docs/reference/latents.md", words: "| | from the VAE's own μ |"},
	{where: "docs/reference/tiles.md", words: "| | one tile | at least |"},
	{where: "web/places.js", words: "model: 'SeedVR2'"},
	{where: "format/known", words: "Checkpoints = []Checkpoint"},
	{where: "integrations/python/README.md", words: "VAEs of video and pictures ("},
	{where: "integrations/comfyui/README.md", words: "VAE decode and encode of"},
	{where: "integrations/comfyui/pyproject.toml", words: "description = ", short: true},
	{where: "integrations/comfyui/nodes.py", words: "Decodes latents of", short: true},
	{where: "integrations/comfyui/nodes.py", words: "Encodes pictures and video on", short: true},
}

// Every place that lists the families has all of them.
func TestFamiliesAreListed(t *testing.T) {
	all := models(t)
	for _, place := range familyPlaces {
		found := paragraph(t, place.where, place.words)
		for family, model := range all {
			name := model
			if place.quoted {
				name = `"` + family + `"`
			} else if place.short {
				name, _, _ = strings.Cut(model, " ")
			}
			assert.True(t, strings.Contains(found, name), "%s, where %q stands, lists no %s", place.where, place.words, family)
		}
	}
}

// paragraph returns the first paragraph with these words in a file, or in one below a
// folder.
func paragraph(t *testing.T, where, words string) string {
	t.Helper()
	for file := range files(t, "") {
		if file != where && !below(path.Dir(file), where) || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		for _, p := range strings.Split(string(text), "\n\n") {
			if strings.Contains(p, words) {
				return p
			}
		}
	}
	require.Fail(t, "no such place", "%s: no paragraph with %q", where, words)
	return ""
}

// Clients read what a model needs from its configuration, not from its family: code of
// a page or integration that tests for a family's name fails for the next one. The demo
// is the exception: its latent belongs to one family.
func TestClientsKnowNoFamily(t *testing.T) {
	var names []string
	for _, family := range vae.Families() {
		names = append(names, regexp.QuoteMeta(family))
	}
	compared := regexp.MustCompile(`([=!]=+|\bin) *[(\[]?["'](` + strings.Join(names, "|") + `)["']`)
	demos := 0
	for file := range files(t, "") {
		if ext := path.Ext(file); ext != ".py" && ext != ".js" || !belowAny(path.Dir(file), []string{"web", "integrations"}) {
			continue
		}
		for i, line := range lines(t, file) {
			if !compared.MatchString(line) {
				continue
			}
			if file == "web/workbench.js" && strings.Contains(line, "foreign = demo") {
				demos++
				continue
			}
			assert.Fail(t, "compares with a family", "%s:%d: %s", file, i+1, strings.TrimSpace(line))
		}
	}
	assert.Equal(t, 1, demos, "comparisons of the demo's")
}
