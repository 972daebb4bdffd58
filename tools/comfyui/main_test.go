package main

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const source = "../../integrations/comfyui"

// ComfyUI and its Manager find their files at the root of the folder. The zip has them
// below one folder. Every run gives equal bytes.
func TestPack(t *testing.T) {
	p := pack{version: "v1.2.3-4-gabc", date: time.Unix(1e9, 0).UTC(), repository: "https://example.org/o/tessera-comfyui"}
	out, again := t.TempDir(), t.TempDir()
	require.NoError(t, p.write(source, out))
	require.NoError(t, p.write(source, again))

	read := func(path string) string {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(data)
	}
	at := func(file string) string { return read(filepath.Join(out, name, file)) }
	assert.Equal(t, "tessera-vae>=1.2.3\n", at("requirements.txt"))
	project := at("pyproject.toml")
	for _, line := range []string{`version = "1.2.3"`, `dependencies = ["tessera-vae>=1.2.3"]`, "[project.urls]\nRepository = \"https://example.org/o/tessera-comfyui\""} {
		assert.Contains(t, project, line)
	}
	for _, file := range []string{"__init__.py", "nodes.py", "README.md", "LICENSE"} {
		assert.Equal(t, read(filepath.Join(source, file)), at(file))
	}

	archive := name + "-1.2.3-4-gabc.zip"
	assert.Equal(t, read(filepath.Join(out, archive)), read(filepath.Join(again, archive)))
	z, err := zip.OpenReader(filepath.Join(out, archive))
	require.NoError(t, err)
	defer z.Close()
	found := map[string]bool{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		file, inside := strings.CutPrefix(f.Name, name+"/")
		require.True(t, inside, f.Name)
		assert.Equal(t, at(file), string(data), file)
		assert.NotContains(t, file, "__pycache__")
		found[file] = true
	}
	assert.True(t, found["__init__.py"] && found["example_workflows/wan_text_to_video.json"], found)
}

// ComfyUI's Manager and its registry get the same requirements.
func TestRequirements(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(source, "requirements.txt"))
	require.NoError(t, err)
	project, err := os.ReadFile(filepath.Join(source, "pyproject.toml"))
	require.NoError(t, err)
	assert.Contains(t, string(project), `dependencies = ["`+strings.TrimSpace(string(text))+`"]`)
}
