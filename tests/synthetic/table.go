package synthetic

import "fmt"

// SeedVR2 lists every tensor of the autoencoder in the order of the reference's
// modules. widths are the channels per stage in encoder order; published:
// 128, 256, 512, 512 with 16 latent channels.
func SeedVR2(widths []int, latent int) []Spec {
	var t table
	last := len(widths) - 1
	t.conv("encoder.conv_in", widths[0], 3, 3, 3, 3)
	in := widths[0]
	for i, out := range widths {
		block := fmt.Sprintf("encoder.down_blocks.%d", i)
		for r := range 2 {
			t.resnet(fmt.Sprintf("%s.resnets.%d", block, r), "", in, out)
			in = out
		}
		if i < last {
			kt := 1
			if i >= len(widths)-3 { // the last two downsamplers also halve time
				kt = 3
			}
			t.conv(block+".downsamplers.0.conv", out, out, kt, 3, 3)
		}
	}
	t.middle("encoder", "", in)
	t.norm("encoder.conv_norm_out", in)
	t.conv("encoder.conv_out", 2*latent, in, 3, 3, 3) // mean and log-variance

	t.conv("decoder.conv_in", in, latent, 3, 3, 3)
	t.middle("decoder", "", in)
	for i := range widths {
		block, out := fmt.Sprintf("decoder.up_blocks.%d", i), widths[last-i]
		for r := range 3 {
			t.resnet(fmt.Sprintf("%s.resnets.%d", block, r), "", in, out)
			in = out
		}
		if i < last {
			phases := 4
			if i < 2 { // the first two upsamplers also double time
				phases = 8
			}
			t.conv(block+".upsamplers.0.conv", out, out, 3, 3, 3)
			t.conv(block+".upsamplers.0.upscale_conv", phases*out, out, 1, 1, 1)
		}
	}
	t.norm("decoder.conv_norm_out", in)
	t.conv("decoder.conv_out", 3, in, 3, 3, 3)
	return t
}

type table []Spec

// conv adds a weight of the shape, output channels first, and its bias.
func (t *table) conv(name string, shape ...int) {
	*t = append(*t, Spec{name + ".weight", shape}, Spec{name + ".bias", shape[:1:1]})
}

func (t *table) norm(name string, channels int) { t.conv(name, channels) }

// resnet adds a residual block in diffusers' naming; wrap is the end of its
// convolutions' names.
func (t *table) resnet(name, wrap string, in, out int) {
	t.norm(name+".norm1", in)
	t.conv(name+".conv1"+wrap, out, in, 3, 3, 3)
	t.norm(name+".norm2", out)
	t.conv(name+".conv2"+wrap, out, out, 3, 3, 3)
	if in != out {
		t.conv(name+".conv_shortcut"+wrap, out, in, 1, 1, 1)
	}
}

// middle adds a middle block in diffusers' naming.
func (t *table) middle(half, wrap string, channels int) {
	attention := half + ".mid_block.attentions.0"
	t.norm(attention+".group_norm", channels)
	for _, linear := range []string{"to_q", "to_k", "to_v", "to_out.0"} {
		t.conv(attention+"."+linear, channels, channels)
	}
	for r := range 2 {
		t.resnet(fmt.Sprintf("%s.mid_block.resnets.%d", half, r), wrap, channels, channels)
	}
}
