package synthetic

import (
	"cmp"

	"tessera/format/safetensors"
)

// HunyuanImageConfig is a HunyuanImage 2.1 autoencoder of any size, by its original names.
type HunyuanImageConfig struct {
	Widths []int                    // shallow to deep; default 128, 256, 512, 512, 1024, 1024
	Latent int                      // default 64
	DType  safetensors.DType        // default F16. F32 leaves the weights unrounded.
	Name   func(name string) string // maps a tensor's name to the one in the file; nil: the original name
}

// CreateHunyuanImage streams a checkpoint of synthetic weights into a new file at path.
func CreateHunyuanImage(path string, c HunyuanImageConfig) error {
	return stream(path, HunyuanImage(c), c.DType, c.Name)
}

// HunyuanImage lists every tensor under its original name.
func HunyuanImage(c HunyuanImageConfig) []Spec {
	widths, latent := c.Widths, cmp.Or(c.Latent, 64)
	if widths == nil {
		widths = []int{128, 256, 512, 512, 1024, 1024}
	}
	return hunyuanTable(widths, latent, false)
}
