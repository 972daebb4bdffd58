package vae

import (
	"fmt"
	"slices"
	"strconv"

	"tessera/format"
)

// seedVR2Key is a tensor only SeedVR2's layout has.
const seedVR2Key = "decoder.up_blocks.2.upsamplers.0.upscale_conv.weight"

// publishedSeedVR2 is the configuration of ema_vae.pth.
var publishedSeedVR2 = Config{
	Model: "SeedVR2", Layout: "original", Groups: 32, Spatial: 8, Temporal: 4, Channels: 3, Patch: 1, Blocks: 2, Latent: 16,
	Widths: []int{128, 256, 512, 512}, Decoder: []int{512, 512, 256, 128},
	TimeDown: []bool{false, true, true}, TimeUp: []bool{true, true, false},
}

// oldNames are attention names of older diffusers for those of today.
var oldNames = []string{".to_q.", ".query.", ".to_k.", ".key.", ".to_v.", ".value.", ".to_out.0.", ".proj_attn."}

// configureSeedVR2 reads SeedVR2's configuration from shapes.
func configureSeedVR2(f format.File) (Config, tensors, error) {
	t := tensors{f, func(name string) string {
		if _, ok := f.Tensor(name); ok {
			return name
		}
		if old := renamed(name, oldNames); old != name {
			if _, ok := f.Tensor(old); ok {
				return old
			}
		}
		return name
	}}
	c := Config{
		Model: "SeedVR2", Layout: "original", Groups: 32, Spatial: 8, Temporal: 4, Channels: 3, Patch: 1,
		Blocks: t.count("encoder.down_blocks.0.resnets.%d.conv1.weight"),
	}
	stages := t.count("encoder.down_blocks.%d.resnets.0.conv1.weight")
	if stages != 4 {
		return c, t, fmt.Errorf("vae: %s: encoder.down_blocks: found %d stages, expected 4", f.Name(), stages)
	}
	for i := range stages {
		w, err := t.dim(fmt.Sprintf("encoder.down_blocks.%d.resnets.0.conv1.weight", i), 0, 5)
		if err != nil {
			return c, t, err
		}
		c.Widths = append(c.Widths, w)
		if i == stages-1 {
			break
		}
		kt, err := t.dim(fmt.Sprintf("encoder.down_blocks.%d.downsamplers.0.conv.weight", i), 2, 5)
		if err != nil {
			return c, t, err
		}
		name := fmt.Sprintf("decoder.up_blocks.%d.upsamplers.0.upscale_conv.weight", i)
		out, err := t.dim(name, 0, 5)
		if err != nil {
			return c, t, err
		}
		in, _ := t.dim(name, 1, 5)
		if in == 0 || out != 4*in && out != 8*in {
			return c, t, fmt.Errorf("vae: %s: tensor %s has shape [%d %d ...], expected 4 or 8 times as many outputs as inputs", f.Name(), name, out, in)
		}
		c.TimeDown = append(c.TimeDown, kt == 3)
		c.TimeUp = append(c.TimeUp, out == 8*in)
	}
	c.Decoder = slices.Clone(c.Widths)
	slices.Reverse(c.Decoder)
	var err error
	if c.Latent, err = t.dim("decoder.conv_in.weight", 1, 5); err != nil {
		return c, t, err
	}
	// The pipeline's scaling_factor and shifting_factor (configs_*/main.yaml).
	c.Mean, c.Scale = make([]float64, c.Latent), slices.Repeat([]float64{0.9152}, c.Latent)
	if g, ok := f.Metadata()["norm_num_groups"]; ok {
		if c.Groups, err = strconv.Atoi(g); err != nil {
			return c, t, fmt.Errorf("vae: %s: metadata norm_num_groups is %.80q, expected a number", f.Name(), g)
		}
	}
	for _, w := range c.Widths {
		if c.Groups < 1 || w < 1 || w%c.Groups != 0 {
			return c, t, fmt.Errorf("vae: %s: %d channels don't divide into %d norm groups (metadata norm_num_groups, default 32)", f.Name(), w, c.Groups)
		}
	}
	return c, t, c.check(f.Name())
}
