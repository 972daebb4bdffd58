package job

import (
	"tessera/tiling"
	"tessera/vae"
)

// Limits on what any request may ask for with a few numbers.
const (
	MaxSide   = 1 << 14 // pixels along a frame's side
	MaxLatent = 2 << 30 // bytes of a latent's numbers, 4 each
)

// LatentFormats are the file extensions of latents that a request may choose, the default first.
func LatentFormats() []string { return []string{"safetensors", "latent", "npy"} }

// Word is a text option of requests: an option of that name in web/protocol.js, a query
// parameter of the HTTP API, and a flag of the command line.
type Word struct {
	Name string
	Of   []string                            // allowed texts; nil: Set checks the text
	Set  func(c *Choices, text string) error // text is allowed and not empty
}

// Words are the text options of requests, in the order in which they are checked.
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
