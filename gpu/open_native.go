//go:build !js

package gpu

import (
	"tessera/gpu/internal/dawn"
	"tessera/gpu/internal/diskcache"
	"tessera/gpu/internal/driver"
)

func openDriver(opt Options) (driver.Device, error) { return dawn.Open(opt) }

// check tests the features of the adapter that are not trusted.
func (d *Device) check(opt Options) error {
	var folder *diskcache.Cache
	if !opt.NoCache {
		folder = diskcache.Open("f16", maxF16Cache)
	}
	return d.checkF16(f16Source, folder)
}

// Adapters lists the adapters of this machine that Open can select from, in the order
// of Info.Index, at least one. It ignores opt.Adapter. Its errors are those of Open.
func Adapters(opt Options) ([]Info, error) { return dawn.Adapters(opt) }
