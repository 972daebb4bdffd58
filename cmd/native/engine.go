package main

import (
	"errors"
	"fmt"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/vae"
)

// engine is an open device with a model on it.
type engine struct {
	dev   *gpu.Device
	model *vae.Model
}

// check reads the model without a device, so that a bad one is told first.
func check(path string, p vae.Precision) (vae.Config, error) {
	m, err := vae.Inspect(path, gpu.Info{Limits: gpu.DefaultLimits}, vae.Settings{Precision: p})
	if err != nil {
		return vae.Config{}, err
	}
	return m.Config, m.Close()
}

// open opens the device that the flags choose, and a model on it.
func (a *app) open(f deviceFlags, path string) (*engine, error) {
	if err := a.ctx.Err(); err != nil {
		return nil, err
	}
	dev, err := openDevice(f.options())
	if err != nil {
		return nil, kindError{err, errNoDevice}
	}
	m, err := vae.Open(dev, path, vae.Settings{Precision: vae.Precision(f.Precision)})
	if err != nil {
		dev.Close()
		return nil, err
	}
	return &engine{dev, m}, nil
}

// openDevice is gpu.Open without a library's own chatter.
func openDevice(o gpu.Options) (dev *gpu.Device, err error) {
	quietly(func() { dev, err = gpu.Open(o) })
	return dev, err
}

func (e *engine) close() {
	e.model.Close()
	e.dev.Close()
}

// settle says how a job is cut, and fixes that in its options. err is the
// planner's.
func (a *app) settle(what string, l *vae.Layout, o *vae.Options, err error) error {
	if errors.Is(err, vae.ErrMemory) || errors.Is(err, gpu.ErrTooLarge) {
		return fmt.Errorf("%w (--tile auto takes the largest tile that fits)", err)
	}
	if err != nil {
		return err
	}
	switch {
	case l.Shrunk:
		a.note("%s: tiles of %v don't fit %s and the device's limits: taking %s", what, o.Tile, vae.Bytes(l.Budget), cutting(l))
	case o.Tile.Auto:
		a.note("%s: %s, the largest within %s", what, cutting(l), vae.Bytes(l.Budget))
	}
	o.Tile, o.Shrink = tiling.Choice{Tile: l.Tile}, false
	return nil
}

// cutting describes the tiles of a layout.
func cutting(l *vae.Layout) string {
	if l.Tiles.Whole() {
		return "one tile"
	}
	return fmt.Sprintf("%d tiles of %v, overlap %v", len(l.Tiles.Tiles), l.Tile, l.Overlap)
}

// precision names the storage of activations.
func (e *engine) precision() string {
	if p := e.model.Elem.String(); p != "packed" {
		return p
	}
	return "f16, packed in pairs"
}
