package format

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/pth"
	"tessera/format/safetensors"
)

// The first bytes decide a file's format, not its name.
func TestFormats(t *testing.T) {
	for path, want := range map[string]File{
		"pth/testdata/plain.pth":             &pth.File{},
		"../assets/tiny-seedvr2.safetensors": &safetensors.File{},
	} {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		f, err := Open(path)
		require.NoError(t, err)
		require.IsType(t, want, f)
		require.Equal(t, path, f.Name())
		require.NoError(t, f.Close())
		f, err = Read(bytes.NewReader(b), int64(len(b)), "name")
		require.NoError(t, err)
		require.IsType(t, want, f)
		require.EqualValues(t, len(b), f.Size())
	}
	f, err := Open("format.go")
	require.ErrorContains(t, err, "not a safetensors file")
	require.Nil(t, f)
	f, err = Open("pth/testdata/legacy.pth")
	require.ErrorContains(t, err, "it is in torch's format before version 1.6, expected a zip: load it and save it again")
	require.Nil(t, f)
}
