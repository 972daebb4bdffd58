package synthetic

import (
	"cmp"
	"fmt"

	"tessera/format/safetensors"
)

// MochiConfig is a Mochi 1 autoencoder of any size, by diffusers' names.
type MochiConfig struct {
	Encoder []int                    // widths, shallow to deep; default 64, 128, 256, 384
	Decoder []int                    // deep to shallow; default 768, 512, 256, 128
	Latent  int                      // default 12
	DType   safetensors.DType        // default F16. F32 leaves the weights unrounded.
	Name    func(name string) string // maps a tensor's name to the one in the file; nil: the original name
}

// CreateMochi streams a checkpoint of synthetic weights into a new file at path.
func CreateMochi(path string, c MochiConfig) error {
	return stream(path, Mochi(c), c.DType, c.Name)
}

// Mochi lists every tensor under diffusers' name.
func Mochi(c MochiConfig) []Spec {
	encoder, decoder, latent := c.Encoder, c.Decoder, cmp.Or(c.Latent, 12)
	if encoder == nil {
		encoder = []int{64, 128, 256, 384}
	}
	if decoder == nil {
		decoder = []int{768, 512, 256, 128}
	}
	var t table
	blocks := func(name string, n, width int, attends bool) {
		for i := range n {
			at := fmt.Sprintf("%s.resnets.%d", name, i)
			t.norm(at+".norm1.norm_layer", width)
			t.conv(at+".conv1.conv", width, width, 3, 3, 3)
			t.norm(at+".norm2.norm_layer", width)
			t.conv(at+".conv2.conv", width, width, 3, 3, 3)
			if !attends {
				continue
			}
			t.norm(fmt.Sprintf("%s.norms.%d.norm_layer", name, i), width)
			at = fmt.Sprintf("%s.attentions.%d", name, i)
			for _, linear := range []string{"to_q", "to_k", "to_v"} {
				t = append(t, Spec{at + "." + linear + ".weight", []int{width, width}})
			}
			t.conv(at+".to_out.0", width, width)
		}
	}
	t.conv("encoder.proj_in", encoder[0], 15)
	blocks("encoder.block_in", 3, encoder[0], false)
	for i, n := range []int{3, 4, 6} {
		name := fmt.Sprintf("encoder.down_blocks.%d", i)
		t.conv(name+".conv_in.conv", encoder[i+1], encoder[i], 1+i, 2, 2)
		blocks(name, n, encoder[i+1], true)
	}
	blocks("encoder.block_out", 3, encoder[3], true)
	t.norm("encoder.norm_out.norm_layer", encoder[3])
	t = append(t, Spec{"encoder.proj_out.weight", []int{2 * latent, encoder[3]}})
	t.conv("decoder.conv_in", decoder[0], latent, 1, 1, 1)
	blocks("decoder.block_in", 3, decoder[0], false)
	for i, n := range []int{6, 4, 3} {
		name := fmt.Sprintf("decoder.up_blocks.%d", i)
		blocks(name, n, decoder[i], false)
		t.conv(name+".proj", 4*(3-i)*decoder[i+1], decoder[i])
	}
	blocks("decoder.block_out", 3, decoder[3], false)
	t.conv("decoder.proj_out", 3, decoder[3])
	return t
}
