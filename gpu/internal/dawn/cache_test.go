//go:build !js

package dawn

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
)

// cacheIn makes dir the user's cache folder.
func cacheIn(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, dir)
	}
}

// caching returns options of a device whose pipelines can be stored: Wine's Direct3D 12
// returns none.
func caching(l lib) driver.Options {
	o := driver.Options{Adapter: -1, Library: l.path}
	if runtime.GOOS == "windows" {
		o.Backend = "vulkan"
	}
	return o
}

// uncached returns these options without a cache.
func uncached(l lib) driver.Options {
	o := caching(l)
	o.NoCache = true
	return o
}

// compiled opens a device, compiles two shaders and returns the cache's counts.
func compiled(t *testing.T, o driver.Options) (found, missed int) {
	t.Helper()
	d, err := Open(o)
	require.NoError(t, err)
	defer d.Close()
	for i := range 2 {
		p, err := drivertest.Compile(d, drivertest.Scale(float64(i+1)))
		require.NoError(t, err)
		p.Release()
	}
	return d.Kept()
}

// A second process compiles only what the first did not. Mesa's own cache is off.
func TestNothingCompiledTwice(t *testing.T) {
	dir := os.Getenv("TESSERA_KEPT_IN")
	if dir == "" {
		dir = t.TempDir()
		for _, l := range apiVersions() {
			open(t, uncached(l)) // or skip
			for _, want := range []string{"cold", "warm"} {
				child(t, "^TestNothingCompiledTwice$/^"+l.name+"$", "TESSERA_KEPT_IN="+filepath.Join(dir, l.name),
					"TESSERA_KEPT="+want, "MESA_SHADER_CACHE_DISABLE=true")
			}
		}
		return
	}
	for _, l := range apiVersions() {
		t.Run(l.name, func(t *testing.T) {
			cacheIn(t, dir)
			found, missed := compiled(t, caching(l))
			if os.Getenv("TESSERA_KEPT") == "cold" { // the two may share a part
				require.GreaterOrEqual(t, missed, 2, "asked for in an empty folder")
				return
			}
			require.Zero(t, missed, "compiled a second time")
			require.GreaterOrEqual(t, found, 2, "found")
		})
	}
}

// Damaged files are compiled again and replaced. Without a cache folder, and with
// --no-cache, everything is compiled.
func TestDamagedCache(t *testing.T) {
	for _, l := range apiVersions() {
		t.Run(l.name, func(t *testing.T) {
			o := caching(l)
			open(t, uncached(l))
			dir := t.TempDir()
			cacheIn(t, dir)
			compiled(t, o)
			damage := func() (n int) {
				assert.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
					if err != nil || e.IsDir() {
						return err
					}
					n++
					return os.WriteFile(path, []byte(fmt.Sprintf("%100d", n)), 0o600)
				}))
				return n
			}
			require.GreaterOrEqual(t, damage(), 2, "files kept")
			_, replaced := compiled(t, o)
			require.GreaterOrEqual(t, replaced, 2, "of damaged files")
			found, missed := compiled(t, o)
			require.Zero(t, missed, "after they were replaced")
			require.GreaterOrEqual(t, found, 2)

			o.NoCache = true
			found, missed = compiled(t, o)
			require.Zero(t, found+missed, "without a cache")

			file := filepath.Join(dir, "file")
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			cacheIn(t, file)
			o.NoCache = false
			_, missed = compiled(t, o)
			require.GreaterOrEqual(t, missed, 2, "in a folder that can't be")
		})
	}
}
