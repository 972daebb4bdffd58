package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Versions follow Python's rules, and pip's metadata matches the package's own file.
func TestWheel(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.0": "1.2.0", "v1.2.0-dirty": "1.2.0+dirty", "1.2-7-gabc12": "1.2.post7+gabc12", "v1.2-7-gabc12-dirty": "1.2.post7+gabc12.dirty",
		"89cbafd": "0.1.0+g89cbafd", "89cbafd-dirty": "0.1.0+g89cbafd.dirty", "-Nightly_2-": "0.1.0+gnightly.2",
	} {
		assert.Equal(t, want, pythonVersion(version, "0.1.0"), version)
	}
	text, err := os.ReadFile("../../" + python + "/pyproject.toml")
	require.NoError(t, err)
	got := string(metadata(string(text), "1.0", (&job{repository: "example.com/a/tessera", commit: "0123abc"}).addresses(), []string{"LICENSE"}, "words"))
	for _, line := range []string{
		"Name: tessera-vae", "Version: 1.0", "Author: The Tessera authors",
		"Project-URL: Homepage, https://example.com/a/tessera", "Project-URL: Commit, https://example.com/a/tessera/commit/0123abc",
		"License-File: LICENSE", "Requires-Python: >=3.10", "Requires-Dist: numpy>=1.24",
		"Requires-Dist: torch>=2.1; extra == 'diffusers'", "Requires-Dist: diffusers>=0.33; extra == 'diffusers'",
	} {
		assert.Contains(t, got, line+"\n")
	}
	said, err := os.ReadFile("../../" + python + "/" + versionFile)
	require.NoError(t, err)
	assert.Regexp(t, `^\d+\.\d+\.\d+$`, value(string(said), "__version__"))
	assert.Regexp(t, `\nSummary: .+\n`, got)
	assert.Equal(t, "a,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\nown,,\n", string(record(map[string]entry{"a": {}}, "own")))
}
