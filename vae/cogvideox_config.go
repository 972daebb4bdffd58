package vae

import (
	"path/filepath"
	"slices"
	"strings"

	"tessera/format"
)

// Tensors that tell CogVideoX's layout: of a norm by the latent, and of an encoder, where
// SeedVR2 has one of other dimensions. And the family's name.
const (
	cogVideoX           = "cogvideox"
	cogVideoXKey        = "decoder.mid_block.resnets.0.norm1.norm_layer.weight"
	cogVideoXEncoderKey = "encoder.down_blocks.0.downsamplers.0.conv.weight"
)

// publishedCogVideoX is the configuration of all of them.
var publishedCogVideoX = Config{
	Model: "CogVideoX", Layout: "diffusers", Groups: 32, Spatial: 8, Temporal: 4, Channels: 3, Patch: 1, Blocks: 3, Latent: 16,
	Widths: []int{128, 256, 256, 512}, Decoder: []int{512, 256, 256, 128}, TimeDown: []bool{true, true, false}, TimeUp: []bool{true, true, false},
}

// isCogVideoX tells a file of that layout; of an encoder alone by a convolution through
// time and one of single frames.
func isCogVideoX(f format.File) bool {
	if hasTensor(f, cogVideoXKey) {
		in, ok := f.Tensor("decoder.conv_in.conv.weight")
		return ok && len(in.Shape) == 5
	}
	in, ok := f.Tensor("encoder.conv_in.conv.weight")
	down, has := f.Tensor(cogVideoXEncoderKey)
	return ok && has && len(in.Shape) == 5 && len(down.Shape) == 4
}

// configureCogVideoX reads the configuration from names and shapes.
func configureCogVideoX(f format.File) (Config, tensors, error) {
	c := publishedCogVideoX
	c.Lacks, c.Blocks, c.Widths, c.Decoder = lacking(f), 0, nil, nil
	c.TimeDown, c.TimeUp = slices.Clone(c.TimeDown), slices.Clone(c.TimeUp)
	t := tensors{file: f, name: func(name string) string { return name }}
	if err := c.readStages(t, "down_blocks.%d.resnets.%d", "up_blocks.%d.resnets.%d", ".conv.weight", 5); err != nil {
		return c, t, err
	}
	if err := c.checkGroups(f.Name()); err != nil {
		return c, t, err
	}
	c.nameCogVideoX(f.Name())
	return c, t, c.check(f.Name())
}

// cogVideoXModel is a model of CogVideoX's, which differ by their latents' scale.
type cogVideoXModel struct {
	as, name string
	scale    float64
	words    []string // of files' names
}

// cogVideoXModels are those that there are, the most usual first: scaling_factor of
// vae/config.json. 1.5 has 5B's, and so has what is made of it.
var cogVideoXModels = []cogVideoXModel{
	{"cogvideox-5b", "CogVideoX", 0.7, []string{"5b", "1.5", "1_5", "1-5"}},
	{"cogvideox-2b", "CogVideoX-2B", 1.15258426, []string{"2b"}},
}

func (m cogVideoXModel) model() (as, name string) { return m.as, m.name }
func (m cogVideoXModel) fits(*Config) bool        { return true }

func (m cogVideoXModel) take(c *Config) {
	c.Model = m.name
	c.scaleBy(m.scale)
}

// nameCogVideoX tells the model by a file's name; else it is the most usual.
func (c *Config) nameCogVideoX(file string) {
	cogVideoXModels[0].take(c)
	c.Assumed = true
	for _, m := range cogVideoXModels {
		if hasAny(strings.ToLower(filepath.Base(file)), m.words) {
			m.take(c)
			c.Assumed = false
		}
	}
}
