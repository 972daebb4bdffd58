// Package dawn drives a GPU through Dawn, Google's implementation of WebGPU, by
// its C API and without cgo: the library is loaded when the program runs. It
// implements driver.Device and nothing else; start at Open.
//
// A device is opened with the adapter's own limits and with shader-f16,
// subgroups and timestamps where the adapter has them. No toggle that Dawn
// calls unsafe is set.
package dawn

import (
	"tessera/gpu/internal/driver"
)

var _ driver.Device = (*device)(nil)

// Open opens the adapter that opt chooses.
func Open(opt driver.Options) (driver.Device, error) {
	in, list, err := discover(opt)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(list, opt.Adapter)
	if err != nil {
		releaseAll(in, list)
		return nil, err
	}
	d, err := openDevice(chosen)
	if err != nil {
		releaseAll(in, list)
		return nil, err
	}
	for _, a := range list {
		if a != chosen {
			a.release()
		}
	}
	return d, nil
}

// Adapters describes the adapters that Open can choose from. opt.Adapter is
// not looked at.
func Adapters(opt driver.Options) ([]driver.Info, error) {
	in, list, err := discover(opt)
	if err != nil {
		return nil, err
	}
	defer releaseAll(in, list)
	infos := make([]driver.Info, len(list))
	for i, a := range list {
		infos[i] = a.info
	}
	return infos, nil
}

// Best is the index of the adapter that Open takes for Options.Adapter -1.
func Best(list []driver.Info) int { return best(list) }

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

func releaseAll(in *instance, list []*adapter) {
	for _, a := range list {
		a.release()
	}
	in.release()
}
