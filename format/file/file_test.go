package file

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	_, _, err := Open(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	f, size, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.EqualValues(t, 4, size)
	require.Equal(t, path, f.Name())
}
