// Package job resolves what a job means: from the model, the file and the user's choices
// it derives the options of a run, the result's shape, and notes and warnings. The
// command line, the page and the server use it, so that each default and rule exists
// once. It prints nothing.
//
// Start at Choices, Decode and Encode:
//
//	d, err := job.Decode(m.Config, z, "latent.safetensors", job.Choices{})
//	...
//	err = d.Run(ctx, m, vae.Watch{}, planned, take)
//
// Decoding.Run and Encoding.Run run package vae for the page and the server; the command
// line runs the plans itself. KindOf classifies errors.
package job

import (
	"tessera/latent"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

// Choices are the user's choices for a job. A zero field was not set.
type Choices struct {
	Tile    *tiling.Choice // default 512 pixels; for diffusers tiles 256
	Overlap *tiling.Size   // default 64 pixels, at most half of a requested tile
	Tiling  vae.Tiling     // default exact if the model supports it and it fits, else feather
	// Shrink allows a smaller tile if Tile does not fit; by default if no tile was
	// requested, except for diffusers tiles.
	Shrink *bool
	Budget int64 // bytes on the device; default engine.Budget
	Host   int64 // bytes of the machine's memory for offload; default three quarters of what is free
	Chunk  int   // latent frames per slice; default: as many as fit the budget with plenty to spare
	// MemoryFormat is the storage of causal memory; default: that of activations.
	MemoryFormat vae.MemoryFormat
	// Offload keeps causal memory on the host; default: if the budget requires it.
	Offload vae.Offload

	// Independent treats each frame as a separate picture; default: as the latent's
	// file says, else the model's default.
	Independent *bool
	// Scale is latent.ScalePipeline or ScaleNone; default: as the latent's file says,
	// else its format's default for the model.
	Scale string

	// As is vae.Options.As; default: as the checkpoint was opened.
	As string

	FPS latent.Rational // of the decoded clip; default: as before encoding

	// Layout and Key are those of media.LatentOptions; Packed is the size of packed
	// latents in pixels.
	Layout, Key string
	Packed      tiling.Size

	// Moments and Sample are those of vae.EncodeOptions. For a decode, Sample draws
	// from moments; default: their mean.
	Moments, Sample bool
	Seed            uint64 // of Sample
}

// Options returns a run's options for these choices. Decode and Encode, which know the
// file, set Independent and Unscaled.
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

// Reading returns the options for reading a model's latent from a file.
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

// overlapOf returns the default overlap for a tile of this side: half of a small tile, in
// multiples of 16 pixels, or of 8, so that the fades of neighbours do not meet.
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

// independent reports whether frames are pictures; otherwise is the default.
func (c Choices) independent(otherwise bool) bool {
	if c.Independent == nil {
		return otherwise
	}
	return *c.Independent
}
