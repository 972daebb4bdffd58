package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"tessera/app/report"
	"tessera/engine"
	"tessera/tiling"
	"tessera/vae"
)

// planChoice is one way to do a job; its JSON is the interface for machines.
type planChoice struct {
	Tile    string `json:"tile"` // "off", or HxW in pixels
	Tiles   int    `json:"tiles"`
	Offload bool   `json:"offload"` // causal memory or weights live on the host
	Exact   bool   `json:"exact"`   // the result is that of one tile
	Fits    bool   `json:"fits"`    // the budget; else it is the least that this takes
	Peak    int64  `json:"peak_device_bytes"`
	Host    int64  `json:"host_bytes"`
	Free    int64  `json:"host_free_bytes"` // that must be free there for a run to take those
	Moved   int64  `json:"moved_bytes"`     // between the two, in the whole job
	MACs    int64  `json:"macs"`            // attention's among them
}

// alternatives are the ways that there are: untiled with causal memory or weights on
// the host, where they may be, and without, and the largest tile within the budget, with
// and without. What comes to the same is one.
func (c *planCmd) alternatives(ctx context.Context, m *vae.Model, o vae.Options) ([]planChoice, error) {
	untiled, auto := o, o
	untiled.Tile, untiled.Overlap, untiled.Shrink = tiling.Choice{}, tiling.Size{}, false
	auto.Tile, auto.Shrink = tiling.Choice{Auto: true}, false
	away := untiled
	away.Offload, untiled.Offload = vae.OffloadOn, vae.OffloadOff
	alone := auto
	alone.Offload = vae.OffloadOff
	var all []planChoice
	for _, o := range []vae.Options{away, untiled, auto, alone} {
		p, err := c.lay(ctx, m, o)
		fits := !errors.Is(err, vae.ErrMemory)
		if !fits && !o.Tile.Auto {
			o.Budget, o.Least = 0, true
			p, err = c.lay(ctx, m, o)
		}
		switch {
		case errors.Is(err, tiling.ErrBudget) || errors.Is(err, vae.ErrMemory): // there is no such tile
			continue
		case err != nil:
			return nil, err
		case o.Offload == vae.OffloadOn && p.Host == 0:
			continue
		}
		s := report.NewStage(p, p.Frames, 1)
		choice := planChoice{s.Tile, s.Tiles, p.Host > 0, p.Tiles.Whole() || p.Tiling == vae.Exact, fits, p.Bytes(), p.Host, c.free(p.Host), p.Moved, p.Cost.MACs}
		if !slices.Contains(all, choice) {
			all = append(all, choice)
		}
	}
	return all, nil
}

// tellChoices prints them side by side.
func (c *planCmd) tellChoices(a *app, all []planChoice) error {
	if len(all) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(a.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "  tiles\toffload\tdevice\thost\tfree there\tmoved\tMACs\texact\tfits")
	for _, p := range all {
		tile := "one"
		if p.Tiles > 1 {
			tile = fmt.Sprintf("%d of %s", p.Tiles, p.Tile)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", tile, yes(p.Offload), engine.Bytes(p.Peak), engine.Bytes(p.Host), engine.Bytes(p.Free), engine.Bytes(p.Moved), scaled(p.MACs), yes(p.Exact), yes(p.Fits))
	}
	return t.Flush()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
