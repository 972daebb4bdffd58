//go:build !js

package gpu

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/diskcache"
	"tessera/tests/testenv"
)

// halves opens a device with f16 and a separate cache folder.
func halves(t *testing.T) *Device {
	t.Helper()
	testenv.Device(t)
	d, err := Open(Options{Adapter: -1, Backend: os.Getenv("TESSERA_BACKEND"), NoCache: true})
	if errors.Is(err, ErrNoLibrary) || errors.Is(err, ErrNoAdapter) {
		testenv.Missing(t, "no device: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	if !d.info.F16 {
		t.Skipf("%s has no f16", d.info.Name)
	}
	for _, name := range []string{"LocalAppData", "HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	d.info.UnprovenF16, d.info.Matrices = true, []Matrix{{M: 8, N: 8, K: 8, In: "f16", Out: "f32"}}
	return d
}

// Halves that compute right stay enabled, and are tested only once.
func TestRightHalves(t *testing.T) {
	d := halves(t)
	require.NoError(t, d.checkF16(f16Source, diskcache.Open("f16", maxF16Cache)))
	require.True(t, d.info.F16, d.info.NoF16)
	require.Len(t, d.info.Matrices, 1)
	made := d.Stats().Submissions
	require.Equal(t, 1, made)
	require.NoError(t, d.checkF16(f16Source, diskcache.Open("f16", maxF16Cache)))
	require.True(t, d.info.F16)
	require.Equal(t, made, d.Stats().Submissions, "tried a second time")
}

// Wrong halves are disabled with their matrices, and the second time without a test.
// They are wrong if a card multiplies badly or writes nothing, or if the compiler
// rejects the shader.
func TestWrongHalves(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"wrong product":  {"a * b + b", "a * b + b * 1.01h", "wrong: "},
		"wrong memory":   {"63u - i", "62u - min(i, 62u)", "wrong: "},
		"nothing":        {"y[2u * i", "// ", "wrong: 0 where"},
		"no compilation": {"enable f16;", "", "its compiler fails"},
	} {
		t.Run(name, func(t *testing.T) {
			d := halves(t)
			source := strings.ReplaceAll(f16Source, c.old, c.new)
			require.NotEqual(t, f16Source, source)
			for range 2 {
				require.NoError(t, d.checkF16(source, diskcache.Open("f16", maxF16Cache)))
				require.False(t, d.info.F16)
				require.Contains(t, d.info.NoF16, "hidden by Dawn")
				require.Contains(t, d.info.NoF16, c.want)
				require.Nil(t, d.info.Matrices)
			}
			require.LessOrEqual(t, d.Stats().Submissions, 1)
		})
	}
}

// Adapters with proven halves are not tested, nor are adapters under SkipVerification.
func TestHalvesWithoutDoubt(t *testing.T) {
	d := halves(t)
	t.Setenv("TESSERA_UNTRIED", "1")
	require.NoError(t, d.checkF16("no shader", diskcache.Open("f16", maxF16Cache)))
	require.True(t, d.info.F16)
	t.Setenv("TESSERA_UNTRIED", "")
	d.info.UnprovenF16 = false
	require.NoError(t, d.checkF16("no shader", diskcache.Open("f16", maxF16Cache)))
	require.True(t, d.info.F16)
}
