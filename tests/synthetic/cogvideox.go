package synthetic

import (
	"cmp"
	"fmt"

	"tessera/format/safetensors"
)

// CogVideoXConfig is a CogVideoX autoencoder of any size.
type CogVideoXConfig struct {
	Widths []int             // shallow to deep; default 128, 256, 256, 512
	Latent int               // default 16
	DType  safetensors.DType // default F16. F32 leaves the weights unrounded.
}

// CreateCogVideoX streams a checkpoint of synthetic weights into a new file at path.
func CreateCogVideoX(path string, c CogVideoXConfig) error {
	return stream(path, CogVideoX(c), c.DType, nil)
}

// CogVideoX lists every tensor under diffusers' name.
func CogVideoX(c CogVideoXConfig) []Spec {
	widths, latent := c.Widths, cmp.Or(c.Latent, 16)
	if widths == nil {
		widths = []int{128, 256, 256, 512}
	}
	var t table
	norm := func(name string, width int, spatial bool) {
		if !spatial {
			t.norm(name, width)
			return
		}
		t.norm(name+".norm_layer", width)
		t.conv(name+".conv_y.conv", width, latent, 1, 1, 1)
		t.conv(name+".conv_b.conv", width, latent, 1, 1, 1)
	}
	resnets := func(name string, n, in, out int, spatial bool) {
		for r := range n {
			at := fmt.Sprintf("%s.resnets.%d", name, r)
			norm(at+".norm1", in, spatial)
			t.conv(at+".conv1.conv", out, in, 3, 3, 3)
			norm(at+".norm2", out, spatial)
			t.conv(at+".conv2.conv", out, out, 3, 3, 3)
			if in != out {
				t.conv(at+".conv_shortcut", out, in, 1, 1, 1)
			}
			in = out
		}
	}
	last := len(widths) - 1
	in := widths[0]
	t.conv("encoder.conv_in.conv", in, 3, 3, 3, 3)
	for i, w := range widths {
		block := fmt.Sprintf("encoder.down_blocks.%d", i)
		resnets(block, 3, in, w, false)
		if in = w; i < last {
			t.conv(block+".downsamplers.0.conv", w, w, 3, 3)
		}
	}
	resnets("encoder.mid_block", 2, in, in, false)
	norm("encoder.norm_out", in, false)
	t.conv("encoder.conv_out.conv", 2*latent, in, 3, 3, 3)
	t.conv("decoder.conv_in.conv", in, latent, 3, 3, 3)
	resnets("decoder.mid_block", 2, in, in, true)
	for i := range widths {
		block, w := fmt.Sprintf("decoder.up_blocks.%d", i), widths[last-i]
		resnets(block, 4, in, w, true)
		if in = w; i < last {
			t.conv(block+".upsamplers.0.conv", w, w, 3, 3)
		}
	}
	norm("decoder.norm_out", in, true)
	t.conv("decoder.conv_out.conv", 3, in, 3, 3, 3)
	return t
}
