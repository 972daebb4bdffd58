package engine

import (
	"tessera/tiling"
)

// Tiling is a way to combine tiles.
type Tiling string

const (
	// Feather blends overlapping tiles with a cosine. Tiles do not see beyond their
	// edges, so the result differs slightly from one tile's.
	Feather Tiling = "feather"
	// Exact gives the result of one tile: each tile reads as far around it as its layers
	// reach, and the part of the network that sees the whole frame gets it. The network
	// must be Divisible.
	Exact Tiling = "exact"
	// Diffusers blends as diffusers does for Wan, with its numbers, for comparison.
	Diffusers Tiling = "diffusers"
)

// Options choose how a job is run. The zero value runs it in one tile within
// the default budget.
type Options struct {
	// Tile is the size of tiles in pixels; zero: one tile.
	Tile tiling.Choice
	// Overlap of neighbouring tiles, in pixels. Exact tiles have a halo instead.
	Overlap tiling.Size
	// Shrink allows a smaller tile if Tile is too large for the device or the
	// budget; otherwise that is an error.
	Shrink bool
	// Tiling is how tiles are combined; "" is the network's default if it fits,
	// else Feather.
	Tiling Tiling
	// Budget in bytes for everything on the device; 0 is Budget of the adapter.
	Budget int64
	// MemoryFormat is the storage of causal memory: that of activations, or 8 bits.
	MemoryFormat MemoryFormat
	// Offload keeps causal memory, and if the budget requires it weights, on the host.
	// It changes speed and memory, not the result.
	Offload Offload
	// Host limits offload's use of host memory, in bytes; 0 is three quarters of what
	// is free, or 2 GiB if that is unknown, which OffloadOn may exceed.
	Host int64
	// Chunk is the number of latent frames in each slice after the first; 0 is 1. It
	// changes speed and memory, and the result only with causal memory in 8 bits.
	Chunk int
	// Internals are for tests, plans and browsers. Otherwise use the zero value.
	Internals Internals
}

// Internals are options for tests, for plans of the least memory, and for browsers, which
// have no files. Otherwise use the zero value.
type Internals struct {
	// Least plans for the least memory, as with a budget that is just enough.
	Least bool
	// Across limits the bytes of a layer's causal memory that come from the host at once,
	// unless one row is larger; 0 is 32 MiB. It also limits a band that overwrites its own
	// input, where 0 is 16 MiB, and bands of activations on the host, where 0 is 128 MiB;
	// smaller activations stay on the device.
	Across int64
	// Spool makes storage for bytes that exceed the device's budget; nil is a temporary
	// file, in a browser memory.
	Spool func(size int64) (Spool, error)
}

// MemoryFormat is the storage of causal memory.
type MemoryFormat uint8

const (
	MemoryF16 MemoryFormat = iota // as activations are stored, so f32 for f32
	// MemoryI8 keeps frames in 8 bits, with a scale for each channel in each row. It
	// changes the result, which then depends on how a clip is cut.
	MemoryI8
)

// AutoChunk lets the budget choose Options.Chunk: four latent frames, or two, if the
// plan then needs at most a quarter of it. It is one if the plan saves memory in any
// other way, in 8 bits and with Internals.Least.
const AutoChunk = -1

// Offload decides whether causal memory, and possibly weights, live on the host instead
// of the device.
type Offload string

const (
	OffloadAuto Offload = "auto" // if the budget requires it, on a device with separate memory; "" too
	OffloadOn   Offload = "on"
	OffloadOff  Offload = "off"
)

// Form is the format of downloaded results.
type Form int

// Forms.
const (
	Floats Form = iota // as the network makes them
	RGBA8              // 8 bits per channel, opaque, for pixels of three channels in [-1, 1]
	Draws              // a sample of moments
)

// Output is the form and the part of the result to read back.
type Output struct {
	Form                  Form
	Frames, Height, Width int    // in samples; 0 keeps all
	Seed                  uint64 // for Draws
	Preview               bool   // also download tiles, in 8 bits, if there are several
}
