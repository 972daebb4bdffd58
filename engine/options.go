package engine

import (
	"tessera/gpu"
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
	// Least takes what needs the least memory, as a budget would that is just enough.
	Least bool
	// MemoryFormat is how causal memory is kept: as activations are, or in 8 bits.
	MemoryFormat MemoryFormat
	// Offload is whether causal memory lives on the host, and, where the budget asks for
	// it, weights do. It changes speed and memory, not the result.
	Offload Offload
	// Host is how many bytes of the host's memory offload takes at most; 0 is three
	// quarters of what is free there, or 2 GiB where that is not known, which OffloadOn
	// goes beyond.
	Host int64
	// Across is how many bytes of a layer's causal memory come from the host at once, at
	// most, unless one row of it is more; 0 is 32 MiB. So it is for a band that is written
	// over what it is made of; there 0 is 16 MiB.
	Across int64
	// Chunk is the number of latent frames in a slice of the clip after its
	// first; 0 is 1. It changes speed and memory, not the result, unless that has
	// causal memory in 8 bits.
	Chunk int
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
// plan with them takes no more than a quarter of it. It is one where memory is short
// enough for anything else to be given up, in 8 bits and with Options.Least.
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

// Input is what a job is fed with.
type Input interface {
	// Fill sets the samples `in` of frames t to t+n-1, [n, H, W, C padded to 4]
	// as the network has them: H, W and C of patches where there are such. dst
	// is zeros.
	Fill(dst []float32, t, n int, in tiling.Rect) error
}

// Watch is who is told how a plan runs; each may be nil.
type Watch struct {
	// Compiling is called before the first tile, as shaders are compiled that
	// the device has not: how many, of all.
	Compiling func(done, all int)
	// Progress is called as the device has done a part, a submission of a tenth of
	// a second at most, and after each slice.
	Progress func(Progress)
	// Preview is called with every frame of every tile of a job in several,
	// before it is blended, where Output.Preview is set. An error ends the job.
	Preview func(Preview) error
	// Lost is called where a helper fails. Others make its tiles.
	Lost func(adapter gpu.Info, err error)
	// Keep has the run begin where another one ended, and keeps what the next one
	// needs. Helpers are left alone then.
	Keep Keeper
}

// Progress says how far a job is.
type Progress struct {
	Tile, Tiles int // tiles done, of all
	Slice       int // slices of the current tile done
	Slices      int
	Frame       int // frames of the current tile's input done: pixel frames to encode, latent frames to decode
	Frames      int
	Middle      bool    // exact tiles: this is the middle of the network, on the whole frame
	Done        float64 // share of the work, 0 to 1, by its FLOPs
}

// Preview is one frame of one tile by itself, at row Y and column X of the
// result.
type Preview struct {
	Tile, Frame         int
	Y, X, Height, Width int
	RGBA                []byte // [H, W, 4], valid until Watch.Preview returns
}

// Band is a part of a frame of the result: rows Y to Y+Rows-1.
type Band struct {
	Frame, Y, Rows int
	Last           bool      // of its frame
	Width          int       // of Floats: as the network makes them, Output.Width or more
	Floats         []float32 // [Rows, Width, C padded to 4]; valid until the next band
	RGBA           []byte    // [Rows, Output.Width, 4]; of RGBA8, the same
}
