package wgsl

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every shader of this folder is in the table, under its own name.
func TestTexts(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.wgsl", "shared/*.wgsl"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skip("the shaders' files are not here")
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		got, ok := text(filepath.ToSlash(file))
		assert.True(t, ok, "%s is not in the table", file)
		assert.Equal(t, string(want), got, "%s: another file's text is there", file)
	}
	for _, entry := range texts {
		assert.Contains(t, files, filepath.FromSlash(entry.file), "of the table, not in the folder")
	}
}
