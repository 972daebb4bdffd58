package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDrawings holds the files of docs/guides/less to what the program makes.
func TestDrawings(t *testing.T) {
	folder, all := filepath.Join("../../docs/guides/less"), drawings()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	assert.Len(t, files, len(all))
	for name, want := range all {
		got, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		assert.True(t, string(got) == want, "%s is not what the program makes: go run ./tools/drawings", name)
		for d := xml.NewDecoder(strings.NewReader(want)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if !assert.NoError(t, err, name) {
				break
			}
		}
	}
}
