package vae

import (
	"fmt"

	"tessera/format"
)

// Tensors that identify the layouts of HunyuanVideo 1.5, and the family's name.
const (
	hunyuan15                    = "hunyuanvideo1.5"
	hunyuan15Key                 = "decoder.mid.block_1.norm1.gamma"
	hunyuan15EncoderKey          = "encoder.mid.block_1.norm1.gamma"
	hunyuan15DiffusersKey        = "decoder.up_blocks.0.resnets.0.norm1.gamma"
	hunyuan15DiffusersEncoderKey = "encoder.down_blocks.0.resnets.0.norm1.gamma"
)

// publishedHunyuan15 is the configuration of hunyuanvideo15_vae_fp16.safetensors.
var publishedHunyuan15 = Config{
	Family: hunyuan15, Model: "HunyuanVideo 1.5", Layout: "original", Spatial: 16, Temporal: 4, Channels: 3, Patch: 1, Blocks: 2, Latent: 32,
	Widths: []int{128, 256, 512, 1024, 1024}, Decoder: []int{1024, 1024, 512, 256, 128},
	TimeDown: []bool{false, false, true, true}, TimeUp: []bool{true, true, false, false},
}

// isHunyuan15 recognises a file of that layout: wrapped convolutions, and norms per
// pixel.
func isHunyuan15(f format.File) bool {
	for _, half := range []string{"decoder.", "encoder."} {
		conv, ok := f.Tensor(half + "conv_in.conv.weight")
		if ok && len(conv.Shape) == 5 && hasTensor(f, half+"norm_out.gamma") {
			return true
		}
	}
	return false
}

// configureHunyuan15 reads the configuration from names and shapes. The layers use the
// original names.
func configureHunyuan15(f format.File) (Config, tensors, error) {
	c := Config{Family: hunyuan15, Model: "HunyuanVideo 1.5", Layout: "original", Spatial: 16, Temporal: 4, Channels: 3, Patch: 1, Lacks: lacking(f)}
	t := tensors{file: f, name: func(name string) string { return name }, flat: ".attn_1."} // q, k, v and proj_out are [c, c, 1, 1, 1]
	if hasTensor(f, hunyuan15DiffusersEncoderKey, hunyuan15DiffusersKey) {
		c.Layout = "diffusers"
		t.name = hunyuan15Diffusers
	}
	err := c.readStages(t, "down.%d.block.%d", "up.%d.block.%d", ".conv.weight", 5)
	for i := 0; err == nil && i < len(c.Widths)-1; i++ {
		err = sampledTime(t, &c.TimeDown, fmt.Sprintf("encoder.down.%d.downsample.conv.conv.weight", i), c.Widths[i+1], true)
	}
	for i := 0; err == nil && i < len(c.Decoder)-1; i++ {
		err = sampledTime(t, &c.TimeUp, fmt.Sprintf("decoder.up.%d.upsample.conv.conv.weight", i), c.Decoder[i+1], false)
	}
	if err != nil {
		return c, t, err
	}
	c.scaleBy(1.03682) // scaling_factor of vae/config.json
	if err := c.check(f.Name()); err != nil {
		return c, t, err
	}
	return c, t, c.divides(f.Name())
}

// sampledTime reads from a sampler's output channels whether it changes time. Downwards,
// a quarter or an eighth of the next channels comes from each of 2x2 pixels; upwards,
// four or eight times as many channels go to them. The check of the tensors reports any
// other size.
func sampledTime(t tensors, times *[]bool, name string, next int, down bool) error {
	n, err := t.dim(name, 0, 5)
	*times = append(*times, down && n*8 == next || !down && n == 8*next)
	return err
}

// divides refuses widths that cannot be moved between pixels and channels.
func (c *Config) divides(file string) error {
	for _, n := range []struct {
		name   string
		widths []int
		times  []bool
		up     bool
	}{{"encoder", c.Widths, c.TimeDown, false}, {"decoder", c.Decoder, c.TimeUp, true}} {
		for i, time := range n.times {
			phases := 4
			if time {
				phases = 8
			}
			in, out := n.widths[i], n.widths[i+1]
			if n.up && (phases*out%in != 0 || 4*out%in != 0) || !n.up && (phases*in%out != 0 || 4*in%out != 0 || out%phases != 0) {
				return fmt.Errorf("vae: %s: %d channels of %s stage %d become %d, expected blocks of pixels that fit", file, in, n.name, i, out)
			}
		}
		if last := len(n.widths) - 1; last >= 0 && (n.up && n.widths[0]%c.Latent != 0 || !n.up && n.widths[last]%(2*c.Latent) != 0) {
			return fmt.Errorf("vae: %s: the %s has %d channels where it has %d of a latent, expected a multiple", file, n.name, n.widths[map[bool]int{true: 0, false: last}[n.up]], c.Latent)
		}
	}
	return nil
}

// hunyuan15Pairs are parts of original names, with diffusers' names for them. Both number
// the stages alike.
var hunyuan15Pairs = [][]string{
	{".mid.block_1.", ".mid_block.resnets.0.", ".mid.block_2.", ".mid_block.resnets.1.", ".mid.attn_1.", ".mid_block.attentions.0.", ".down.", ".down_blocks.", ".up.", ".up_blocks."},
	{".block.", ".resnets.", ".downsample.", ".downsamplers.0.", ".upsample.", ".upsamplers.0.", "attentions.0.q.", "attentions.0.to_q.", "attentions.0.k.", "attentions.0.to_k.", "attentions.0.v.", "attentions.0.to_v."},
}

// hunyuan15Diffusers returns diffusers' name for a tensor of the original name.
func hunyuan15Diffusers(name string) string {
	for _, pairs := range hunyuan15Pairs {
		name = renamed(name, pairs)
	}
	return name
}
