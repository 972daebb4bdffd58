//go:build !js

package gpu

import (
	"tessera/gpu/internal/dawn"
	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/kept"
)

func openDriver(opt Options) (driver.Device, error) { return dawn.Open(opt) }

// check tries what the adapter is not trusted with.
func (d *Device) check(opt Options) error {
	var folder *kept.Folder
	if !opt.NoCache {
		folder = kept.Open("f16", halvesMost)
	}
	return d.checkHalves(halvesSource, folder)
}

// Adapters describes the adapters of this machine that Open can choose from,
// in the order of Info.Index, at least one; opt.Adapter is not looked at. Its
// errors are Open's.
func Adapters(opt Options) ([]Info, error) { return dawn.Adapters(opt) }
