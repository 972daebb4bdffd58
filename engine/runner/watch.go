package runner

import (
	"errors"

	"tessera/gpu"
	"tessera/tiling"
)

// ErrOverflow means that a result contains NaN or infinity. Run returns it.
var ErrOverflow = errors.New("the result is not finite")

// Input is the input of a job.
type Input interface {
	// Fill writes the samples `in` of frames t to t+n-1, [n, H, W, C padded to 4], as the
	// network has them: if it has patches, H, W and C are those of patches. dst is zeros.
	Fill(dst []float32, t, n int, in tiling.Rect) error
}

// Watch has the callbacks of a run; each may be nil.
type Watch struct {
	// Compiling is called before the first tile while missing shaders are compiled.
	Compiling func(done, all int)
	// Progress is called when a submission ends, every tenth of a second at least, and
	// after each slice.
	Progress func(Progress)
	// Preview is called with every frame of every tile before it is blended, if the job
	// has several tiles and Output.Preview is set. An error ends the job.
	Preview func(Preview) error
	// Lost is called when a helper fails. Other devices compute its tiles.
	Lost func(adapter gpu.Info, err error)
	// Keep lets the run continue where another one ended, and stores what the next one
	// needs. Helpers are not used then.
	Keep Keeper
}

// Progress is how much of a job is done. The page receives it as it is.
type Progress struct {
	Tile   int     `json:"tile"` // finished tiles
	Tiles  int     `json:"tiles"`
	Slice  int     `json:"slice"` // finished slices of the current tile
	Slices int     `json:"slices"`
	Frame  int     `json:"frame"` // finished frames of the current tile's input: pixel frames to encode, latent frames to decode; within a slice estimated from its FLOPs
	Frames int     `json:"frames"`
	Middle bool    `json:"middle"` // with exact tiles: the middle of the network runs, on the whole frame
	Done   float64 `json:"done"`   // share of the work, 0 to 1, by its FLOPs
}

// Preview is one frame of one tile, at row Y and column X of the result.
type Preview struct {
	Tile, Frame         int
	Y, X, Height, Width int
	RGBA                []byte // [H, W, 4], valid until Watch.Preview returns
}

// Band is a part of a frame of the result: rows Y to Y+Rows-1.
type Band struct {
	Frame, Y, Rows int
	Last           bool      // last band of its frame
	Width          int       // of Floats: the network's width, Output.Width or more
	Floats         []float32 // [Rows, Width, C padded to 4]; valid until the next band
	RGBA           []byte    // [Rows, Output.Width, 4], for RGBA8; valid until the next band
}
