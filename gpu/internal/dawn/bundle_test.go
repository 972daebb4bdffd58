//go:build !js && !windows

package dawn

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
	"tessera/tests/testenv"
)

// useBundle makes a bundle of files in a folder the program's.
func useBundle(t *testing.T, folder string, files map[string][]byte) {
	t.Helper()
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for name, data := range files {
		w, err := z.CreateHeader(&zip.FileHeader{Name: folder + "/" + name, Method: zip.Store})
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	bundle = packed.String()
	t.Cleanup(func() { bundle = "" })
	t.Setenv("TESSERA_DAWN", "")
}

// A bundle may have several libraries. The first that loads is used, in the order of
// names, and the others are reported.
func TestBundleFallsBack(t *testing.T) {
	if !inChild(t) {
		return
	}
	data, err := os.ReadFile(apiVersions()[0].path)
	if err != nil {
		testenv.Missing(t, "%v; run tools/deps.sh", err)
	}
	cacheIn(t, t.TempDir())
	const folder = "dawn-0123456789abcdef"
	useBundle(t, folder, map[string][]byte{"other.so": nil, names()[0]: []byte("not a library"), names()[1]: data})
	l, err := load("")
	require.NoError(t, err)
	require.Equal(t, names()[1], filepath.Base(l.path))
	require.Len(t, l.passed, 1)
	require.Contains(t, l.passed[0], names()[0]+": does not load")

	useBundle(t, folder, map[string][]byte{names()[2]: []byte("no library")})
	_, err = (place{own: true}).load()
	drivertest.Wants(t, err, nil, names()[2]+": does not load", "nor from a temporary folder")
}

// A program with a bundled library unpacks it once into the user's cache. It unpacks it
// again if the copy is damaged, and for one run if there is no cache folder. On Windows
// a loaded library cannot be removed; tests/windows covers it there. Copies of a library
// share symbols (STB_GNU_UNIQUE, such as those of its hash tables): with one loaded from
// here, submissions of the next fail with "Concurrent buffer operations".
func TestBundle(t *testing.T) {
	if !inChild(t) {
		return
	}
	data, err := os.ReadFile(apiVersions()[0].path)
	if err != nil {
		testenv.Missing(t, "%v; run tools/deps.sh", err)
	}
	const folder = "dawn-0123456789abcdef"
	useBundle(t, folder, map[string][]byte{names()[0]: data})
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	file := filepath.Join(cache, "tessera", "dawn", folder, names()[0])
	loaded := func() *library { return drivertest.Must(load(""))(t) }

	old := filepath.Join(cache, "tessera", "dawn", "dawn-fedcba9876543210")
	others := filepath.Join(cache, "tessera", "dawn", cacheStable)
	for _, dir := range []string{old, others} {
		require.NoError(t, os.MkdirAll(dir, 0o777))
		require.NoError(t, os.Chtimes(dir, time.Time{}, time.Now().Add(-unused-time.Hour)))
	}
	require.Equal(t, file, loaded().path)
	require.NoDirExists(t, old, "a version that was not used for long")
	require.DirExists(t, others, "what tools/deps.sh fetched")
	first := drivertest.Must(os.Stat(file))(t)
	loaded()
	require.True(t, os.SameFile(first, drivertest.Must(os.Stat(file))(t)), "unpacked again")

	require.NoError(t, os.Remove(file))
	require.NoError(t, os.WriteFile(file, []byte("damaged"), 0o700))
	require.Equal(t, file, loaded().path)
	require.Equal(t, data, drivertest.Must(os.ReadFile(file))(t))

	_, err = load(filepath.Join(dir, "other"))
	drivertest.Wants(t, err, driver.ErrNoLibrary, "named by the option", "not there", "inside")

	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("HOME", file) // no folder can be created there
	t.Setenv("XDG_CACHE_HOME", file)
	require.Equal(t, temporary, filepath.Dir(filepath.Dir(filepath.Dir(loaded().path))))
	require.Empty(t, drivertest.Must(os.ReadDir(temporary))(t), "left")
}
