package vae

import (
	"fmt"
	"strconv"
	"strings"

	"tessera/format"
)

// Tensors that identify HunyuanVideo's layouts: names of diffusers, and of ldm, which
// other models share, but not together with wrapped convolutions. And the family's name.
const (
	hunyuan              = "hunyuanvideo"
	hunyuanKey           = "decoder.up_blocks.0.upsamplers.0.conv.conv.bias"
	hunyuanLDMKey        = "decoder.up.1.upsample.conv.conv.bias"
	hunyuanEncoderKey    = "encoder.down_blocks.0.downsamplers.0.conv.conv.bias"
	hunyuanLDMEncoderKey = "encoder.down.0.downsample.conv.conv.bias"
)

// publishedHunyuan is the configuration of HunyuanVideo.
var publishedHunyuan = Config{
	Model: "HunyuanVideo", Layout: "diffusers", Groups: 32, Spatial: 8, Temporal: 4, Channels: 3, Patch: 1, Blocks: 2, Latent: 16, Quant: true,
	Widths: []int{128, 256, 512, 512}, Decoder: []int{512, 512, 256, 128}, TimeDown: []bool{false, true, true}, TimeUp: []bool{false, true, true},
}

// isHunyuan recognises a file of that layout: wrapped convolutions, and group norms.
func isHunyuan(f format.File) bool {
	if isCogVideoX(f) {
		return false
	}
	for _, half := range []string{"decoder.", "encoder."} {
		conv, ok := f.Tensor(half + "conv_in.conv.weight")
		if ok && len(conv.Shape) == 5 && hasTensor(f, half+"mid_block.resnets.0.norm1.weight", half+"mid.block_1.norm1.weight") {
			return true
		}
	}
	return false
}

// configureHunyuan reads the configuration from names and shapes. The layers use
// diffusers' names.
func configureHunyuan(f format.File) (Config, tensors, error) {
	c := Config{
		Model: "HunyuanVideo", Layout: "diffusers", Groups: 32, Temporal: 4, Channels: 3, Patch: 1, Quant: true, Lacks: lacking(f),
		TimeDown: []bool{false, true, true}, TimeUp: []bool{false, true, true},
	}
	t := tensors{file: f, name: func(name string) string { return name }, flat: ".attentions.0.to_"} // ldm's are [c, c, 1, 1, 1]
	if hasTensor(f, "encoder.mid.block_1.norm1.weight", "decoder.mid.block_1.norm1.weight") {
		c.Layout = "original"
		t.name = hunyuanLDM
	}
	if err := c.readStages(t, "down_blocks.%d.resnets.%d", "up_blocks.%d.resnets.%d", ".conv.weight", 5); err != nil {
		return c, t, err
	}
	c.Spatial = 8
	c.scaleBy(0.476986) // scaling_factor of vae/config.json
	if err := c.checkGroups(f.Name()); err != nil {
		return c, t, err
	}
	return c, t, c.check(f.Name())
}

// Parts of diffusers' names, with ldm's names for them.
var hunyuanParts = [][]string{
	{".mid_block.resnets.0.", ".mid.block_1.", ".mid_block.resnets.1.", ".mid.block_2.", ".mid_block.attentions.0.", ".mid.attn_1.", ".conv_norm_out.", ".norm_out."},
	{".group_norm.", ".norm.", ".to_q.", ".q.", ".to_k.", ".k.", ".to_v.", ".v.", ".to_out.0.", ".proj_out.", ".conv_shortcut.", ".nin_shortcut."},
	{".resnets.", ".block.", ".downsamplers.0.", ".downsample.", ".upsamplers.0.", ".upsample."},
}

// hunyuanLDM returns ldm's name for a tensor. ldm numbers decoder stages from the last.
func hunyuanLDM(name string) string {
	for _, pairs := range hunyuanParts {
		name = renamed(name, pairs)
	}
	return ldmStages(name, 4)
}

// ldmStages replaces diffusers' numbers of stages in a tensor's name by ldm's, which
// count the given number of decoder stages from the last.
func ldmStages(name string, stages int) string {
	for _, stage := range []string{".down_blocks.", ".up_blocks."} {
		network, rest, ok := strings.Cut(name, stage)
		if !ok {
			continue
		}
		number, rest, _ := strings.Cut(rest, ".")
		i, _ := strconv.Atoi(number)
		if stage == ".up_blocks." {
			return fmt.Sprintf("%s.up.%d.%s", network, stages-1-i, rest)
		}
		return fmt.Sprintf("%s.down.%d.%s", network, i, rest)
	}
	return name
}
