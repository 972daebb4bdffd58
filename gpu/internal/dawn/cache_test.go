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

// manyBindings returns a shader of eight buffers.
func manyBindings() driver.PipelineDescriptor {
	p := driver.PipelineDescriptor{Label: "many", UniformSize: 16}
	declared, sum := "@group(0) @binding(0) var<uniform> params: vec4<u32>;\n", "f32(params.x)"
	for i := 1; i <= 8; i++ {
		declared += fmt.Sprintf("@group(0) @binding(%d) var<storage, read_write> x%d: array<f32>;\n", i, i)
		sum += fmt.Sprintf(" + x%d[id.x]", i)
		p.Storage = append(p.Storage, driver.ReadWrite)
	}
	p.Source = declared + "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { x1[id.x] = " + sum + "; }"
	return p
}

// Direct3D 12's keys contain a set of bindings, which the Dawn of 2025 writes in an
// order that differs from process to process, so it compiles again at each start. The
// current one sorts the set. Wine stores no pipelines, so only shaders are found.
func TestDirect3DFindsShaders(t *testing.T) {
	if runtime.GOOS != "windows" {
		t.Skip("Direct3D 12 is on Windows only")
	}
	dir := os.Getenv("TESSERA_KEPT_IN")
	if dir == "" {
		dir = t.TempDir()
		for _, want := range []string{"cold", "warm"} {
			child(t, "^TestDirect3DFindsShaders$", "TESSERA_KEPT_IN="+dir, "TESSERA_KEPT="+want)
		}
		return
	}
	cacheIn(t, dir)
	d, err := Open(driver.Options{Adapter: -1, Library: apiVersions()[0].path, Backend: "d3d12"})
	require.NoError(t, err)
	defer d.Close()
	p, err := drivertest.Compile(d, manyBindings())
	require.NoError(t, err)
	p.Release()
	const shaders = 2 // as HLSL, and compiled
	found, missed := d.Kept()
	if os.Getenv("TESSERA_KEPT") == "cold" {
		require.GreaterOrEqual(t, missed, shaders, "asked for in an empty folder")
		return
	}
	require.GreaterOrEqual(t, found, shaders, "found")
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
