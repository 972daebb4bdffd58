package memory

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Free memory is known where the program runs: at least a megabyte and less than any
// machine has, so a wrong unit or field would show.
func TestFree(t *testing.T) {
	bytes, known := Free()
	require.Equal(t, slices.Contains([]string{"darwin", "linux", "windows"}, runtime.GOOS), known)
	if known {
		require.Greater(t, bytes, int64(1<<20))
		require.Less(t, bytes, int64(1<<44))
	}
}
