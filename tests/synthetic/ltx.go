package synthetic

import (
	"cmp"
	"fmt"

	"tessera/format/safetensors"
)

// LTXConfig is LTX-2's VAE of any size, by the original names.
type LTXConfig struct {
	New     bool                     // LTX-2.3's
	Encoder []int                    // widths, shallow to deep; default 128 to 2048, or to 1024 if New
	Decoder []int                    // deep to shallow; default 1024, 512, 256, 128, or with 512 twice if New
	Latent  int                      // default 128
	DType   safetensors.DType        // default F16. F32 leaves the weights unrounded.
	Name    func(name string) string // maps a tensor's name to the one in the file; nil: the original name
}

// CreateLTX streams a checkpoint of synthetic weights into a new file at path.
func CreateLTX(path string, c LTXConfig) error {
	return stream(path, LTX(c), c.DType, c.Name)
}

// LTX lists every tensor under its original name.
func LTX(c LTXConfig) []Spec {
	encoder, decoder, latent := c.Encoder, c.Decoder, cmp.Or(c.Latent, 128)
	downs, ups := []int{4, 2, 8, 8}, []int{8, 8, 8} // pixels that become one, or that one becomes
	before, after := []int{4, 6, 6, 2, 2}, []int{5, 5, 5, 5}
	if encoder == nil {
		encoder = []int{128, 256, 512, 1024, 2048}
	}
	if decoder == nil {
		decoder = []int{1024, 512, 256, 128}
	}
	if c.New {
		ups, before, after = []int{8, 8, 2, 4}, []int{4, 6, 4, 2, 2}, []int{2, 2, 4, 6, 4}
		if c.Encoder == nil {
			encoder = []int{128, 256, 512, 1024, 1024}
		}
		if c.Decoder == nil {
			decoder = []int{1024, 512, 512, 256, 128}
		}
	}
	var t table
	conv := func(name string, out, in int) { t.conv(name+".conv", out, in, 3, 3, 3) }
	blocks := func(name string, n, width int) {
		for i := range n {
			conv(fmt.Sprintf("%s.res_blocks.%d.conv1", name, i), width, width)
			conv(fmt.Sprintf("%s.res_blocks.%d.conv2", name, i), width, width)
		}
	}
	t = append(t, Spec{"per_channel_statistics.mean-of-means", []int{latent}}, Spec{"per_channel_statistics.std-of-means", []int{latent}})
	conv("encoder.conv_in", encoder[0], 48)
	for i, w := range encoder {
		blocks(fmt.Sprintf("encoder.down_blocks.%d", 2*i), before[i], w)
		if i < len(downs) {
			conv(fmt.Sprintf("encoder.down_blocks.%d.conv", 2*i+1), encoder[i+1]/downs[i], w)
		}
	}
	conv("encoder.conv_out", latent+1, encoder[len(encoder)-1])
	conv("decoder.conv_in", decoder[0], latent)
	for i, w := range decoder {
		blocks(fmt.Sprintf("decoder.up_blocks.%d", 2*i), after[i], w)
		if i < len(ups) {
			conv(fmt.Sprintf("decoder.up_blocks.%d.conv", 2*i+1), decoder[i+1]*ups[i], w)
		}
	}
	conv("decoder.conv_out", 48, decoder[len(decoder)-1])
	return t
}
