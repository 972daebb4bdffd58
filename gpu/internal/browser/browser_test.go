//go:build js

package browser

import (
	"testing"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
)

// open opens a device for a test.
func open(t testing.TB) *device {
	t.Helper()
	return drivertest.Open(t, Open, driver.Options{Adapter: -1}).(*device)
}

// TestDriver runs the tests that every driver must pass.
func TestDriver(t *testing.T) {
	drivertest.Run(t, drivertest.Subject{
		Name:   "browser",
		Open:   func(t testing.TB) driver.Device { return open(t) },
		Lose:   func(d driver.Device) { d.(*device).handle.Call("destroy") },
		Closed: errClosed,
		Broken: func(t testing.TB, err error) { drivertest.Wants(t, err, nil, "browser: submit broken: ") },
		Chunks: chunks,
	})
}
