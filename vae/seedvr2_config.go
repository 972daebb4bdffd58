package vae

import (
	"fmt"
	"slices"
	"strconv"

	"tessera/format"
)

// seedVR2Key is a tensor only SeedVR2's layout has. seedVR2EncoderKey is one of five
// dimensions in no other.
const (
	seedVR2Key        = "decoder.up_blocks.2.upsamplers.0.upscale_conv.weight"
	seedVR2EncoderKey = "encoder.down_blocks.0.downsamplers.0.conv.weight"
)

// isSeedVR2 tells a file of that layout.
func isSeedVR2(f format.File) bool {
	_, decoder := f.Tensor(seedVR2Key)
	t, encoder := f.Tensor(seedVR2EncoderKey)
	return decoder || encoder && len(t.Shape) == 5 && lacking(f) == "decoder"
}

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
	c := Config{Model: "SeedVR2", Layout: "original", Groups: 32, Spatial: 8, Temporal: 4, Channels: 3, Patch: 1, Lacks: lacking(f)}
	var err error
	if c.Lacks != "encoder" {
		err = c.seedVR2Encoder(t)
	}
	if err == nil && c.Lacks != "decoder" {
		err = c.seedVR2Decoder(t)
	}
	if err != nil {
		return c, t, err
	}
	// The pipeline's scaling_factor and shifting_factor (configs_*/main.yaml).
	c.Mean, c.Scale = make([]float64, c.Latent), slices.Repeat([]float64{0.9152}, c.Latent)
	if g, ok := f.Metadata()["norm_num_groups"]; ok {
		if c.Groups, err = strconv.Atoi(g); err != nil {
			return c, t, fmt.Errorf("vae: %s: metadata norm_num_groups is %.80q, expected a number", f.Name(), g)
		}
	}
	for _, w := range slices.Concat(c.Widths, c.Decoder) {
		if c.Groups < 1 || w < 1 || w%c.Groups != 0 {
			return c, t, fmt.Errorf("vae: %s: %d channels don't divide into %d norm groups (metadata norm_num_groups, default 32)", f.Name(), w, c.Groups)
		}
	}
	return c, t, c.check(f.Name())
}

// seedVR2Encoder reads the encoder's configuration, and the latent's channels where
// there is no decoder.
func (c *Config) seedVR2Encoder(t tensors) error {
	c.Blocks = t.count("encoder.down_blocks.0.resnets.%d.conv1.weight")
	stages := t.count("encoder.down_blocks.%d.resnets.0.conv1.weight")
	if stages != 4 {
		return fmt.Errorf("vae: %s: encoder.down_blocks: found %d stages, expected 4", t.file.Name(), stages)
	}
	for i := range stages {
		w, err := t.dim(fmt.Sprintf("encoder.down_blocks.%d.resnets.0.conv1.weight", i), 0, 5)
		if err != nil {
			return err
		}
		c.Widths = append(c.Widths, w)
		if i == stages-1 {
			break
		}
		kt, err := t.dim(fmt.Sprintf("encoder.down_blocks.%d.downsamplers.0.conv.weight", i), 2, 5)
		if err != nil {
			return err
		}
		c.TimeDown = append(c.TimeDown, kt == 3)
	}
	if c.Lacks == "decoder" {
		return c.moments(t, "encoder.conv_out.weight")
	}
	return nil
}

// moments reads the latent's channels from the convolution that makes their moments.
func (c *Config) moments(t tensors, name string) error {
	n, err := t.dim(name, 0, 5)
	if err == nil && n%2 != 0 {
		err = fmt.Errorf("vae: %s: tensor %s makes %d channels, expected an even number", t.file.Name(), t.name(name), n)
	}
	c.Latent = n / 2
	return err
}

// seedVR2Decoder reads the decoder's configuration. Its stages are as wide as the
// encoder's, of which there may be none.
func (c *Config) seedVR2Decoder(t tensors) error {
	stages := 4
	if c.Lacks == "encoder" {
		c.Blocks = t.count("decoder.up_blocks.0.resnets.%d.conv1.weight") - 1
		if stages = t.count("decoder.up_blocks.%d.resnets.0.conv1.weight"); stages != 4 {
			return fmt.Errorf("vae: %s: decoder.up_blocks: found %d stages, expected 4", t.file.Name(), stages)
		}
		for i := range stages {
			w, err := t.dim(fmt.Sprintf("decoder.up_blocks.%d.resnets.0.conv1.weight", i), 0, 5)
			if err != nil {
				return err
			}
			c.Decoder = append(c.Decoder, w)
		}
	} else {
		c.Decoder = slices.Clone(c.Widths)
		slices.Reverse(c.Decoder)
	}
	for i := range stages - 1 {
		name := fmt.Sprintf("decoder.up_blocks.%d.upsamplers.0.upscale_conv.weight", i)
		out, err := t.dim(name, 0, 5)
		if err != nil {
			return err
		}
		in, _ := t.dim(name, 1, 5)
		if in == 0 || out != 4*in && out != 8*in {
			return fmt.Errorf("vae: %s: tensor %s has shape [%d %d ...], expected 4 or 8 times as many outputs as inputs", t.file.Name(), name, out, in)
		}
		c.TimeUp = append(c.TimeUp, out == 8*in)
	}
	var err error
	c.Latent, err = t.dim("decoder.conv_in.weight", 1, 5)
	return err
}
