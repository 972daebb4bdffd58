package job

import (
	"tessera/tiling"
	"tessera/vae"
)

// Bounds of what a request may ask for by a few numbers, whoever sends it.
const (
	MaxSide   = 1 << 14 // pixels along a frame's side
	MaxLatent = 2 << 30 // bytes of a latent's numbers, of 4 each
)

// LatentFormats are the endings of latents that a request may ask for, the default first.
func LatentFormats() []string { return []string{"safetensors", "latent", "npy"} }

// Word is a choice that a request makes by a text: the page's by the option of that name
// in web/protocol.js, a program's in the query. The command line has a flag of that name.
type Word struct {
	Name string
	Of   []string                            // texts that there are; nil: Set tells
	Set  func(c *Choices, text string) error // text is one, and not empty
}

// Words are those of all requests, in the order in which their mistakes are told.
func Words() []Word {
	return []Word{
		{"tiling", []string{string(vae.Feather), string(vae.Exact), string(vae.Diffusers)}, func(c *Choices, text string) error {
			c.Tiling = vae.Tiling(text)
			return nil
		}},
		{"tile", nil, func(c *Choices, text string) error {
			tile, err := tiling.ParseTile(text)
			c.Tile = &tile
			return err
		}},
		{"overlap", nil, func(c *Choices, text string) error {
			overlap, err := tiling.ParseOverlap(text)
			c.Overlap = &overlap
			return err
		}},
		{"as", vae.Kinds(), func(c *Choices, text string) error {
			c.As = text
			return nil
		}},
	}
}
