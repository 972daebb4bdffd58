package memory

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFree(t *testing.T) {
	bytes, known := Free()
	require.Equal(t, runtime.GOOS == "linux", known)
	require.Equal(t, known, bytes > 0)
}
