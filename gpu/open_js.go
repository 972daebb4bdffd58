//go:build js

package gpu

import (
	"tessera/gpu/internal/browser"
	"tessera/gpu/internal/driver"
)

func openDriver(opt Options) (driver.Device, error) { return browser.Open(opt) }

// check does nothing: browsers offer f16 only where they trust it.
func (*Device) check(Options) error { return nil }

// Adapters lists the adapters of this machine that Open can select from, in the order
// of Info.Index, at least one. It ignores opt.Adapter. Its errors are those of Open.
func Adapters(opt Options) ([]Info, error) { return browser.Adapters(opt) }
