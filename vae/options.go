package vae

import (
	"errors"
	"fmt"

	"tessera/gpu"
	"tessera/tiling"
)

// ErrMemory: what was asked for needs more memory than the budget.
var ErrMemory = errors.New("does not fit the memory budget")

// ErrOverflow: a result has a NaN or an infinity in it.
var ErrOverflow = errors.New("the result is not finite")

// Tiling is how a frame that is cut into tiles becomes one again.
type Tiling string

const (
	// Feather blends overlapping tiles with a cosine. Tiles see no further than
	// their edges, so the result is not quite that of one tile.
	Feather Tiling = "feather"
	// Exact gives the result of one tile: each tile reads as far around it as
	// its layers reach, and the part that sees the whole frame, the attention,
	// gets it. Wan's models can, which norm pixel by pixel.
	Exact Tiling = "exact"
	// Diffusers blends as diffusers does for Wan, with its numbers: for
	// comparing with it.
	Diffusers Tiling = "diffusers"
)

// Options choose how a clip is run. The zero value runs it in one tile within
// the default budget.
type Options struct {
	Tile    tiling.Choice // default: one tile
	Overlap tiling.Size   // pixels
	// Shrink lets a smaller tile be chosen where Tile is too large for the
	// device or the budget, rather than fail.
	Shrink bool
	// Tiling is what becomes of tiles; "" is Exact where the model can and it
	// fits, else Feather.
	Tiling Tiling
	// Independent takes every frame as a picture by itself, with a latent frame
	// of its own.
	Independent bool
	// Memory is the budget in bytes for everything on the device; 0 is Budget.
	Memory int64
	// Chunk is the number of latent frames in a slice of the clip after its
	// first, which has one more; 0 is 1, as the reference. It changes speed and
	// memory, not the result.
	Chunk int
	// Unscaled takes and gives the model's own numbers; else a latent is as the
	// pipeline's diffusion model has it, (latent - Mean) * Scale, and Wan's
	// pixels are clamped to [-1, 1].
	Unscaled bool
	// Progress is called after each slice, if not nil.
	Progress func(Progress)
	// Loading is called while weights go to the device, which they do before
	// the first job in a direction, if not nil: bytes done, of all.
	Loading func(done, total int64)
	// Preview is called with every frame of every tile of a decode in several
	// tiles, before it is blended, if not nil. An error ends the job.
	Preview func(Preview) error
	// Spool makes what holds a blend that the budget has no room for on the
	// device; nil is a temporary file, in a browser memory.
	Spool func(size int64) (Spool, error)
}

// Progress says how far a job is.
type Progress struct {
	Tile, Tiles int // tiles done, of all
	Slice       int // slices of the current tile done
	Slices      int
	Frame       int // frames of the current tile's input done: pixel frames to encode, latent frames to decode
	Frames      int
	Middle      bool    // exact tiles: this is the middle of the network, on the whole frame
	Done        float64 // share of the work, 0 to 1
}

// Budget is the default memory budget: three quarters of a discrete adapter's
// memory, half of one it shares with the rest of the machine, 2 GiB where the
// adapter does not tell.
func Budget(a gpu.Info) int64 {
	switch {
	case a.Memory == 0:
		return 2 << 30
	case a.Type == "discrete":
		return a.Memory / 4 * 3
	}
	return a.Memory / 2
}

// Bytes prints a size: "1.50 GiB".
func Bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
