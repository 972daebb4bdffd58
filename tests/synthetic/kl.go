package synthetic

import (
	"cmp"
	"fmt"

	"tessera/format/safetensors"
)

// KLConfig is an AutoencoderKL of any size, by ldm's names.
type KLConfig struct {
	Widths []int                    // shallow to deep; default 128, 256, 512, 512
	Latent int                      // default 4
	Flux2  bool                     // FLUX.2's layout and statistics, 32 channels by default
	Narrow []int                    // the decoder's widths, if they differ
	Quant  bool                     // with quant_conv and post_quant_conv
	DType  safetensors.DType        // default F16. F32 leaves the weights unrounded.
	Name   func(name string) string // maps a tensor's name to the one in the file; nil: the original name
}

// CreateKL streams a checkpoint of synthetic weights into a new file at path.
func CreateKL(path string, c KLConfig) error {
	return stream(path, KL(c), c.DType, c.Name)
}

// KL lists every tensor under its original name.
func KL(c KLConfig) []Spec {
	widths, latent := c.Widths, cmp.Or(c.Latent, 4)
	if widths == nil {
		widths = []int{128, 256, 512, 512}
	}
	if c.Flux2 {
		latent = cmp.Or(c.Latent, 32)
	}
	var t table
	resnet := func(name string, in, out int) {
		t.norm(name+".norm1", in)
		t.conv(name+".conv1", out, in, 3, 3)
		t.norm(name+".norm2", out)
		t.conv(name+".conv2", out, out, 3, 3)
		if in != out {
			t.conv(name+".nin_shortcut", out, in, 1, 1)
		}
	}
	middle := func(name string, width int) {
		resnet(name+".block_1", width, width)
		t.norm(name+".attn_1.norm", width)
		for _, layer := range []string{"q", "k", "v", "proj_out"} {
			t.conv(name+".attn_1."+layer, width, width, 1, 1)
		}
		resnet(name+".block_2", width, width)
	}
	in, last := widths[0], widths[len(widths)-1]
	t.conv("encoder.conv_in", in, 3, 3, 3)
	for i, w := range widths {
		for b := range 2 {
			resnet(fmt.Sprintf("encoder.down.%d.block.%d", i, b), in, w)
			in = w
		}
		if i < len(widths)-1 {
			t.conv(fmt.Sprintf("encoder.down.%d.downsample.conv", i), w, w, 3, 3)
		}
	}
	middle("encoder.mid", last)
	t.norm("encoder.norm_out", last)
	t.conv("encoder.conv_out", 2*latent, last, 3, 3)
	switch {
	case c.Flux2:
		t.conv("encoder.quant_conv", 2*latent, 2*latent, 1, 1)
		t.conv("decoder.post_quant_conv", latent, latent, 1, 1)
		t = append(t, Spec{Name: "bn.running_mean", Shape: []int{4 * latent}}, Spec{Name: "bn.running_var", Shape: []int{4 * latent}}, Spec{Name: "bn.num_batches_tracked"})
	case c.Quant:
		t.conv("quant_conv", 2*latent, 2*latent, 1, 1)
		t.conv("post_quant_conv", latent, latent, 1, 1)
	}
	if c.Narrow != nil {
		widths = c.Narrow
		last = widths[len(widths)-1]
		in = last
	}
	t.conv("decoder.conv_in", last, latent, 3, 3)
	middle("decoder.mid", last)
	for i := len(widths) - 1; i >= 0; i-- {
		for b := range 3 {
			resnet(fmt.Sprintf("decoder.up.%d.block.%d", i, b), in, widths[i])
			in = widths[i]
		}
		if i > 0 {
			t.conv(fmt.Sprintf("decoder.up.%d.upsample.conv", i), in, in, 3, 3)
		}
	}
	t.norm("decoder.norm_out", in)
	t.conv("decoder.conv_out", 3, in, 3, 3)
	return t
}
