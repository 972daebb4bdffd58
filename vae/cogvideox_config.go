package vae

import (
	"path/filepath"
	"slices"
	"strings"

	"tessera/format"
)

// Tensors that identify CogVideoX's layout: a norm conditioned on the latent, and an
// encoder's, which has other dimensions in SeedVR2. And the family's name.
const (
	cogVideoX           = "cogvideox"
	cogVideoXKey        = "decoder.mid_block.resnets.0.norm1.norm_layer.weight"
	cogVideoXEncoderKey = "encoder.down_blocks.0.downsamplers.0.conv.weight"
)

// publishedCogVideoX is the configuration of all published models.
var publishedCogVideoX = Config{
	Model: "CogVideoX", Layout: "diffusers", Groups: 32, Spatial: 8, Temporal: 4, Channels: 3, Patch: 1, Blocks: 3, Latent: 16,
	Widths: []int{128, 256, 256, 512}, Decoder: []int{512, 256, 256, 128}, TimeDown: []bool{true, true, false}, TimeUp: []bool{true, true, false},
}

// isCogVideoX recognises a file of that layout. A file with an encoder alone has a
// convolution through time and one of single frames.
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

// cogVideoXModel is one of CogVideoX's models, which differ in the scale of their
// latents.
type cogVideoXModel struct {
	as, name string
	scale    float64
	words    []string // in file names
}

// cogVideoXModels are the known models, the most common first, with scaling_factor of
// vae/config.json. 1.5 and its derivatives have 5B's.
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

// nameCogVideoX identifies the model by a file's name; by default it is the most common
// one.
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
