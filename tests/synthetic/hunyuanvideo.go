package synthetic

import (
	"cmp"
	"fmt"
	"io"

	"tessera/format/safetensors"
)

// HunyuanConfig is a HunyuanVideo autoencoder of any size, by diffusers' names.
type HunyuanConfig struct {
	Widths []int                    // shallow to deep; default 128, 256, 512, 512
	Latent int                      // default 16
	DType  safetensors.DType        // default F16. F32 leaves the weights unrounded.
	Name   func(name string) string // what a tensor is called in the file; nil: by its original name
}

// CreateHunyuan streams a checkpoint of synthetic weights into a new file at path.
func CreateHunyuan(path string, c HunyuanConfig) error {
	name := c.Name
	if name == nil {
		name = func(name string) string { return name }
	}
	return create(path, func(out io.Writer) error {
		return write(out, Hunyuan(c), cmp.Or(c.DType, safetensors.F16), name, nil)
	})
}

// Hunyuan lists every tensor under diffusers' name.
func Hunyuan(c HunyuanConfig) []Spec {
	widths, latent := c.Widths, cmp.Or(c.Latent, 16)
	if widths == nil {
		widths = []int{128, 256, 512, 512}
	}
	var t table
	resnet := func(name string, in, out int) {
		t.norm(name+".norm1", in)
		t.conv(name+".conv1.conv", out, in, 3, 3, 3)
		t.norm(name+".norm2", out)
		t.conv(name+".conv2.conv", out, out, 3, 3, 3)
		if in != out {
			t.conv(name+".conv_shortcut.conv", out, in, 1, 1, 1)
		}
	}
	middle := func(half string, width int) {
		attention := half + ".mid_block.attentions.0"
		t.norm(attention+".group_norm", width)
		for _, linear := range []string{"to_q", "to_k", "to_v", "to_out.0"} {
			t.conv(attention+"."+linear, width, width)
		}
		for r := range 2 {
			resnet(fmt.Sprintf("%s.mid_block.resnets.%d", half, r), width, width)
		}
	}
	last := len(widths) - 1
	in := widths[0]
	t.conv("encoder.conv_in.conv", in, 3, 3, 3, 3)
	for i, w := range widths {
		block := fmt.Sprintf("encoder.down_blocks.%d", i)
		for r := range 2 {
			resnet(fmt.Sprintf("%s.resnets.%d", block, r), in, w)
			in = w
		}
		if i < last {
			t.conv(block+".downsamplers.0.conv.conv", w, w, 3, 3, 3)
		}
	}
	middle("encoder", in)
	t.norm("encoder.conv_norm_out", in)
	t.conv("encoder.conv_out.conv", 2*latent, in, 3, 3, 3)
	t.conv("decoder.conv_in.conv", in, latent, 3, 3, 3)
	for i := range widths {
		block, w := fmt.Sprintf("decoder.up_blocks.%d", i), widths[last-i]
		for r := range 3 {
			resnet(fmt.Sprintf("%s.resnets.%d", block, r), in, w)
			in = w
		}
		if i < last {
			t.conv(block+".upsamplers.0.conv.conv", w, w, 3, 3, 3)
		}
	}
	middle("decoder", widths[last])
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
	Name   func(name string) string // what a tensor is called in the file; nil: by its original name
}

// CreateHunyuan15 streams a checkpoint of synthetic weights into a new file at path.
func CreateHunyuan15(path string, c Hunyuan15Config) error {
	name := c.Name
	if name == nil {
		name = func(name string) string { return name }
	}
	return create(path, func(out io.Writer) error {
		return write(out, Hunyuan15(c), cmp.Or(c.DType, safetensors.F16), name, nil)
	})
}

// Hunyuan15 lists every tensor under its original name.
func Hunyuan15(c Hunyuan15Config) []Spec {
	widths, latent := c.Widths, cmp.Or(c.Latent, 32)
	if widths == nil {
		widths = []int{128, 256, 512, 1024, 1024}
	}
	var t table
	gamma := func(name string, width int) {
		t = append(t, Spec{name + ".gamma", []int{width, 1, 1, 1}})
	}
	resnet := func(name string, width int) {
		for _, n := range []string{"1", "2"} {
			gamma(name+".norm"+n, width)
			t.conv(name+".conv"+n+".conv", width, width, 3, 3, 3)
		}
	}
	middle := func(name string, width int) {
		resnet(name+".block_1", width)
		gamma(name+".attn_1.norm", width)
		for _, layer := range []string{"q", "k", "v", "proj_out"} {
			t.conv(name+".attn_1."+layer, width, width, 1, 1, 1)
		}
		resnet(name+".block_2", width)
	}
	last := len(widths) - 1
	t.conv("encoder.conv_in.conv", widths[0], 3, 3, 3, 3)
	for i, w := range widths {
		for b := range 2 {
			resnet(fmt.Sprintf("encoder.down.%d.block.%d", i, b), w)
		}
		if i < last {
			phases := 4
			if i >= last-2 { // the last two halve time, too
				phases = 8
			}
			t.conv(fmt.Sprintf("encoder.down.%d.downsample.conv.conv", i), widths[i+1]/phases, w, 3, 3, 3)
		}
	}
	middle("encoder.mid", widths[last])
	gamma("encoder.norm_out", widths[last])
	t.conv("encoder.conv_out.conv", 2*latent, widths[last], 3, 3, 3)
	t.conv("decoder.conv_in.conv", widths[last], latent, 3, 3, 3)
	middle("decoder.mid", widths[last])
	for i := range widths {
		w := widths[last-i]
		for b := range 3 {
			resnet(fmt.Sprintf("decoder.up.%d.block.%d", i, b), w)
		}
		if i < last {
			phases := 4
			if i < 2 { // the first two double time, too
				phases = 8
			}
			t.conv(fmt.Sprintf("decoder.up.%d.upsample.conv.conv", i), phases*widths[last-i-1], w, 3, 3, 3)
		}
	}
	gamma("decoder.norm_out", widths[0])
	t.conv("decoder.conv_out.conv", 3, widths[0], 3, 3, 3)
	return t
}
