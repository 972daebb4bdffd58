package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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
func (a *app) check(path string, s vae.Settings) (vae.Config, error) {
	adapter := gpu.Info{Limits: gpu.DefaultLimits}
	m, err := vae.Inspect(path, adapter, vae.Settings{Precision: s.Precision})
	switch {
	case errors.Is(err, vae.ErrFlat) && s.Force:
		a.warn("%v", err)
		m, err = vae.Inspect(path, adapter, s)
	case errors.Is(err, vae.ErrFlat):
		err = fmt.Errorf("%w (--force takes it all the same)", err)
	}
	if err != nil {
		return vae.Config{}, err
	}
	return m.Config, m.Close()
}

// open opens the device that the flags choose, and a model on it.
func (a *app) open(f deviceFlags, path string, s vae.Settings) (*engine, error) {
	if err := a.ctx.Err(); err != nil {
		return nil, err
	}
	dev, err := openDevice(f.options())
	if err != nil {
		return nil, kindError{err, errNoDevice}
	}
	for reason := range strings.Lines(dev.Info().Passed) {
		a.note("not used: %s", strings.TrimSpace(reason))
	}
	m, err := vae.Open(dev, path, s)
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
func (a *app) settle(what string, c vae.Config, l *vae.Layout, o *vae.Options, err error) error {
	if errors.Is(err, vae.ErrMemory) || errors.Is(err, gpu.ErrTooLarge) {
		return fmt.Errorf("%w (--tile auto takes the largest tile that fits)", err)
	}
	if err != nil {
		return err
	}
	switch {
	case o.Tiling == "" && c.Family != vae.SeedVR2 && l.Tiling == vae.Feather && !l.Tiles.Whole():
		a.note("%s: exact tiles don't fit %s and the device's limits: taking %s", what, vae.Bytes(l.Budget), cutting(l))
	case l.Shrunk:
		a.note("%s: tiles of %v don't fit %s and the device's limits: taking %s", what, o.Tile, vae.Bytes(l.Budget), cutting(l))
	case o.Tile.Auto:
		a.note("%s: %s, the largest within %s", what, cutting(l), vae.Bytes(l.Budget))
	}
	o.Tile, o.Tiling, o.Shrink = tiling.Choice{Tile: l.Tile}, l.Tiling, false
	return nil
}

// cutting describes the tiles of a layout.
func cutting(l *vae.Layout) string {
	n := len(l.Tiles.Tiles)
	switch {
	case l.Tiles.Whole():
		return "one tile"
	case l.Tiling == vae.Exact:
		return fmt.Sprintf("%d exact tiles of %v, halo %s", n, l.Tile, side(l.Halo))
	case l.Tiling == vae.Diffusers:
		return fmt.Sprintf("%d tiles of %v, overlap %v, blended as in diffusers", n, l.Tile, l.Overlap)
	}
	return fmt.Sprintf("%d tiles of %v, overlap %v", n, l.Tile, l.Overlap)
}

// side prints a size as one number where its sides are equal.
func side(s tiling.Size) string {
	if s.H == s.W {
		return strconv.Itoa(s.H)
	}
	return s.String()
}

// planned tells what exact tiles need next to one tile, of other tiles nothing.
func planned(l *vae.Layout) string {
	switch {
	case l.Tiles.Whole() || l.Tiling != vae.Exact:
		return ""
	case l.Untiled == 0:
		return fmt.Sprintf(", %s planned, one tile is beyond the device's limits", vae.Bytes(l.Bytes()))
	}
	return fmt.Sprintf(", %s planned, %s in one tile", vae.Bytes(l.Bytes()), vae.Bytes(l.Untiled))
}

// precision names the storage of activations.
func (e *engine) precision() string {
	if p := e.model.Elem.String(); p != "packed" {
		return p
	}
	return "f16, packed in pairs"
}
