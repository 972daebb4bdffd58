package memory

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is free is known where the program runs, of a megabyte or more and of less than
// any machine has: another unit than bytes, or another field, would be neither.
func TestFree(t *testing.T) {
	bytes, known := Free()
	require.Equal(t, slices.Contains([]string{"darwin", "linux", "windows"}, runtime.GOOS), known)
	if known {
		require.Greater(t, bytes, int64(1<<20))
		require.Less(t, bytes, int64(1<<44))
	}
}
