package tests

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// A new word of requests must be added to these places by hand, besides those that
// tests of packages session and api check. {word} is its name, {python} its name in
// Python, {text} each of its possible texts. A path that ends in a slash means every
// file of the folder.
var wordPlaces = []struct{ where, words string }{
	{"web/settings.js", " {word}: '"},
	{"web/settings.js", " {word}: /^"},
	{"web/index.html", `data-t="settings.{word}"`},
	{"web/index.html", `<select name="{word}">`},
	{"web/strings/", "'settings.{word}': "},
	{"integrations/python/src/tessera_vae/_client.py", `{python}: str = ""`},
	{"integrations/python/src/tessera_vae/_client.py", `"{word}": {python}`},
	{"integrations/comfyui/nodes.py", `"{python}",`},
	{"integrations/comfyui/nodes.py", ` {python}={python}`},
	{"docs/reference/cli.md", "| `--{word} "},
	{"docs/guides/python.md", "`{python}`"},
	{"docs/reference/http.md", "`{word}`"},
	{"docs/guides/comfyui.md", "`{python}`"},
}

// textPlaces are the places of the texts, for words with a list of them: for every
// word, or for the named one.
var textPlaces = []struct{ where, words, of string }{
	{"web/protocol.js", "'{text}'", ""},
	{"web/index.html", `<option value="{text}" data-t="settings.{word}.{text}">`, ""},
	{"web/strings/", "'settings.{word}.{text}': ", ""},
	{"integrations/comfyui/nodes.py", `"{text}"`, ""},
	{"docs/reference/models.md", "| `{text}` |", "as"},
	{"docs/reference/tiles.md", "| `{text}` |", "tiling"},
}

// Every place where a user can set a word of requests, or read about it, has it.
func TestWordsHavePlaces(t *testing.T) {
	for _, word := range job.Words() {
		for _, place := range wordPlaces {
			holds(t, place.where, strings.NewReplacer("{word}", word.Name, "{python}", inPython(word.Name)).Replace(place.words))
		}
		for _, text := range word.Of {
			for _, place := range textPlaces {
				if place.of != "" && place.of != word.Name {
					continue
				}
				holds(t, place.where, strings.NewReplacer("{word}", word.Name, "{text}", text).Replace(place.words))
			}
		}
	}
}

// inPython returns a word as a parameter's name: "as" is reserved in Python.
func inPython(word string) string {
	if word == "as" {
		return "as_"
	}
	return word
}

// holds checks that a file, or each file of a folder, contains these words.
func holds(t *testing.T, where, words string) {
	t.Helper()
	found := false
	for file := range files(t, "") {
		if file != where && path.Dir(file)+"/" != where {
			continue
		}
		found = true
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		assert.True(t, strings.Contains(string(text), words), "%s lacks %s", file, words)
	}
	assert.True(t, found, "no such file: %s", where)
}

// The server node in each of ComfyUI's example workflows has an input and a value for
// each word.
func TestWordsOfWorkflows(t *testing.T) {
	nodes := 0
	for file := range files(t, ".json") {
		if path.Dir(file) != "integrations/comfyui/example_workflows" {
			continue
		}
		var workflow struct {
			Nodes []struct {
				Type   string `json:"type"`
				Inputs []struct {
					Name string `json:"name"`
				} `json:"inputs"`
				Values []any `json:"widgets_values"`
			} `json:"nodes"`
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &workflow), file)
		for _, node := range workflow.Nodes {
			if node.Type != "TesseraServer" {
				continue
			}
			nodes++
			names := map[string]bool{}
			for _, input := range node.Inputs {
				names[input.Name] = true
			}
			for _, word := range job.Words() {
				assert.True(t, names[inPython(word.Name)], "%s: its TesseraServer lacks the input %s", file, word.Name)
			}
			assert.Len(t, node.Values, len(node.Inputs), file)
		}
	}
	assert.NotZero(t, nodes, "no TesseraServer in a workflow")
}

// Each language of the page has a file of strings, i18n.js loads it and the page offers
// it; the texts for browsers without scripts are in every language.
func TestLanguagesAreOffered(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "web/index.html"))
	require.NoError(t, err)
	languages := 0
	for file := range files(t, ".js") {
		language, ok := strings.CutPrefix(strings.TrimSuffix(file, ".js"), "web/strings/")
		if !ok {
			continue
		}
		languages++
		holds(t, "web/i18n.js", "import "+language+" from './strings/"+language+".js';")
		holds(t, "web/index.html", `<option value="`+language+`" lang="`+language+`">`)
		if language != "en" { // the language of the page
			assert.Equal(t, 2, strings.Count(string(page), `<span lang="`+language+`">`), "web/index.html: texts in %s without a script", language)
		}
	}
	assert.NotZero(t, languages)
}
