//go:build !js

// Package dawn drives a GPU through the C API of Dawn, Google's implementation of
// WebGPU. It needs no cgo: it loads the library when the program runs. It implements
// driver.Device; start with Open:
//
//	d, err := dawn.Open(driver.Options{Adapter: -1})
//
// A device has the adapter's own limits, and shader-f16, subgroups, subgroup matrices
// and timestamps if the adapter has them. toggles.go lists what Dawn disables by
// default, and why this package enables it.
package dawn

import (
	"errors"
	"strings"

	"tessera/gpu/internal/driver"
)

var _ driver.Device = (*device)(nil)

// Open opens the adapter that opt selects. For -1 it takes the best adapter, or the
// next best if a driver fails to create a device.
func Open(opt driver.Options) (driver.Device, error) {
	in, list, err := discover(opt)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(list, opt.Adapter)
	var failed []error
	for _, a := range chosen {
		d, err := openDevice(a, opt.NoCache)
		if err == nil {
			releaseOthers(list, a)
			for _, err := range failed {
				d.info.Passed = strings.TrimPrefix(d.info.Passed+"\n"+oneLine(err.Error()), "\n")
			}
			return d, nil
		}
		failed = append(failed, err)
	}
	releaseOthers(list, nil)
	in.release()
	return nil, errors.Join(append(failed, err)...)
}

// Adapters lists the adapters that Open can select from. It ignores opt.Adapter.
func Adapters(opt driver.Options) ([]driver.Info, error) {
	in, list, err := discover(opt)
	if err != nil {
		return nil, err
	}
	defer in.release()
	defer releaseOthers(list, nil)
	infos := make([]driver.Info, len(list))
	for i, a := range list {
		infos[i] = a.info
	}
	return infos, nil
}

func discover(opt driver.Options) (*instance, []*adapter, error) {
	l, err := load(opt.Library)
	if err != nil {
		return nil, nil, err
	}
	in, err := newInstance(l)
	if err != nil {
		return nil, nil, err
	}
	list, err := in.adapters(opt.Backend)
	if err != nil {
		in.release()
		return nil, nil, err
	}
	return in, list, nil
}

func releaseOthers(list []*adapter, kept *adapter) {
	for _, a := range list {
		if a != kept {
			a.release()
		}
	}
}
