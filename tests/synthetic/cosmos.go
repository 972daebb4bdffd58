package synthetic

import (
	"cmp"
	"fmt"

	"tessera/format/safetensors"
)

// CosmosConfig is a tokenizer of Cosmos 1.0 of any size, by diffusers' names.
type CosmosConfig struct {
	Encoder []int                    // widths, shallow to deep; default 128, 256, 512, 512
	Decoder []int                    // deep to shallow; default 512, 512, 512, 256
	Latent  int                      // default 16
	DType   safetensors.DType        // default F16. F32 leaves the weights unrounded.
	Name    func(name string) string // maps a tensor's name to the one in the file; nil: the original name
}

// CreateCosmos streams a checkpoint of synthetic weights into a new file at path.
func CreateCosmos(path string, c CosmosConfig) error {
	return stream(path, Cosmos(c), c.DType, c.Name)
}

// Cosmos lists every tensor under diffusers' name.
func Cosmos(c CosmosConfig) []Spec {
	encoder, decoder, latent := c.Encoder, c.Decoder, cmp.Or(c.Latent, 16)
	if encoder == nil {
		encoder = []int{128, 256, 512, 512}
	}
	if decoder == nil {
		decoder = []int{512, 512, 512, 256}
	}
	const patch = 3 * 4 * 4 * 4
	var t table
	pair := func(name string, in, out int) {
		t.conv(name+".conv_s", out, in, 1, 3, 3)
		t.conv(name+".conv_t", out, out, 3, 1, 1)
	}
	resnet := func(name string, in, out int) {
		t.norm(name+".norm1.norm", in)
		pair(name+".conv1", in, out)
		t.norm(name+".norm2.norm", out)
		pair(name+".conv2", out, out)
		if in != out {
			t.conv(name+".conv_shortcut", out, in, 1, 1, 1)
		}
	}
	middle := func(name string, width int) {
		for i := range 2 {
			resnet(fmt.Sprintf("%s.resnets.%d", name, i), width, width)
		}
		for _, attention := range []string{"attentions.0", "temp_attentions.0"} {
			t.norm(name+"."+attention+".norm.norm", width)
			for _, linear := range []string{"to_q", "to_k", "to_v", "to_out.0"} {
				t.conv(name+"."+attention+"."+linear, width, width, 1, 1, 1)
			}
		}
	}
	sampler := func(name string, width int, first, second []int) {
		t.conv(name+".conv1", append([]int{width, width}, first...)...)
		t.conv(name+".conv2", append([]int{width, width}, second...)...)
		t.conv(name+".conv3", width, width, 1, 1, 1)
	}
	square, line := []int{1, 3, 3}, []int{3, 1, 1}
	pair("encoder.conv_in", patch, encoder[0])
	for i := range 3 {
		name, in := fmt.Sprintf("encoder.down_blocks.%d", i), encoder[i]
		for j := range 2 {
			resnet(fmt.Sprintf("%s.resnets.%d", name, j), in, encoder[i+1])
			in = encoder[i+1]
		}
		if i == 0 {
			sampler(name+".downsamplers.0", in, square, line)
		}
	}
	middle("encoder.mid_block", encoder[3])
	t.norm("encoder.norm_out.norm", encoder[3])
	pair("encoder.conv_out", encoder[3], latent)
	pair("decoder.conv_in", latent, decoder[0])
	middle("decoder.mid_block", decoder[0])
	for i := range 3 {
		name, in := fmt.Sprintf("decoder.up_blocks.%d", i), decoder[i]
		for j := range 3 {
			resnet(fmt.Sprintf("%s.resnets.%d", name, j), in, decoder[i+1])
			in = decoder[i+1]
		}
		if i == 1 {
			sampler(name+".upsamplers.0", in, line, square)
		}
	}
	t.norm("decoder.norm_out.norm", decoder[3])
	pair("decoder.conv_out", decoder[3], patch)
	t.conv("quant_conv", latent, latent, 1, 1, 1)
	t.conv("post_quant_conv", latent, latent, 1, 1, 1)
	return t
}
