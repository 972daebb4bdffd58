//go:build !js

package dawn

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
	"tessera/tests/testenv"
)

// someLibrary returns a shared library that is not Dawn.
func someLibrary(t *testing.T) string {
	t.Helper()
	patterns := []string{"/lib/*/libm.so.6", "/usr/lib/*/libm.so.6", "/usr/lib64/libm.so.6", "/usr/lib/libSystem.B.dylib"}
	if runtime.GOOS == "windows" {
		patterns = []string{filepath.Join(os.Getenv("SystemRoot"), "System32", "version.dll")}
	}
	for _, p := range patterns {
		if found, _ := filepath.Glob(p); len(found) > 0 {
			return found[0]
		}
	}
	t.Skip("no shared library found to try")
	return ""
}

func TestUnusableLibrary(t *testing.T) {
	path := someLibrary(t)
	_, err := Open(driver.Options{Adapter: -1, Library: path})
	drivertest.Wants(t, err, driver.ErrNoLibrary, path, "wgpuHasInstanceFeature", "wgpuGetInstanceCapabilities", "the stable API", "the API of 2025", adviceNoLibrary())

	t.Setenv("TESSERA_DAWN", path)
	_, err = Open(driver.Options{Adapter: -1})
	drivertest.Wants(t, err, driver.ErrNoLibrary, path, "named by TESSERA_DAWN", "wgpuHasInstanceFeature")
	require.NotContains(t, err.Error(), "cache", "looked elsewhere although a library was named")
}

func TestNotALibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libwebgpu_dawn.so")
	require.NoError(t, os.WriteFile(path, []byte("not a library"), 0o644))
	_, err := Adapters(driver.Options{Library: path})
	drivertest.Wants(t, err, driver.ErrNoLibrary, path, "does not load")
}

// A path that is not a regular file is refused before it is opened: the system's loader
// would wait for a pipe.
func TestLibraryIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libwebgpu_dawn.so")
	require.NoError(t, os.Mkdir(path, 0o777))
	_, err := Adapters(driver.Options{Library: path})
	drivertest.Wants(t, err, driver.ErrNoLibrary, path, "not a file: mode is d")
}

// TestHalfALibrary: the identifying name is exported, but functions are missing.
func TestHalfALibrary(t *testing.T) {
	l := &library{}
	err := l.bind(func(name string) uintptr {
		if name == "wgpuHasInstanceFeature" || name == "wgpuCreateInstance" {
			return 1
		}
		return 0
	})
	drivertest.Wants(t, err, nil, "the stable API", "wgpuInstanceProcessEvents is missing")
}

func TestMissingLibrary(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is one beside the test; tests/windows takes it away")
	}
	dir := t.TempDir() // in a child process, because a loaded library is found by name
	if !inChild(t, "XDG_CACHE_HOME="+dir, "HOME="+dir, "LocalAppData="+dir, "TESSERA_DAWN=") {
		return
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	_, err = Open(driver.Options{Adapter: -1})
	if err == nil {
		t.Skip("the system has a Dawn")
	}
	exe, _ := os.Executable()
	drivertest.Wants(t, err, driver.ErrNoLibrary, filepath.Join(filepath.Dir(exe), names()[0]), "beside the program",
		filepath.Join(cache, "tessera", "dawn", cacheStable, names()[0]), filepath.Join(cache, "tessera", "dawn", cache2025, names()[2]),
		"the system", "tools/deps.sh", "TESSERA_DAWN")

	absent := filepath.Join(dir, "absent.so")
	_, err = Open(driver.Options{Adapter: -1, Library: absent})
	drivertest.Wants(t, err, driver.ErrNoLibrary, absent, "named by the option", "not there")
	require.Equal(t, 1, strings.Count(err.Error(), "\n  "), "libraries tried, of one named: %v", err)
}

// TestSearchOrder: a library beside the program comes before the cache.
func TestSearchOrder(t *testing.T) {
	list := places()
	var where []string
	for _, p := range list {
		if len(where) == 0 || where[len(where)-1] != p.where {
			where = append(where, p.where)
		}
	}
	want := "beside the program, the user's cache, the system"
	if runtime.GOOS == "windows" {
		want = "beside the program"
	}
	require.Equal(t, want, strings.Join(where, ", "))

	bundle = "a zip"
	t.Cleanup(func() { bundle = "" })
	require.Equal(t, "inside the program", places()[0].where)
}

