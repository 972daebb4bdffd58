package vae

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tessera/internal/safetensors"
)

// ErrUnknownModel: the checkpoint is not of a family this package knows.
var ErrUnknownModel = errors.New("not a video VAE that tessera knows")

// ErrBadModel: the checkpoint can't be read, is damaged, or its tensors are not
// what the model needs.
var ErrBadModel = errors.New("unusable checkpoint")

// badModel makes an error an ErrBadModel and keeps its words.
type badModel struct{ error }

func (e badModel) Unwrap() error        { return e.error }
func (e badModel) Is(target error) bool { return target == ErrBadModel }

// Config is what a checkpoint's names and shapes tell of the model.
type Config struct {
	Family    string // "seedvr2"
	Widths    []int  // channels of the encoder's stages, shallow to deep
	Blocks    int    // residual blocks in an encoder stage; the decoder has one more
	Latent    int    // latent channels
	Groups    int    // of the group norms
	TimeDown  []bool // per encoder downsampler: also halves time
	TimeUp    []bool // per decoder upsampler: also doubles time
	Scaling   float32
	Shift     float32
	Spatial   int // pixels along a latent cell's side
	Temporal  int // frames in a latent frame after the first
	InChannel int
}

// seedVR2Key is a tensor only SeedVR2's layout has.
const seedVR2Key = "decoder.up_blocks.2.upsamplers.0.upscale_conv.weight"

// oldNames maps attention names of older diffusers to those used here.
var oldNames = strings.NewReplacer(
	".query.", ".to_q.", ".key.", ".to_k.", ".value.", ".to_v.", ".proj_attn.", ".to_out.0.")

// index lists a file's tensors under today's names.
func index(f *safetensors.File) map[string]safetensors.Tensor {
	all := map[string]safetensors.Tensor{}
	for _, name := range f.Names() {
		t, _ := f.Tensor(name)
		all[oldNames.Replace(name)] = t
	}
	return all
}

// configure recognises the family and reads the configuration from shapes.
func configure(f *safetensors.File, all map[string]safetensors.Tensor) (Config, error) {
	if _, ok := all[seedVR2Key]; !ok {
		return Config{}, fmt.Errorf("vae: %s: %w: it has no %s (SeedVR2); its tensors are %s",
			f.Name(), ErrUnknownModel, seedVR2Key, some(f.Names()))
	}
	c := Config{Family: "seedvr2", Groups: 32, Scaling: 0.9152, Spatial: 8, Temporal: 4, InChannel: 3}
	dim := func(name string, axis, rank int) (int, error) {
		t, ok := all[name]
		if !ok {
			return 0, fmt.Errorf("vae: %s: tensor %s is missing", f.Name(), name)
		}
		if len(t.Shape) != rank {
			return 0, fmt.Errorf("vae: %s: tensor %s has shape %v, expected %d dimensions", f.Name(), name, t.Shape, rank)
		}
		return t.Shape[axis], nil
	}
	var err error
	for i := 0; ; i++ {
		name := fmt.Sprintf("encoder.down_blocks.%d.resnets.0.conv1.weight", i)
		if _, ok := all[name]; !ok {
			break
		}
		var w int
		if w, err = dim(name, 0, 5); err != nil {
			return c, err
		}
		c.Widths = append(c.Widths, w)
	}
	if len(c.Widths) != 4 {
		return c, fmt.Errorf("vae: %s: encoder.down_blocks: found %d stages, expected 4", f.Name(), len(c.Widths))
	}
	for c.Blocks = 0; ; c.Blocks++ {
		if _, ok := all[fmt.Sprintf("encoder.down_blocks.0.resnets.%d.conv1.weight", c.Blocks)]; !ok {
			break
		}
	}
	for i := range len(c.Widths) - 1 {
		kt, err := dim(fmt.Sprintf("encoder.down_blocks.%d.downsamplers.0.conv.weight", i), 2, 5)
		if err != nil {
			return c, err
		}
		name := fmt.Sprintf("decoder.up_blocks.%d.upsamplers.0.upscale_conv.weight", i)
		out, err := dim(name, 0, 5)
		if err != nil {
			return c, err
		}
		in, _ := dim(name, 1, 5)
		if in == 0 || out != 4*in && out != 8*in {
			return c, fmt.Errorf("vae: %s: tensor %s has shape %v, expected 4 or 8 times as many outputs as inputs", f.Name(), name, all[name].Shape)
		}
		c.TimeDown = append(c.TimeDown, kt == 3)
		c.TimeUp = append(c.TimeUp, out == 8*in)
	}
	if c.Latent, err = dim("decoder.conv_in.weight", 1, 5); err != nil {
		return c, err
	}
	if g, ok := f.Metadata()["norm_num_groups"]; ok {
		if c.Groups, err = strconv.Atoi(g); err != nil {
			return c, fmt.Errorf("vae: %s: metadata norm_num_groups is %q, expected a number", f.Name(), g)
		}
	}
	return c, c.check(f.Name())
}

// check refuses what the layers can't be built for.
func (c *Config) check(file string) error {
	for _, w := range c.Widths {
		if c.Groups < 1 || w < 1 || w%c.Groups != 0 {
			return fmt.Errorf("vae: %s: %d channels don't divide into %d norm groups (metadata norm_num_groups, default 32)", file, w, c.Groups)
		}
	}
	if c.Blocks < 1 || c.Latent < 1 {
		return fmt.Errorf("vae: %s: found %d residual blocks a stage and %d latent channels, expected at least one", file, c.Blocks, c.Latent)
	}
	down, up := 1, 1
	for i := range c.TimeDown {
		if c.TimeDown[i] {
			down *= 2
		}
		if c.TimeUp[i] {
			up *= 2
		}
	}
	if down != 4 || up != 4 {
		return fmt.Errorf("vae: %s: found temporal factors %d down and %d up, expected 4 and 4", file, down, up)
	}
	return nil
}

// some lists the first few names.
func some(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + fmt.Sprintf(" and %d more", len(names)-3)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
