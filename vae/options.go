package vae

import (
	"tessera/engine"
	"tessera/engine/runner"
	"tessera/gpu"
	"tessera/tiling"
)

// How a job is run is the engine's affair; these are its words for it.
type (
	// Direction is one way through a model, with its scales.
	Direction = engine.Direction
	// Tiling is how a frame that is cut into tiles becomes one again.
	Tiling = engine.Tiling
	// MemoryFormat is how causal memory is kept.
	MemoryFormat = engine.MemoryFormat
	// Offload says whether causal memory lives on the host.
	Offload = engine.Offload
	// Internals are options that a job seldom sets.
	Internals = engine.Internals
	// Plan is how a job will be cut and what it will need.
	Plan = engine.Plan
	// Layer is what a layer does in a whole job.
	Layer = engine.Layer
	// Progress says how far a job is.
	Progress = runner.Progress
	// Preview is one frame of one tile by itself.
	Preview = runner.Preview
	// Spool holds bytes that the device has no room for.
	Spool = engine.Spool
	// Keeper keeps what slices of a clip leave for the next ones.
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

// AutoChunk is Options.Chunk by the budget.
const AutoChunk = engine.AutoChunk

// Memory formats.
const (
	MemoryF16 = engine.MemoryF16
	MemoryI8  = engine.MemoryI8
)

// Errors of planning and running.
var (
	// ErrMemory: what was asked for needs more memory than the budget.
	ErrMemory = engine.ErrMemory
	// ErrHost: what is to live on the host needs more memory than may be taken there. It
	// is an ErrMemory.
	ErrHost = engine.ErrHost
	// ErrTiling: the model has no such tiling.
	ErrTiling = engine.ErrTiling
	// ErrOverflow: a result has a NaN or an infinity in it.
	ErrOverflow = runner.ErrOverflow
)

// Options choose how a clip is run. The zero value runs it in one tile within
// the default budget.
type Options struct {
	// Tile is the size of tiles in pixels; zero: one tile.
	Tile tiling.Choice
	// Overlap of neighbouring tiles, in pixels. Exact tiles have a halo instead.
	Overlap tiling.Size
	// Shrink lets a smaller tile be chosen where Tile is too large for the
	// device or the budget, rather than fail.
	Shrink bool
	// Tiling is what becomes of tiles; "" is the first of Config.Tilings where it
	// fits, else Feather.
	Tiling Tiling
	// Independent takes every frame as a picture by itself, with a latent frame
	// of its own.
	Independent bool
	// Budget in bytes for everything on the device; 0 is engine.Budget of the
	// adapter.
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
	// first; 0 is 1, as the references, AutoChunk what the budget has plenty of room
	// for. It changes speed and memory, not the result, unless that has causal memory
	// in 8 bits.
	Chunk int
	// As is which of Kinds the model is, in place of Config.Model; "": that.
	As string
	// Unscaled takes and gives the model's own numbers; else a latent is as the
	// pipeline's diffusion model has it, (latent - Mean) * Scale, and pixels are
	// clamped to [-1, 1] where the model's pipeline does that.
	Unscaled bool
	// Internals are for tests, plans and browsers. The zero value is right.
	Internals Internals
}

// engine are the options as the engine has them.
func (o Options) engine() engine.Options {
	return engine.Options{
		Tile: o.Tile, Overlap: o.Overlap, Shrink: o.Shrink, Tiling: o.Tiling, Budget: o.Budget, Chunk: o.Chunk, MemoryFormat: o.MemoryFormat, Offload: o.Offload, Host: o.Host, Internals: o.Internals,
	}
}

// Watch is who is told how a job runs; each may be nil.
type Watch struct {
	// Loading is called while weights go to the device, which they do before
	// the first job in a direction: bytes done, of all.
	Loading func(done, total int64)
	// Compiling is called before the first tile, as shaders are compiled that
	// the device has not: how many, of all.
	Compiling func(done, all int)
	// Progress is called after each submission, a tenth of a second or less, and
	// after each slice.
	Progress func(Progress)
	// Preview is called with every frame of every tile of a decode in several
	// tiles, before it is blended, where DecodeOptions.Preview is set. An error
	// ends the job.
	Preview func(Preview) error
	// Lost is called where one of the devices that share a job fails: the others
	// make its tiles.
	Lost func(adapter gpu.Info, err error)
	// Less is called where the device has no memory for a plan: `now` takes its
	// place. Finished frames are kept.
	Less func(was, now *Plan, finished int)
	// Keep has a decode begin where another one ended, with the frame that follows
	// those that were given, and keeps what the next one needs. Devices that share
	// the job are left alone then.
	Keep Keeper
}
