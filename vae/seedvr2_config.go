package vae

import (
	"fmt"
	"strconv"

	"tessera/format"
)

// seedVR2Key is a tensor that only SeedVR2's layout has. seedVR2EncoderKey has five
// dimensions only in SeedVR2's.
const (
	seedVR2Key        = "decoder.up_blocks.2.upsamplers.0.upscale_conv.weight"
	seedVR2EncoderKey = "encoder.down_blocks.0.downsamplers.0.conv.weight"
)

// isSeedVR2 recognises a file of that layout.
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

// oldNames replaces attention names of older diffusers versions by current ones.
var oldNames = []string{".to_q.", ".query.", ".to_k.", ".key.", ".to_v.", ".value.", ".to_out.0.", ".proj_attn."}

// configureSeedVR2 reads SeedVR2's configuration from shapes.
func configureSeedVR2(f format.File) (Config, tensors, error) {
	t := tensors{file: f, name: func(name string) string {
		if old := renamed(name, oldNames); !hasTensor(f, name) && hasTensor(f, old) {
			return old
		}
		return name
	}}
	c := Config{Model: "SeedVR2", Layout: "original", Groups: 32, Spatial: 8, Temporal: 4, Channels: 3, Patch: 1, Lacks: lacking(f)}
	err := c.readStages(t, "down_blocks.%d.resnets.%d", "up_blocks.%d.resnets.%d", ".weight", 5)
	if err == nil {
		c.TimeDown, err = seedVR2Times(t, "encoder.down_blocks.%d.downsamplers.0.conv.weight", 2, c.Widths)
	}
	if err == nil {
		c.TimeUp, err = seedVR2Times(t, "decoder.up_blocks.%d.upsamplers.0.upscale_conv.weight", 0, c.Decoder)
	}
	if err != nil {
		return c, t, err
	}
	// The pipeline's scaling_factor and shifting_factor (configs_*/main.yaml).
	c.scaleBy(0.9152)
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
			return c, t, fmt.Errorf("vae: %s: %d channels are not a multiple of %d norm groups (metadata norm_num_groups, default 32)", f.Name(), w, c.Groups)
		}
	}
	return c, t, c.check(f.Name())
}

// seedVR2Times reads from a size of each sampler, along an axis, whether it changes time:
// 3 taps, or 8 outputs per channel. The check of the tensors reports any other size.
func seedVR2Times(t tensors, sampler string, axis int, widths []int) (times []bool, err error) {
	for i, w := range widths[:max(0, len(widths)-1)] {
		size, err := t.dim(fmt.Sprintf(sampler, i), axis, 5)
		if err != nil {
			return nil, err
		}
		times = append(times, size == 3 || axis == 0 && size == 8*w)
	}
	return times, nil
}
