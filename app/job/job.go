// Package job resolves what a job means: of the model, the file and what the
// user chose, how to run it, what comes out, and what to tell about it. The
// command line, the page and the server ask here, so that a default or a rule
// stands once. It prints nothing.
//
// Start at Choices, Decode and Encode. Decoding.Run and Encoding.Run have package vae do
// the work for the page and the server; the command line runs the plans itself. KindOf
// tells how an error ends a job.
package job

import (
	"tessera/latent"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

// Choices are what the user said of a job. What is zero was not said.
type Choices struct {
	Tile    *tiling.Choice // default 512 pixels, diffusers' 256
	Overlap *tiling.Size   // default 64 pixels, at most half of a tile that was asked for
	Tiling  vae.Tiling     // default exact where the model can and it fits, else feather
	// Shrink takes a smaller tile where Tile doesn't fit; by default where none
	// was asked for, but for tiles that are to be as in diffusers.
	Shrink *bool
	Budget int64 // bytes on the device; default engine.Budget
	Host   int64 // bytes that offload takes of the machine's memory; default three quarters of what is free
	Chunk  int   // latent frames in a slice of time; default what the budget has plenty of room for
	// MemoryFormat is how causal memory is kept; default as activations are.
	MemoryFormat vae.MemoryFormat
	// Offload is whether causal memory lives on the host; default where the budget asks for it.
	Offload vae.Offload

	// Independent takes every frame as a picture by itself; default as the
	// latent's file says, else as the model has it.
	Independent *bool
	// Scale is latent.ScalePipeline or ScaleNone; default as the latent's file
	// says, else what its format has of the model.
	Scale string

	// As is vae.Options'; default as the checkpoint was opened.
	As string

	FPS latent.Rational // of what is decoded; default as before it was encoded

	// Layout, Key and Packed are how a latent lies in its file: media.LatentOptions',
	// and the size of packed ones in pixels.
	Layout, Key string
	Packed      tiling.Size

	// Moments and Sample are vae.EncodeOptions'. To decode, Sample draws from
	// moments; default is their mean.
	Moments, Sample bool
	Seed            uint64 // of Sample
}

// Options are how the work is cut by these choices. Independent and Unscaled
// are left to Decode and Encode, which know the file.
func (c Choices) Options() (vae.Options, error) {
	o := vae.Options{Tiling: c.Tiling, Budget: c.Budget, Chunk: c.Chunk, MemoryFormat: c.MemoryFormat, Offload: c.Offload, Host: c.Host, As: c.As}
	if c.Chunk == 0 {
		o.Chunk = vae.AutoChunk
	}
	tile, overlap := tiling.DefaultTile, tiling.DefaultOverlap
	switch c.Tiling {
	case "", vae.Feather, vae.Exact:
	case vae.Diffusers:
		tile, overlap = tiling.DiffusersTile, tiling.DiffusersOverlap
	default:
		return o, BadInput("job: tiling %.20q, expected %s, %s or %s", string(c.Tiling), vae.Feather, vae.Exact, vae.Diffusers)
	}
	switch c.Scale {
	case "", latent.ScalePipeline, latent.ScaleNone:
	default:
		return o, BadInput("job: scale %.20q, expected %s or %s", c.Scale, latent.ScalePipeline, latent.ScaleNone)
	}
	o.Tile, o.Overlap = tiling.Choice{Tile: tiling.Square(tile)}, tiling.Square(overlap)
	o.Shrink = c.Tile == nil && c.Tiling != vae.Diffusers
	if c.Tile != nil {
		o.Tile = *c.Tile
	}
	if c.Overlap != nil {
		o.Overlap = *c.Overlap
	} else if c.Tile != nil && !c.Tile.Auto && c.Tile.Tile != (tiling.Size{}) {
		o.Overlap = tiling.Size{H: overlapOf(c.Tile.Tile.H, overlap), W: overlapOf(c.Tile.Tile.W, overlap)}
	}
	if c.Shrink != nil {
		o.Shrink = *c.Shrink
	}
	return o, nil
}

// Reading is how a model's latent is read from a file.
func (c Choices) Reading(m vae.Config) (media.LatentOptions, error) {
	o := media.LatentOptions{Channels: m.Latent, Folded: m.ComfyUIFolded, Packed: m.Unpacks(), Pictures: m.Temporal == 1, Layout: c.Layout, Key: c.Key}
	if c.Packed == (tiling.Size{}) {
		return o, nil
	}
	if square := 2 * m.Spatial; c.Packed.H%square != 0 || c.Packed.W%square != 0 {
		return o, BadInput("job: packed latents of %dx%d pixels, expected multiples of %d, the side of what is packed into one", c.Packed.W, c.Packed.H, square)
	}
	o.Height, o.Width = c.Packed.H/m.Spatial, c.Packed.W/m.Spatial
	return o, nil
}

// overlapOf is the default overlap where a tile has such a side: half of a small
// one, in whole cells of 16 pixels, or of 8, so that fades of neighbours don't meet.
func overlapOf(side, standard int) int {
	switch {
	case side >= 2*standard:
		return standard
	case side >= 32:
		return side / 2 / 16 * 16
	case side >= 16:
		return 8
	}
	return 0
}

// independent is whether frames are pictures, where else they would be or not.
func (c Choices) independent(otherwise bool) bool {
	if c.Independent == nil {
		return otherwise
	}
	return *c.Independent
}
