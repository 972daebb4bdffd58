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

// PowerShell's > writes UTF-16. The length of a safetensors header may have the same
// bytes.
func TestText(t *testing.T) {
	for _, text := range []string{"", "{}", "\xff", "\xff\xfe", "\xff\xfe{\x00\x00\x00\x00\x00", "\xfe\xff\x00\x00\x00\x00"} {
		got, err := Text([]byte(text))
		require.NoError(t, err)
		require.Equal(t, text, string(got))
	}
	got, err := Text([]byte("\ufeff{}"))
	require.NoError(t, err)
	require.Equal(t, "{}", string(got))
	for _, text := range []string{"\xff\xfe{\x00}\x00", "\xfe\xff\x00{\x00}", "\xff\xfe{\x00\r\x00\n\x00"} {
		_, err := Text([]byte(text))
		require.EqualError(t, err, "is UTF-16; save it as UTF-8")
	}
}
