//go:build js

// Package browser drives a GPU through navigator.gpu, for Go compiled to WebAssembly in
// a worker or a page. It implements driver.Device; start with Open:
//
//	d, err := browser.Open(driver.Options{Adapter: -1})
//
// A device has the adapter's own limits, and shader-f16, subgroups and timestamps if
// the adapter has them.
//
// Every call that waits lets the event loop run meanwhile. Do not make such calls
// inside a js.FuncOf: start a goroutine there.
package browser

import (
	"errors"
	"fmt"
	"syscall/js"

	"tessera/gpu/internal/driver"
)

var _ driver.Device = (*device)(nil)

// Open opens the adapter that opt selects. -1 selects the adapter that the browser
// calls high-performance.
func Open(opt driver.Options) (driver.Device, error) {
	list, err := adapters(opt.Backend)
	if err != nil {
		return nil, err
	}
	index := max(opt.Adapter, 0)
	if opt.Adapter < -1 || index >= len(list) {
		return nil, fmt.Errorf("browser: adapter %d: %w; there are %d", opt.Adapter, driver.ErrNoAdapter, len(list))
	}
	return openDevice(list[index])
}

// Adapters lists the adapters that Open can select from. It ignores opt.Adapter.
func Adapters(opt driver.Options) ([]driver.Info, error) {
	list, err := adapters(opt.Backend)
	if err != nil {
		return nil, err
	}
	infos := make([]driver.Info, len(list))
	for i, a := range list {
		infos[i] = a.info
	}
	return infos, nil
}

// navigatorGPU returns the browser's GPU object.
func navigatorGPU() (js.Value, error) {
	if g := js.Global().Get("navigator"); g.Truthy() && g.Get("gpu").Truthy() {
		return g.Get("gpu"), nil
	}
	why := errors.New("this browser has no WebGPU (navigator.gpu is missing): a current Chrome, Edge, Safari or Firefox has it, perhaps behind a setting")
	if secure := js.Global().Get("isSecureContext"); !secure.IsUndefined() && !secure.Bool() {
		why = errors.New("WebGPU needs a page from https:// or localhost, and this one is from neither")
	}
	return js.Value{}, fmt.Errorf("browser: %w: %w", driver.ErrNoLibrary, why)
}
