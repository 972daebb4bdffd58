package engine

import (
	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// Work is a plan's work as data: passes, transfers, and how tiles are combined.
type Work struct {
	Passes       []*Pass
	Intermediate *Intermediate // of two passes; nil: there is one
	Joiner       Joiner        // nil for one tile
	Results      *Results
	Preview      *Previews                       // nil without previews
	FromHelper   *gpu.Buffer                     // a frame that a helper made; nil where there are none
	Staging      []*gpu.Buffer                   // that results leave by, readbacks
	Piece        int64                           // bytes of causal memory that cross at once, at most
	Weights      []*gpu.Buffer                   // that commands read, on the device
	Streamed     []*gpu.Buffer                   // that live on the host
	NewSpool     func(size int64) (Spool, error) // see Internals.Spool
}

// Last is the pass whose tiles are put together.
func (w *Work) Last() *Pass { return w.Passes[len(w.Passes)-1] }

// Pass is one way through the clip: a module on every slice of every tile.
type Pass struct {
	Tiles    []tiling.Tile // In is what the module is fed with
	Slices   []Slice
	Once     bool           // it has the clip in one slice, where the other pass has several
	Recorded [][]*Recording // of each kind of slice of each tile

	recordings *recordings
	windows    []Windows     // of each tile; nil: none
	parts      []tiling.Rect // of each tile's output, the part to keep; nil: all
	cell       int           // samples of In along the side of a pixel of the module's input
	c          int           // channels of the module's input
}

// At is the recording of a slice of a tile.
func (w *Pass) At(tile int, s Slice) *Recording { return w.Recorded[tile][s.Kind] }

// Buffers are those of the pass alone, weights not among them.
func (w *Pass) Buffers() []*gpu.Buffer { return w.recordings.buffers() }

// Memory are the frames of causal memory, of one tile at a time, always in the same
// order. Those that OnHost knows have no memory on the device.
func (w *Pass) Memory() []*gpu.Buffer { return w.recordings.memory.order }

// OnHost returns where a frame of causal memory lives on the host, if it does.
func (w *Pass) OnHost(frame *gpu.Buffer) (at HostSlot, ok bool) {
	at, ok = w.recordings.memory.hosts[frame]
	return at, ok
}

// shape is the module's input for tile i.
func (w *Pass) shape(i int) tileShape {
	in := w.Tiles[i].In.Size()
	s := tileShape{h: in.H / w.cell, w: in.W / w.cell, c: w.c}
	if w.windows != nil {
		s.windows = w.windows[i]
	}
	return s
}

// part is the part to keep of tile i's output, which has the given size.
func (w *Pass) part(i int, size tiling.Size) tiling.Rect {
	if w.parts != nil {
		return w.parts[i]
	}
	return tiling.Rect{Y1: size.H, X1: size.W}
}

// output is the output of the longest slice of a tile.
func (w *Pass) output() (most wgsl.Tensor) {
	for _, r := range w.Recorded[0] {
		if r.Out.T > most.T {
			most = r.Out
		}
	}
	return most
}
