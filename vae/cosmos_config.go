package vae

import (
	"fmt"
	"slices"
	"strings"

	"tessera/format"
)

// cosmos is the name of the family of Cosmos 1.0's tokenizer. The keys are tensors that
// identify its layouts: diffusers' names and the original ones.
const (
	cosmos                   = "cosmos1"
	cosmosKey                = "decoder.conv_in.conv_s.weight"
	cosmosEncoderKey         = "encoder.conv_in.conv_s.weight"
	cosmosOriginalKey        = "decoder.conv_in.0.conv3d.weight"
	cosmosOriginalEncoderKey = "encoder.conv_in.0.conv3d.weight"
)

// cosmosConfig lists which blocks of each network end with a sampler.
type cosmosConfig struct{ down, up []bool }

// publishedCosmos is the configuration of Cosmos-1.0-Tokenizer-CV8x8x8.
var publishedCosmos = Config{
	Model: "Cosmos 1.0", Layout: "diffusers", Groups: 1, Spatial: 8, Temporal: 8, Channels: 3, Patch: cosmosPatch, Blocks: 2, Latent: 16, Quant: true,
	Widths: []int{128, 256, 512, 512}, Decoder: []int{512, 512, 512, 256}, TimeDown: []bool{true}, TimeUp: []bool{true},
	Frames: cosmosFrames, Sigma: cosmosSigma, cosmos: cosmosConfig{down: []bool{true, false, false}, up: []bool{false, true, false}},
}

// isCosmos recognises a file of those layouts.
func isCosmos(f format.File) bool {
	return hasTensor(f, cosmosKey, cosmosEncoderKey, cosmosOriginalKey, cosmosOriginalEncoderKey)
}

// configureCosmos reads the configuration from names and shapes. The layers use diffusers'
// names.
func configureCosmos(f format.File) (Config, tensors, error) {
	c := Config{Model: "Cosmos 1.0", Layout: "diffusers", Groups: 1, Channels: 3, Patch: cosmosPatch, Quant: true, Lacks: lacking(f)}
	t := tensors{file: f, name: func(name string) string { return name }, flat: "attentions.0.to_"} // these are [c, c, 1, 1, 1]
	if !hasTensor(f, cosmosKey, cosmosEncoderKey) {
		c.Layout, t.name = "original", cosmosOriginal
	}
	samplers := 0
	if c.Lacks != "encoder" {
		if err := cosmosBlocks(t, "encoder.conv_in.", "encoder.down_blocks.%d.", "downsamplers.0.", &c.Widths, &c.cosmos.down); err != nil {
			return c, t, err
		}
		c.Blocks = t.count("encoder.down_blocks.0.resnets.%d.conv1.conv_s.weight")
		c.TimeDown, samplers = cosmosSamplers(c.cosmos.down)
	}
	if c.Lacks != "decoder" {
		if err := cosmosBlocks(t, "decoder.conv_in.", "decoder.up_blocks.%d.", "upsamplers.0.", &c.Decoder, &c.cosmos.up); err != nil {
			return c, t, err
		}
		var n int
		if c.TimeUp, n = cosmosSamplers(c.cosmos.up); c.Lacks == "" && n != samplers {
			return c, t, fmt.Errorf("vae: %s: found %d samplers in the encoder and %d in the decoder, expected as many", f.Name(), samplers, n)
		}
		samplers = n
		if c.Lacks == "encoder" {
			c.Blocks = t.count("decoder.up_blocks.0.resnets.%d.conv1.conv_s.weight") - 1
		}
	}
	c.Spatial, c.Temporal = cosmosPatch<<samplers, cosmosPatch<<samplers
	conv, axis := "decoder.conv_in.conv_s.weight", 1
	if c.Lacks == "decoder" {
		conv, axis = "encoder.conv_out.conv_s.weight", 0
	}
	var err error
	if c.Latent, err = t.dim(conv, axis, 5); err != nil {
		return c, t, err
	}
	if c.Latent*cosmosFrames == len(cosmosMean) {
		c.Mean, c.Frames, c.Sigma = slices.Clone(cosmosMean), cosmosFrames, cosmosSigma
		for _, std := range cosmosStd {
			c.Scale = append(c.Scale, cosmosSigma/std)
		}
	}
	return c, t, c.checkSizes(f.Name())
}

// cosmosBlocks reads a network's widths and the blocks that end with a sampler.
func cosmosBlocks(t tensors, start, format, sampler string, widths *[]int, samplers *[]bool) error {
	w, err := t.dim(start+"conv_s.weight", 0, 5)
	if err != nil {
		return err
	}
	*widths = []int{w}
	n, err := t.stages(format + "resnets.0.conv1.conv_s.weight")
	if err != nil {
		return err
	}
	for i := range n {
		block := fmt.Sprintf(format, i)
		if w, err = t.dim(block+"resnets.0.conv1.conv_s.weight", 0, 5); err != nil {
			return err
		}
		*widths, *samplers = append(*widths, w), append(*samplers, t.has(block+sampler+"conv3.weight"))
	}
	return nil
}

// cosmosSamplers counts the samplers of a network; each also changes time.
func cosmosSamplers(blocks []bool) (times []bool, n int) {
	times = []bool{}
	for _, sampler := range blocks {
		if sampler {
			times = append(times, true)
		}
	}
	return times, len(times)
}

// Parts of diffusers' names, and the original ones.
var cosmosParts = [][]string{
	{".mid_block.resnets.0.", ".mid.block_1.", ".mid_block.resnets.1.", ".mid.block_2.", ".mid_block.attentions.0.", ".mid.attn_1.0.", ".mid_block.temp_attentions.0.", ".mid.attn_1.1."},
	{".conv_s.", ".0.conv3d.", ".conv_t.", ".1.conv3d.", ".to_q.", ".q.conv3d.", ".to_k.", ".k.conv3d.", ".to_v.", ".v.conv3d.", ".to_out.0.", ".proj_out.conv3d.", ".conv_shortcut.", ".nin_shortcut.conv3d."},
	{".resnets.", ".block.", ".downsamplers.0.conv1.", ".downsample.conv1.conv3d.", ".downsamplers.0.conv2.", ".downsample.conv2.conv3d.", ".downsamplers.0.conv3.", ".downsample.conv3.conv3d.",
		".upsamplers.0.conv1.", ".upsample.conv1.conv3d.", ".upsamplers.0.conv2.", ".upsample.conv2.conv3d.", ".upsamplers.0.conv3.", ".upsample.conv3.conv3d."},
}

// cosmosOriginal returns the original name of a tensor. The original numbers the
// decoder's three levels from the last.
func cosmosOriginal(name string) string {
	if conv, rest, ok := strings.Cut(name, "quant_conv."); ok {
		return conv + "quant_conv.conv3d." + rest
	}
	for _, pairs := range cosmosParts {
		name = renamed(name, pairs)
	}
	return ldmStages(name, 3)
}
