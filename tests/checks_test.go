//go:build unix

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// tools/web.sh refuses a folder that is probably a typo or that holds other files,
// because it empties the folder first.
func TestPageFolder(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "precious.txt"), nil, 0o666))
	for name, says := range map[string]string{
		"chekc": "web: chekc: expected check, quick, or a folder with a slash in it, such as ./chekc",
		folder:  "holds other files than a page",
	} {
		out, err := exec.Command("sh", "../tools/web.sh", name).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), says)
	}
	require.FileExists(t, filepath.Join(folder, "precious.txt"))
}
