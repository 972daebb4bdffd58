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
	t := tensors{file: f, name: func(name string) string {
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
		c.Blocks = t.count("encoder.down_blocks.0.resnets.%d.conv1.weight")
		c.Widths, c.TimeDown, err = seedVR2Stages(t, "encoder.down_blocks.", ".downsamplers.0.conv.weight", 2)
	}
	if err == nil && c.Lacks != "decoder" {
		c.Decoder, c.TimeUp, err = seedVR2Stages(t, "decoder.up_blocks.", ".upsamplers.0.upscale_conv.weight", 0)
	}
	if err == nil && c.Lacks == "encoder" {
		c.Blocks = t.count("decoder.up_blocks.0.resnets.%d.conv1.weight") - 1
	}
	if err == nil {
		c.Latent, err = c.latentOf(t, "decoder.conv_in.weight", "encoder.conv_out.weight")
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
	widths := c.Decoder
	if len(widths) == 0 {
		widths = c.Widths
	}
	for _, w := range widths {
		if c.Groups < 1 || w < 1 || w%c.Groups != 0 {
			return c, t, fmt.Errorf("vae: %s: %d channels don't divide into %d norm groups (metadata norm_num_groups, default 32)", f.Name(), w, c.Groups)
		}
	}
	return c, t, c.check(f.Name())
}

// seedVR2Stages reads a network's stages: their widths, and of each sampler whether it
// changes time, which its size along an axis tells: 3 taps, or 8 outputs for each
// channel. Where a size is none of a model, the tensor is of another shape than it needs.
func seedVR2Stages(t tensors, stages, sampler string, axis int) (widths []int, times []bool, err error) {
	n := t.count(stages + "%d.resnets.0.conv1.weight")
	for i := range n {
		name := stages + strconv.Itoa(i)
		w, err := t.dim(name+".resnets.0.conv1.weight", 0, 5)
		if err != nil {
			return nil, nil, err
		}
		if widths = append(widths, w); i == n-1 {
			break
		}
		size, err := t.dim(name+sampler, axis, 5)
		if err != nil {
			return nil, nil, err
		}
		times = append(times, size == 3 || axis == 0 && size == 8*w)
	}
	return widths, times, nil
}

// latentOf reads the channels of a latent from the convolution that a decoder begins
// with, or from that which makes an encoder's moments.
func (c *Config) latentOf(t tensors, in, moments string) (int, error) {
	if c.Lacks != "decoder" {
		return t.dim(in, 1, 5)
	}
	n, err := t.dim(moments, 0, 5)
	return n / 2, err
}
