//go:build !js

package gpu

import (
	"tessera/gpu/internal/dawn"
	"tessera/gpu/internal/diskcache"
	"tessera/gpu/internal/driver"
)

func openDriver(opt Options) (driver.Device, error) { return dawn.Open(opt) }

// check tries what the adapter is not trusted with.
func (d *Device) check(opt Options) error {
	var folder *diskcache.Cache
	if !opt.NoCache {
		folder = diskcache.Open("f16", maxF16Cache)
	}
	return d.checkF16(f16Source, folder)
}

// Adapters describes the adapters of this machine that Open can choose from,
// in the order of Info.Index, at least one; opt.Adapter is not looked at. Its
// errors are Open's.
func Adapters(opt Options) ([]Info, error) { return dawn.Adapters(opt) }
