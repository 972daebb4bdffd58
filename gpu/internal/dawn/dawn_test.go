//go:build !js

package dawn

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
)

// lib is a Dawn library to test with.
type lib struct{ name, path string }

// apiVersions returns a library of each API version: those that tools/deps.sh --test
// installs, on Windows those beside the test.
func apiVersions() []lib {
	cache, _ := os.UserCacheDir()
	dir := filepath.Join(cache, "tessera", "dawn")
	list := []lib{{"stable", filepath.Join(dir, cacheStable, names()[0])}, {"of2025", filepath.Join(dir, cache2025, names()[2])}}
	if runtime.GOOS == "windows" {
		exe, _ := os.Executable()
		dir := filepath.Dir(exe)
		list = []lib{{"stable", filepath.Join(dir, names()[1])}, {"of2025", filepath.Join(dir, names()[2])}}
	}
	if runtime.GOOS == "darwin" {
		list = list[:1]
	}
	return list
}

// onBoth runs f on a fresh device of each API version.
func onBoth(t *testing.T, f func(t *testing.T, d *device)) {
	for _, l := range apiVersions() {
		t.Run(l.name, func(t *testing.T) { f(t, open(t, driver.Options{Adapter: -1, Library: l.path})) })
	}
}

// open opens a device of the library and adapter that opt names.
func open(t testing.TB, opt driver.Options) *device {
	t.Helper()
	return drivertest.Open(t, Open, opt).(*device)
}

// TestDriver runs the tests that every driver must pass, on both API versions.
func TestDriver(t *testing.T) {
	for _, l := range apiVersions() {
		t.Run(l.name, func(t *testing.T) { testDriver(t, l.path) })
	}
}

func testDriver(t *testing.T, library string) {
	drivertest.Run(t, drivertest.Subject{
		Name:   "dawn",
		Open:   func(t testing.TB) driver.Device { return open(t, driver.Options{Adapter: -1, Library: library}) },
		Lose:   func(d driver.Device) { call(d.(*device).DeviceDestroy, d.(*device).handle) },
		Closed: errClosed,
		Broken: broken,
		Chunks: chunks,
	})
}

// broken checks an error that Dawn detects when commands are recorded. Submit returns
// it, or on Direct3D sometimes Wait.
func broken(t testing.TB, err error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		drivertest.Wants(t, err, nil, "valid")
		return
	}
	drivertest.Wants(t, err, nil, "dawn: submit broken: ")
}

// TestBindGroupUniform: Dawn rejects a buffer of another usage.
func TestBindGroupUniform(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		p := drivertest.Must(drivertest.Compile(d, drivertest.Scale(1)))(t)
		b := drivertest.NewBuffer(t, d, make([]byte, 1024))
		ok := driver.Binding{Buffer: b, Size: 512}
		_, err := d.NewBindGroup("group", p, b, []driver.Binding{ok, ok})
		drivertest.Wants(t, err, nil, "group", "Uniform")
		drivertest.Alive(t, d)
	})
}

// TestTooLargeBinding: a buffer may be larger than the largest binding.
func TestTooLargeBinding(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		most := d.Info().Limits.MaxBinding
		if most+256 > d.Info().Limits.MaxBuffer {
			t.Skip("as on Direct3D 12, no buffer is too large to be bound")
		}
		p := drivertest.Must(drivertest.Compile(d, drivertest.Scale(1)))(t)
		uniform := drivertest.Must(d.NewBuffer("uniform", 256, true))(t)
		big := driver.Binding{Buffer: drivertest.Must(d.NewBuffer("big", most+256, false))(t), Size: most + 4}
		_, err := d.NewBindGroup("group", p, uniform, []driver.Binding{big, big})
		drivertest.Wants(t, err, driver.ErrTooLarge, "group", "binding 1 of big", "device allows")
		drivertest.Alive(t, d)
	})
}

// TestExactTimestamps: times are not rounded as they are for pages.
func TestExactTimestamps(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		if !d.Info().Timestamps {
			t.Skip("the adapter has no timestamps")
		}
		w := drivertest.Must(d.NewStopwatch())(t)
		defer w.Release()
		x, y := drivertest.NewBuffer(t, d, make([]byte, 16)), drivertest.NewBuffer(t, d, make([]byte, 16))
		var commands []driver.Command
		for range 20 {
			commands = append(commands, driver.Command{Src: driver.Binding{Buffer: x, Size: 16}, Dst: driver.Binding{Buffer: y, Size: 16}})
		}
		drivertest.Must(d.Submit("copies", commands, w))(t)
		fine := 0
		for _, s := range drivertest.Must(d.Times(context.Background(), w))(t) {
			if s.End%(1<<16) != 0 {
				fine++
			}
		}
		require.Greater(t, fine, 10, "of 20 times are finer than 65 µs")
	})
}
