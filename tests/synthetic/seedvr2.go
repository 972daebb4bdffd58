package synthetic

import (
	"cmp"
	"io"
	"strconv"

	"tessera/format/safetensors"
)

// Spec is a tensor of a checkpoint by name and shape.
type Spec struct {
	Name  string
	Shape []int
}

// SeedVR2Config is a SeedVR2 autoencoder of any size.
type SeedVR2Config struct {
	Widths []int             // channels per stage, encoder order; default 128, 256, 512, 512
	Latent int               // latent channels; default 16
	Groups int               // of the group norms; default 32, anything else goes into the metadata
	DType  safetensors.DType // default F16, as published. F32 leaves the weights unrounded.
}

func (c SeedVR2Config) withDefaults() SeedVR2Config {
	if c.Widths == nil {
		c.Widths = []int{128, 256, 512, 512}
	}
	c.Latent = cmp.Or(c.Latent, 16)
	c.Groups = cmp.Or(c.Groups, 32)
	return c
}

// WriteSeedVR2 streams a checkpoint of synthetic weights in the layout of the published
// file: tensors by name, without metadata, except for the number of norm groups if it
// is not 32.
func WriteSeedVR2(out io.Writer, c SeedVR2Config) error {
	c = c.withDefaults()
	return write(out, SeedVR2(c.Widths, c.Latent), c.DType, nil, c.metadata())
}

// CreateSeedVR2 calls WriteSeedVR2 for a new file at path.
func CreateSeedVR2(path string, c SeedVR2Config) error {
	return create(path, func(out io.Writer) error { return WriteSeedVR2(out, c) })
}

func (c SeedVR2Config) metadata() map[string]string {
	if c.Groups == 32 {
		return nil
	}
	return map[string]string{"norm_num_groups": strconv.Itoa(c.Groups)}
}
