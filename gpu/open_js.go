//go:build js

package gpu

import (
	"tessera/gpu/internal/browser"
	"tessera/gpu/internal/driver"
)

func openDriver(opt Options) (driver.Device, error) { return browser.Open(opt) }

// check has nothing to do: browsers offer no f16 that they have doubts about.
func (*Device) check(Options) error { return nil }

// Adapters describes the adapters of this machine that Open can choose from,
// in the order of Info.Index, at least one; opt.Adapter is not looked at. Its
// errors are Open's.
func Adapters(opt Options) ([]Info, error) { return browser.Adapters(opt) }
