package vae

import (
	"fmt"
	"strconv"
	"strings"

	"tessera/format"
)

// Tensors that identify the layouts of HunyuanImage 2.1, and the family's name.
// AutoencoderKL has no upsampler in its stage 0, and its downsamplers keep the number of
// channels.
const (
	hunyuanImage                    = "hunyuanimage2.1"
	hunyuanImageKey                 = "decoder.up.0.upsample.conv.weight"
	hunyuanImageEncoderKey          = "encoder.down.0.downsample.conv.weight"
	hunyuanImageDiffusersKey        = "decoder.up_blocks.0.conv1.weight"
	hunyuanImageDiffusersEncoderKey = "encoder.down_blocks.0.conv1.weight"
)

// publishedHunyuanImage is the configuration of HunyuanImage 2.1.
var publishedHunyuanImage = Config{
	Model: "HunyuanImage 2.1", Layout: "original", Groups: 32, Spatial: 32, Temporal: 1, Channels: 3, Patch: 1, Blocks: 2, Latent: 64, Independent: true,
	Widths: []int{128, 256, 512, 512, 1024, 1024}, Decoder: []int{1024, 1024, 512, 512, 256, 128},
	TimeDown: make([]bool, 5), TimeUp: make([]bool, 5),
}

// isHunyuanImage recognises a file of those layouts: 2D convolutions, and samplers that
// move pixels to channels.
func isHunyuanImage(f format.File) bool {
	for _, name := range []string{hunyuanImageKey, hunyuanImageDiffusersKey, hunyuanImageDiffusersEncoderKey} {
		if x, ok := f.Tensor(name); ok && len(x.Shape) == 4 {
			return true
		}
	}
	down, ok := f.Tensor(hunyuanImageEncoderKey)
	next, has := f.Tensor("encoder.down.1.block.0.conv1.weight")
	return ok && has && len(down.Shape) == 4 && len(next.Shape) == 4 && next.Shape[1] == 4*down.Shape[0]
}

// configureHunyuanImage reads the configuration from names and shapes. The layers use the
// original names.
func configureHunyuanImage(f format.File) (Config, tensors, error) {
	c := publishedHunyuanImage
	c.Family, c.Lacks, c.Widths, c.Decoder, c.TimeDown, c.TimeUp = hunyuanImage, lacking(f), nil, nil, nil, nil
	t := tensors{file: f, name: func(name string) string { return name }, flat: ".attn_1."} // q, k, v and proj_out are [c, c, 1, 1]
	if hasTensor(f, hunyuanImageDiffusersEncoderKey, hunyuanImageDiffusersKey) {
		c.Layout = "diffusers"
		blocks := t.count("encoder.down_blocks.%d.conv1.weight") // blocks of stage 0, before its sampler
		if c.Lacks == "encoder" {
			blocks = t.count("decoder.up_blocks.%d.conv1.weight") - 1
		}
		t.name = func(name string) string { return hunyuanImageDiffusers(name, blocks) }
	}
	if err := c.readStages(t, "down.%d.block.%d", "up.%d.block.%d", ".weight", 4); err != nil {
		return c, t, err
	}
	c.TimeDown, c.TimeUp = make([]bool, max(0, len(c.Widths)-1)), make([]bool, max(0, len(c.Decoder)-1))
	c.scaleBy(0.75289) // scaling_factor of vae/config.json
	if err := c.checkGroups(f.Name()); err != nil {
		return c, t, err
	}
	if err := c.check(f.Name()); err != nil {
		return c, t, err
	}
	return c, t, c.divides(f.Name())
}

// Parts of original names outside of stages, with diffusers' names for them.
var hunyuanImageParts = [][]string{
	{".mid.attn_1.norm.", ".mid_block.attentions.0.norm.", ".mid.attn_1.proj_out.", ".mid_block.attentions.0.proj."},
	{".mid.block_1.", ".mid_block.resnets.0.", ".mid.block_2.", ".mid_block.resnets.1.", ".mid.attn_1.", ".mid_block.attentions.0.to_"},
}

// hunyuanImageDiffusers returns diffusers' name for a tensor of the original name.
// diffusers numbers a network's residual blocks and samplers in one list; encoder stages
// have the given number of blocks, decoder stages one more.
func hunyuanImageDiffusers(name string, blocks int) string {
	parts := strings.Split(name, ".")
	if len(parts) < 6 || parts[1] != "down" && parts[1] != "up" {
		for _, pairs := range hunyuanImageParts {
			name = renamed(name, pairs)
		}
		return name
	}
	if parts[1] == "up" {
		blocks++
	}
	stage, _ := strconv.Atoi(parts[2])
	at := blocks // the sampler
	if parts[3] == "block" {
		at, _ = strconv.Atoi(parts[4])
		if at >= blocks { // so that it does not match the sampler
			return name
		}
		parts = append(parts[:4], parts[5:]...)
	}
	return fmt.Sprintf("%s.%s_blocks.%d.%s", parts[0], parts[1], stage*(blocks+1)+at, strings.Join(parts[4:], "."))
}
