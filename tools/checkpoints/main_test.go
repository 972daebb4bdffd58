package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/tests/synthetic"
)

// The folder need not exist.
func TestFolderIsMade(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "models")
	for range 2 {
		require.NoError(t, create(folder, map[string]synthetic.WanConfig{"wan": {Dim: 8}}))
		require.FileExists(t, filepath.Join(folder, "wan.safetensors"))
	}
}

func TestUnknownName(t *testing.T) {
	require.ErrorContains(t, write(t.TempDir(), []string{"wan"}), "expected one of [wan22_published]")
}