func TestChooseAdapter(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		opt := driver.Options{Adapter: 7, Library: d.path}
		_, err := Open(opt)
		drivertest.Wants(t, err, driver.ErrNoAdapter, "adapter 7", "there are: 0 ", d.Info().Name)
		opt.Adapter = -2
		_, err = Open(opt)
		drivertest.Wants(t, err, driver.ErrNoAdapter, "adapter -2")
		opt.Backend, opt.Adapter = "opengl", -1
		_, err = Open(opt)
		drivertest.Wants(t, err, nil, `backend "opengl"`, "vulkan")
		if runtime.GOOS == "linux" {
			opt.Backend = "metal"
			_, err = Open(opt)
			drivertest.Wants(t, err, driver.ErrNoAdapter, "metal")
		}
		list := drivertest.Must(Adapters(driver.Options{Library: d.path}))(t)
		for i, a := range list {
			require.Equal(t, i, a.Index)
			require.NotEmpty(t, a.Name)
			require.NotEmpty(t, a.Backend)
			require.NotZero(t, a.Limits.MaxBuffer)
			e := open(t, driver.Options{Adapter: i, Library: d.path}).Info()
			require.Equal(t, a.Name, e.Name, "opened, listed")
			require.Equal(t, i, e.Index)
			require.Equal(t, a.Limits, e.Limits)
		}
	})
}

func TestChooseOrder(t *testing.T) {
	var list []*adapter
	for i, kind := range []string{"cpu", "integrated", "discrete", "unknown", "discrete"} {
		list = append(list, &adapter{info: driver.Info{Index: i, Type: kind}})
	}
	var got []int
	for _, a := range drivertest.Must(choose(list, -1))(t) {
		got = append(got, a.info.Index)
	}
	require.Equal(t, []int{2, 4, 1, 3, 0}, got)
}

// inChild runs the calling test again in a process with env, because loaders read their
// variables once. It returns true in that process.
func inChild(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv("TESSERA_CHILD") == t.Name() {
		return true
	}
	child(t, "^"+t.Name()+"$", append(env, "TESSERA_CHILD="+t.Name())...)
	return false
}

func child(t *testing.T, run string, env ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", run, "-test.v")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, "with %v:\n%s", env, out)
	assert.Contains(t, string(out), "--- PASS", "with %v", env)
}

func TestNoAdapter(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Vulkan drivers can only be hidden on Linux")
	}
	if !inChild(t, "VK_DRIVER_FILES=/nonexistent", "VK_ICD_FILENAMES=/nonexistent") {
		return
	}
	for _, l := range apiVersions() {
		_, err := Open(driver.Options{Adapter: -1, Library: l.path})
		if errors.Is(err, driver.ErrNoLibrary) {
			testenv.Missing(t, "%v", err)
		}
		drivertest.Wants(t, err, driver.ErrNoAdapter, "vulkan", "mesa-vulkan-drivers", "VK_DRIVER_FILES")
	}
}

// TestDrivers computes on both Vulkan drivers that need no GPU.
func TestDrivers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("drivers can only be chosen on Linux")
	}
	for name, pattern := range map[string]string{
		"llvmpipe":    "/usr/share/vulkan/icd.d/lvp_icd*.json",
		"SwiftShader": "/usr/lib/chromium/vk_swiftshader_icd.json",
	} {
		t.Run(name, func(t *testing.T) {
			found, _ := filepath.Glob(pattern)
			if len(found) == 0 {
				testenv.Missing(t, "no %s; run tools/deps.sh --test", pattern)
			}
			child(t, "^(TestDriverNamed|TestDriver)$/./^(Compute|ShaderError|LargeTransfers|DeviceLost|Times)$",
				"VK_DRIVER_FILES="+found[0], "VK_ICD_FILENAMES="+found[0], "TESSERA_WANT="+name)
		})
	}
}

// TestDriverNamed checks that the child of TestDrivers has the driver.
func TestDriverNamed(t *testing.T) {
	want := os.Getenv("TESSERA_WANT")
	if want == "" {
		t.Skip("runs within TestDrivers")
	}
	onBoth(t, func(t *testing.T, d *device) {
		require.Contains(t, d.Info().Name, want)
		require.Equal(t, "cpu", d.Info().Type)
		require.Equal(t, "vulkan", d.Info().Backend)
	})
}
