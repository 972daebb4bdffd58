//go:build !js

// Package dawn drives a GPU through Dawn, Google's implementation of WebGPU, by
// its C API and without cgo: the library is loaded when the program runs. It
// implements driver.Device and nothing else; start at Open.
//
// A device is opened with the adapter's own limits and with shader-f16,
// subgroups, subgroup matrices and timestamps where the adapter has them.
// toggles.go has what Dawn keeps back unless it is asked, and why it is.
package dawn

import (
	"errors"
	"strings"

	"tessera/gpu/internal/driver"
)

var _ driver.Device = (*device)(nil)

// Open opens the adapter that opt chooses. For the best one, -1, it takes the
// next best when a driver fails to make a device.
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

// Adapters describes the adapters that Open can choose from. opt.Adapter is
// not looked at.
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
