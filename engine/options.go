package engine

import (
	"tessera/tiling"
)

// Tiling is how a frame that is cut into tiles becomes one again.
type Tiling string

const (
	// Feather blends overlapping tiles with a cosine. Tiles see no further than
	// their edges, so the result is not quite that of one tile.
	Feather Tiling = "feather"
	// Exact gives the result of one tile: each tile reads as far around it as
	// its layers reach, and the part that sees the whole frame gets it.
	// Networks that are Divisible can.
	Exact Tiling = "exact"
	// Diffusers blends as diffusers does for Wan, with its numbers: for
	// comparing with it.
	Diffusers Tiling = "diffusers"
)

// Options choose how a job is run. The zero value runs it in one tile within
// the default budget.
type Options struct {
	// Tile is the size of tiles in pixels; zero: one tile.
	Tile tiling.Choice
	// Overlap of neighbouring tiles, in pixels. Exact tiles have a halo instead.
	Overlap tiling.Size
	// Shrink lets a smaller tile be chosen where Tile is too large for the
	// device or the budget, rather than fail.
	Shrink bool
	// Tiling is what becomes of tiles; "" is the network's default where it
	// fits, else Feather.
	Tiling Tiling
	// Budget in bytes for everything on the device; 0 is Budget of the adapter.
	Budget int64
	// MemoryFormat is how causal memory is kept: as activations are, or in 8 bits.
	MemoryFormat MemoryFormat
	// Offload is whether causal memory lives on the host, and, where the budget asks for
	// it, weights do. It changes speed and memory, not the result.
	Offload Offload
	// Host is how many bytes of the host's memory offload takes at most; 0 is three
	// quarters of what is free there, or 2 GiB where that is not known, which OffloadOn
	// goes beyond.
	Host int64
	// Chunk is the number of latent frames in a slice of the clip after its
	// first; 0 is 1. It changes speed and memory, not the result, unless that has
	// causal memory in 8 bits.
	Chunk int
	// Internals are for tests, plans and browsers. The zero value is right.
	Internals Internals
}

// Internals are options that a job seldom sets: those of tests, of plans for the least
// memory, and of browsers, which have no files. The zero value is right for everyone
// else.
type Internals struct {
	// Least takes what needs the least memory, as a budget would that is just enough.
	Least bool
	// Across is how many bytes of a layer's causal memory come from the host at once, at
	// most, unless one row of it is more; 0 is 32 MiB. So it is for a band that is written
	// over what it is made of; there 0 is 16 MiB. For bands of activations that live on the
	// host 0 is 128 MiB, and other activations than those of more bytes do not live there.
	Across int64
	// Spool makes what holds bytes that the budget has no room for on the
	// device; nil is a temporary file, in a browser memory.
	Spool func(size int64) (Spool, error)
}

// MemoryFormat is how causal memory is kept.
type MemoryFormat uint8

const (
	MemoryF16 MemoryFormat = iota // as activations are: as f32 where those are
	// MemoryI8 keeps frames in 8 bits, with a scale for each channel in each row. The
	// result is another then, and depends on how a clip is cut.
	MemoryI8
)

// AutoChunk has the budget choose Options.Chunk: four latent frames, or two, where a
// plan with them takes no more than a quarter of it. It is one where the plan
// saves memory in any other way, in 8 bits and with Internals.Least.
const AutoChunk = -1

// Offload says whether causal memory lives on the host, not on the device, and weights
// may.
type Offload string

const (
	OffloadAuto Offload = "auto" // where the budget asks for it, of a device with memory of its own; "" too
	OffloadOn   Offload = "on"
	OffloadOff  Offload = "off"
)

// Form is what results are when they leave the device.
type Form int

// Forms.
const (
	Floats Form = iota // as the network makes them
	RGBA8              // 8 bits a channel, opaque, of pixels of three channels in [-1, 1]
	Draws              // of moments, a sample
)

// Output is the form and the part of the result that is wanted.
type Output struct {
	Form                  Form
	Frames, Height, Width int    // samples; 0 keeps all
	Seed                  uint64 // of Draws
	Preview               bool   // tiles by themselves too, in 8 bits, where there are several
}
