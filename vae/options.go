package vae

import (
	"tessera/engine"
	"tessera/engine/runner"
	"tessera/gpu"
	"tessera/tiling"
)

// The engine runs jobs; these are its types.
type (
	// Direction is one direction of a model, with its scales.
	Direction = engine.Direction
	// Tiling is a way to combine tiles into a frame.
	Tiling = engine.Tiling
	// MemoryFormat is the storage of causal memory.
	MemoryFormat = engine.MemoryFormat
	// Offload decides whether causal memory lives on the host.
	Offload = engine.Offload
	// Internals are options that a job rarely needs.
	Internals = engine.Internals
	// Plan describes how a job is cut and what it needs.
	Plan = engine.Plan
	// Layer describes the work of a layer in a whole job.
	Layer = engine.Layer
	// Progress describes how much of a job is done.
	Progress = runner.Progress
	// Preview is one frame of one tile.
	Preview = runner.Preview
	// Spool holds bytes that do not fit on the device.
	Spool = engine.Spool
	// Keeper stores what slices of a clip leave for the next ones.
	Keeper = runner.Keeper
)

// Tilings.
const (
	Feather   = engine.Feather
	Exact     = engine.Exact
	Diffusers = engine.Diffusers
)

// Offloads.
const (
	OffloadAuto = engine.OffloadAuto
	OffloadOn   = engine.OffloadOn
	OffloadOff  = engine.OffloadOff
)

// AutoChunk lets the budget choose Options.Chunk.
const AutoChunk = engine.AutoChunk

// Memory formats.
const (
	MemoryF16 = engine.MemoryF16
	MemoryI8  = engine.MemoryI8
)

// Errors of planning and running.
var (
	// ErrMemory means that the job needs more memory than the budget.
	ErrMemory = engine.ErrMemory
	// ErrHost means that the job needs more host memory than it may use. It is an
	// ErrMemory.
	ErrHost = engine.ErrHost
	// ErrTiling means that the model does not support the tiling.
	ErrTiling = engine.ErrTiling
	// ErrOverflow means that a result contains NaN or infinity.
	ErrOverflow = runner.ErrOverflow
)

// Options choose how a clip is run. The zero value runs it in one tile within the default
// budget.
type Options struct {
	// Tile is the size of tiles in pixels; zero: one tile.
	Tile tiling.Choice
	// Overlap of neighbouring tiles, in pixels. Exact tiles have a halo instead.
	Overlap tiling.Size
	// Shrink allows a smaller tile if Tile is too large for the device or the
	// budget; otherwise that is an error.
	Shrink bool
	// Tiling is how tiles are combined; "" is the first of Config.Tilings if it
	// fits, else Feather.
	Tiling Tiling
	// Independent treats each frame as a separate picture with its own latent
	// frame.
	Independent bool
	// Budget in bytes for everything on the device; 0 is engine.Budget of the
	// adapter.
	Budget int64
	// MemoryFormat is the storage of causal memory: that of activations, or 8 bits.
	MemoryFormat MemoryFormat
	// Offload keeps causal memory, and if the budget requires it weights, on the host.
	// It changes speed and memory, not the result.
	Offload Offload
	// Host limits offload's use of host memory, in bytes; 0 is three quarters of what
	// is free, or 2 GiB if that is unknown, which OffloadOn may exceed.
	Host int64
	// Chunk is the number of latent frames in each slice after the first; 0 is 1, as
	// in the references, AutoChunk chooses by the budget. It changes speed and memory,
	// and the result only with causal memory in 8 bits.
	Chunk int
	// As is one of Kinds, which overrides Config.Model; "" does not.
	As string
	// Unscaled uses the model's own numbers for latents; otherwise a latent has the
	// pipeline's scale, (latent - Mean) * Scale, and pixels are clamped to [-1, 1]
	// if the model's pipeline does that.
	Unscaled bool
	// Internals are for tests, plans and browsers. Otherwise use the zero value.
	Internals Internals
}

// engine converts the options to the engine's.
func (o Options) engine() engine.Options {
	return engine.Options{
		Tile: o.Tile, Overlap: o.Overlap, Shrink: o.Shrink, Tiling: o.Tiling, Budget: o.Budget, Chunk: o.Chunk, MemoryFormat: o.MemoryFormat, Offload: o.Offload, Host: o.Host, Internals: o.Internals,
	}
}

// Watch holds callbacks that report how a job runs; each may be nil.
type Watch struct {
	// Loading is called while weights are uploaded, before the first job in a
	// direction, with the bytes done and in total.
	Loading func(done, total int64)
	// Compiling is called before the first tile while missing shaders are
	// compiled, with the number done and in total.
	Compiling func(done, all int)
	// Progress is called after each submission, a tenth of a second or less, and
	// after each slice.
	Progress func(Progress)
	// Preview is called with every frame of every tile before it is blended, if
	// a decode has several tiles and DecodeOptions.Preview is set. An error ends
	// the job.
	Preview func(Preview) error
	// Lost is called when one of the devices that share a job fails; the others
	// compute its tiles.
	Lost func(adapter gpu.Info, err error)
	// Less is called when the device has no memory for a plan; `now` replaces it.
	// Finished frames are kept.
	Less func(was, now *Plan, finished int)
	// Keep makes a decode continue where another one ended, after the frames that
	// were delivered, and stores what the next one needs. Other devices that share
	// the job are then not used.
	Keep Keeper
}
