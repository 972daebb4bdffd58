package synthetic

import (
	"cmp"
	"fmt"
	"io"

	"tessera/format/safetensors"
)

// HunyuanImageConfig is a HunyuanImage 2.1 autoencoder of any size, by its original names.
type HunyuanImageConfig struct {
	Widths []int                    // shallow to deep; default 128, 256, 512, 512, 1024, 1024
	Latent int                      // default 64
	DType  safetensors.DType        // default F16. F32 leaves the weights unrounded.
	Name   func(name string) string // what a tensor is called in the file; nil: by its original name
}

// CreateHunyuanImage streams a checkpoint of synthetic weights into a new file at path.
func CreateHunyuanImage(path string, c HunyuanImageConfig) error {
	name := c.Name
	if name == nil {
		name = func(name string) string { return name }
	}
	return create(path, func(out io.Writer) error {
		return write(out, HunyuanImage(c), cmp.Or(c.DType, safetensors.F16), name, nil)
	})
}

// HunyuanImage lists every tensor under its original name.
func HunyuanImage(c HunyuanImageConfig) []Spec {
	widths, latent := c.Widths, cmp.Or(c.Latent, 64)
	if widths == nil {
		widths = []int{128, 256, 512, 512, 1024, 1024}
	}
	var t table
	resnet := func(name string, width int) {
		for _, n := range []string{"1", "2"} {
			t.norm(name+".norm"+n, width)
			t.conv(name+".conv"+n, width, width, 3, 3)
		}
	}
	middle := func(name string, width int) {
		resnet(name+".block_1", width)
		t.norm(name+".attn_1.norm", width)
		for _, layer := range []string{"q", "k", "v", "proj_out"} {
			t.conv(name+".attn_1."+layer, width, width, 1, 1)
		}
		resnet(name+".block_2", width)
	}
	last := len(widths) - 1
	t.conv("encoder.conv_in", widths[0], 3, 3, 3)
	for i, w := range widths {
		for b := range 2 {
			resnet(fmt.Sprintf("encoder.down.%d.block.%d", i, b), w)
		}
		if i < last {
			t.conv(fmt.Sprintf("encoder.down.%d.downsample.conv", i), widths[i+1]/4, w, 3, 3)
		}
	}
	middle("encoder.mid", widths[last])
	t.norm("encoder.norm_out", widths[last])
	t.conv("encoder.conv_out", 2*latent, widths[last], 3, 3)
	t.conv("decoder.conv_in", widths[last], latent, 3, 3)
	middle("decoder.mid", widths[last])
	for i := range widths {
		w := widths[last-i]
		for b := range 3 {
			resnet(fmt.Sprintf("decoder.up.%d.block.%d", i, b), w)
		}
		if i < last {
			t.conv(fmt.Sprintf("decoder.up.%d.upsample.conv", i), 4*widths[last-i-1], w, 3, 3)
		}
	}
	t.norm("decoder.norm_out", widths[0])
	t.conv("decoder.conv_out", 3, widths[0], 3, 3)
	return t
}
