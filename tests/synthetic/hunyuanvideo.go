package synthetic

import (
	"cmp"
	"fmt"

	"tessera/format/safetensors"
)

// HunyuanConfig is a HunyuanVideo autoencoder of any size, by diffusers' names.
type HunyuanConfig struct {
	Widths []int                    // shallow to deep; default 128, 256, 512, 512
	Latent int                      // default 16
	DType  safetensors.DType        // default F16. F32 leaves the weights unrounded.
	Name   func(name string) string // maps a tensor's name to the one in the file; nil: the original name
}

// CreateHunyuan streams a checkpoint of synthetic weights into a new file at path.
func CreateHunyuan(path string, c HunyuanConfig) error {
	return stream(path, Hunyuan(c), c.DType, c.Name)
}

// Hunyuan lists every tensor under diffusers' name.
func Hunyuan(c HunyuanConfig) []Spec {
	widths, latent := c.Widths, cmp.Or(c.Latent, 16)
	if widths == nil {
		widths = []int{128, 256, 512, 512}
	}
	var t table
	last := len(widths) - 1
	in := widths[0]
	t.conv("encoder.conv_in.conv", in, 3, 3, 3, 3)
	for i, w := range widths {
		block := fmt.Sprintf("encoder.down_blocks.%d", i)
		for r := range 2 {
			t.resnet(fmt.Sprintf("%s.resnets.%d", block, r), ".conv", in, w)
			in = w
		}
		if i < last {
			t.conv(block+".downsamplers.0.conv.conv", w, w, 3, 3, 3)
		}
	}
	t.middle("encoder", ".conv", in)
	t.norm("encoder.conv_norm_out", in)
	t.conv("encoder.conv_out.conv", 2*latent, in, 3, 3, 3)
	t.conv("decoder.conv_in.conv", in, latent, 3, 3, 3)
	for i := range widths {
		block, w := fmt.Sprintf("decoder.up_blocks.%d", i), widths[last-i]
		for r := range 3 {
			t.resnet(fmt.Sprintf("%s.resnets.%d", block, r), ".conv", in, w)
			in = w
		}
		if i < last {
			t.conv(block+".upsamplers.0.conv.conv", w, w, 3, 3, 3)
		}
	}
	t.middle("decoder", ".conv", widths[last])
	t.norm("decoder.conv_norm_out", in)
	t.conv("decoder.conv_out.conv", 3, in, 3, 3, 3)
	t.conv("quant_conv", 2*latent, 2*latent, 1, 1, 1)
	t.conv("post_quant_conv", latent, latent, 1, 1, 1)
	return t
}

// Hunyuan15Config is a HunyuanVideo 1.5 autoencoder of any size, by its original names.
type Hunyuan15Config struct {
	Widths []int                    // shallow to deep; default 128, 256, 512, 1024, 1024
	Latent int                      // default 32
	DType  safetensors.DType        // default F16. F32 leaves the weights unrounded.
	Name   func(name string) string // maps a tensor's name to the one in the file; nil: the original name
}

// CreateHunyuan15 streams a checkpoint of synthetic weights into a new file at path.
func CreateHunyuan15(path string, c Hunyuan15Config) error {
	return stream(path, Hunyuan15(c), c.DType, c.Name)
}

// Hunyuan15 lists every tensor under its original name.
func Hunyuan15(c Hunyuan15Config) []Spec {
	widths, latent := c.Widths, cmp.Or(c.Latent, 32)
	if widths == nil {
		widths = []int{128, 256, 512, 1024, 1024}
	}
	return hunyuanTable(widths, latent, true)
}

// hunyuanTable lists the tensors of HunyuanVideo 1.5, or of HunyuanImage 2.1, whose
// convolutions and norms are of single frames, by their original names.
func hunyuanTable(widths []int, latent int, video bool) table {
	var t table
	conv := func(name string, out, in int) { t.conv(name, out, in, 3, 3) }
	linear := func(name string, width int) { t.conv(name, width, width, 1, 1) }
	norm := t.norm
	if video {
		conv = func(name string, out, in int) { t.conv(name+".conv", out, in, 3, 3, 3) }
		linear = func(name string, width int) { t.conv(name, width, width, 1, 1, 1) }
		norm = func(name string, width int) { t = append(t, Spec{name + ".gamma", []int{width, 1, 1, 1}}) }
	}
	resnet := func(name string, width int) {
		for _, n := range []string{"1", "2"} {
			norm(name+".norm"+n, width)
			conv(name+".conv"+n, width, width)
		}
	}
	middle := func(name string, width int) {
		resnet(name+".block_1", width)
		norm(name+".attn_1.norm", width)
		for _, layer := range []string{"q", "k", "v", "proj_out"} {
			linear(name+".attn_1."+layer, width)
		}
		resnet(name+".block_2", width)
	}
	phases := func(time bool) int { // pixels of a block that become channels
		if video && time {
			return 8
		}
		return 4
	}
	last := len(widths) - 1
	conv("encoder.conv_in", widths[0], 3)
	for i, w := range widths {
		for b := range 2 {
			resnet(fmt.Sprintf("encoder.down.%d.block.%d", i, b), w)
		}
		if i < last { // the last two also halve time
			conv(fmt.Sprintf("encoder.down.%d.downsample.conv", i), widths[i+1]/phases(i >= last-2), w)
		}
	}
	middle("encoder.mid", widths[last])
	norm("encoder.norm_out", widths[last])
	conv("encoder.conv_out", 2*latent, widths[last])
	conv("decoder.conv_in", widths[last], latent)
	middle("decoder.mid", widths[last])
	for i := range widths {
		w := widths[last-i]
		for b := range 3 {
			resnet(fmt.Sprintf("decoder.up.%d.block.%d", i, b), w)
		}
		if i < last { // the first two also double time
			conv(fmt.Sprintf("decoder.up.%d.upsample.conv", i), phases(i < 2)*widths[last-i-1], w)
		}
	}
	norm("decoder.norm_out", widths[0])
	conv("decoder.conv_out", 3, widths[0])
	return t
}
