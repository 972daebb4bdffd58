package engine

import (
	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// Work is a plan's work as data: passes, transfers, and how tiles are combined.
type Work struct {
	Passes       []*Pass
	Intermediate *Intermediate // between two passes; nil: one pass
	Joiner       Joiner        // nil for one tile
	Results      *Results
	Preview      *Previews                       // nil without previews
	FromHelper   *gpu.Buffer                     // receives a frame that a helper made; nil without helpers
	Staging      []*gpu.Buffer                   // readback buffers for results
	Piece        int64                           // most bytes of causal memory or activations transferred at once
	Weights      []*gpu.Buffer                   // read by commands, on the device
	Streamed     []*gpu.Buffer                   // on the host
	NewSpool     func(size int64) (Spool, error) // see Internals.Spool
}

// Last returns the pass whose tiles are combined.
func (w *Work) Last() *Pass { return w.Passes[len(w.Passes)-1] }

// Pass is one run through the clip: a module on every slice of every tile.
type Pass struct {
	Tiles    []tiling.Tile // In is the module's input
	Slices   []Slice
	Once     bool           // it processes the clip in one slice, while the other pass has several
	Recorded [][]*Recording // by tile and kind of slice

	recordings *recordings
	windows    []Windows     // per tile; nil: none
	parts      []tiling.Rect // part of each tile's output to keep; nil: all
	cell       int           // samples of In along a pixel's side of the module's input
	c          int           // channels of the module's input
}

// At returns the recording of a slice of a tile.
func (w *Pass) At(tile int, s Slice) *Recording { return w.Recorded[tile][s.Kind] }

// Buffers returns the buffers of this pass alone, without weights.
func (w *Pass) Buffers() []*gpu.Buffer { return w.recordings.buffers() }

// Memory returns the buffers of causal memory, which one tile uses at a time, always in
// the same order. Those that OnHost finds have no memory on the device.
func (w *Pass) Memory() []*gpu.Buffer { return w.recordings.memory.order }

// OnHost returns where a frame of causal memory lives on the host, if it does.
func (w *Pass) OnHost(frame *gpu.Buffer) (at HostSlot, ok bool) {
	at, ok = w.recordings.memory.hosts[frame]
	return at, ok
}

// shape returns the module's input for tile i.
func (w *Pass) shape(i int) tileShape {
	in := w.Tiles[i].In.Size()
	s := tileShape{h: in.H / w.cell, w: in.W / w.cell, c: w.c}
	if w.windows != nil {
		s.windows = w.windows[i]
	}
	return s
}

// part returns the part to keep of tile i's output, which has the given size.
func (w *Pass) part(i int, size tiling.Size) tiling.Rect {
	if w.parts != nil {
		return w.parts[i]
	}
	return tiling.Rect{Y1: size.H, X1: size.W}
}

// output returns the output of a tile's longest slice.
func (w *Pass) output() (most wgsl.Tensor) {
	for _, r := range w.Recorded[0] {
		if r.Out.T > most.T {
			most = r.Out
		}
	}
	return most
}
