package vae

import (
	"fmt"
	"path/filepath"
	"strings"

	"tessera/format"
	"tessera/latent"
)

// taehv is the family's name, with the tensors that identify its layout.
const (
	taehv           = "taehv"
	taehvKey        = "decoder.22.bias"
	taehvEncoderKey = "encoder.12.conv.weight"
)

// Decoders with unusual blocks.
const (
	wideTAEHV  = "wide"
	superTAEHV = "super"
)

// publishedTAEHV is the configuration of taew2_1.
var publishedTAEHV = Config{
	Model: "TAEHV", pipeline: true, Layout: "original", Spatial: 8, Temporal: 4, Channels: 3, Patch: 1, Blocks: taehvBlocks, Latent: 16,
	Widths: []int{64, 64, 64, 64}, Decoder: []int{256, 128, 64, 64},
	TimeDown: []bool{true, true, false}, TimeUp: []bool{false, true, true},
}

// isTAEHV recognises a file of that layout. TAESD has layers with such names, but none
// that change the number of frames.
func isTAEHV(f format.File) bool {
	return hasTensor(f, taehvKey) && hasTensor(f, "decoder.7.conv.weight") || hasTensor(f, taehvEncoderKey) && hasTensor(f, "encoder.17.bias")
}

// configureTAEHV reads the configuration from names and shapes.
func configureTAEHV(f format.File) (Config, tensors, error) {
	c := Config{Family: taehv, Layout: "original", Channels: 3, Blocks: taehvBlocks, Lacks: lacking(f)}
	r := &dims{tensors: tensors{file: f, name: func(name string) string { return name }}}
	first, growing := "decoder.1.weight", []int{7, 13, 19}
	if c.Lacks != "decoder" {
		convs := []int{8, 14, 20}
		switch {
		case r.has("decoder.0.weight"):
			c.Variant, first, growing, convs = superTAEHV, "decoder.0.weight", []int{7, 14, 21}, []int{4, 11, 18}
		case r.has("decoder.3.conv.6.weight"):
			c.Variant = wideTAEHV
		}
		c.Decoder = []int{r.dim(first, 0)}
		for i, conv := range convs {
			w := r.dim(fmt.Sprintf("decoder.%d.weight", conv), 0)
			if c.Variant == superTAEHV { // of squares of 2x2
				w = r.over(fmt.Sprintf("decoder.%d.weight", conv), w, 4)
			}
			c.Decoder = append(c.Decoder, w)
			c.TimeUp = append(c.TimeUp, r.frames(fmt.Sprintf("decoder.%d.conv.weight", growing[i]), 0))
			if c.Variant == wideTAEHV {
				c.inGroup = append(c.inGroup, r.dim(fmt.Sprintf("decoder.%d.conv.2.weight", 3+6*i), 1))
			}
		}
		c.Latent, c.Patch = r.dim(first, 1), r.patch("decoder.22.weight", 0)
	}
	if c.Lacks != "encoder" {
		c.Widths = []int{r.dim("encoder.0.weight", 0)}
		for _, at := range []int{2, 7, 12} {
			c.Widths = append(c.Widths, r.dim(fmt.Sprintf("encoder.%d.weight", at+1), 0))
			c.TimeDown = append(c.TimeDown, r.frames(fmt.Sprintf("encoder.%d.conv.weight", at), 1))
		}
		c.Latent, c.Patch = r.dim("encoder.17.weight", 0), r.patch("encoder.0.weight", 1)
	}
	if r.err != nil {
		return c, r.tensors, r.err
	}
	c.Spatial, c.Temporal = 8*c.Patch, 1
	times := c.TimeDown
	if c.Lacks == "encoder" {
		times = c.TimeUp
	}
	for _, time := range times {
		if time {
			c.Temporal *= 2
		}
	}
	if err := c.checkBlocks(f.Name()); err != nil {
		return c, r.tensors, err
	}
	if c.Latent == 24 && c.Patch == 2 { // no other model has as many
		c.Cycle = 5
	}
	c.nameTAEHV(f.Name())
	return c, r.tensors, c.check(f.Name())
}

// checkBlocks refuses widths that a decoder's blocks cannot have.
func (c *Config) checkBlocks(file string) error {
	for i, w := range c.Decoder[:max(0, len(c.Decoder)-1)] {
		switch {
		case c.Variant == superTAEHV && w%4 != 0:
			return fmt.Errorf("vae: %s: decoder stage %d has %d channels, expected a multiple of 4", file, i, w)
		case c.Variant == wideTAEHV && (w%c.inGroup[i] != 0 || c.inGroup[i] != w && c.inGroup[i]%8 != 0):
			return fmt.Errorf("vae: %s: decoder stage %d has %d channels in groups of %d, expected a divisor that is a multiple of 8", file, i, w, c.inGroup[i])
		}
	}
	return nil
}

// dims reads a checkpoint's shapes, up to the first invalid one.
type dims struct {
	tensors
	err error
}

// dim returns the size along an axis of a 2D convolution; 1 after an error.
func (r *dims) dim(name string, axis int) int {
	n, err := r.tensors.dim(name, axis, 4)
	if err != nil {
		if r.err == nil {
			r.err = err
		}
		return 1
	}
	return n
}

// over returns n/by, for a tensor that has n along an axis.
func (r *dims) over(name string, n, by int) int {
	if n%by != 0 && r.err == nil {
		r.err = fmt.Errorf("vae: %s: tensor %s has %d channels, expected a multiple of %d", r.file.Name(), name, n, by)
	}
	return n / by
}

// frames reports whether one axis has twice the channels of the other, those of two
// frames.
func (r *dims) frames(name string, axis int) bool {
	one, all := r.dim(name, 1-axis), r.dim(name, axis)
	if all != one && all != 2*one && r.err == nil {
		r.err = fmt.Errorf("vae: %s: tensor %s is of %d and %d channels, expected as many or twice as many", r.file.Name(), name, one, all)
	}
	return all == 2*one
}

// patch returns the side of squares of pixels whose channels lie along an axis.
func (r *dims) patch(name string, axis int) int {
	n := r.over(name, r.dim(name, axis), 3)
	side := root(n)
	if side == 0 && r.err == nil {
		r.err = fmt.Errorf("vae: %s: tensor %s has %d channels of pixels, expected 3 times a square", r.file.Name(), name, 3*n)
	}
	return side
}

// taehvModel is a published file. TAEHV's latents are those that the diffusion model
// sees.
type taehvModel struct {
	as, name  string
	of        latent.Checkpoint // the model whose VAE it approximates, if that family is supported
	latent    int
	mean, std []float64 // of the VAE that it approximates
	scale     float64   // or that VAE's factor
	own       bool      // its latents have that VAE's own numbers
	full      int       // see Config.Full
	leaky     bool      // LeakyReLU instead of ReLU, and pixels from -1 to 1
	words     []string  // in file names, without separators
}

// latentsOf identifies the latents of a model.
func latentsOf(family, model string) latent.Checkpoint {
	return latent.Checkpoint{Family: family, Model: model}
}

// taehvModels are the models that are distinguished, the most common of a shape first.
var taehvModels = []taehvModel{
	{as: "taew2_1", name: "TAEHV for Wan 2.1", of: latentsOf(wan21, "Wan 2.1"), latent: 16, mean: wan21Mean, std: wan21Std, words: []string{"taew", "wan"}},
	{as: taehv, name: "TAEHV for HunyuanVideo", of: latentsOf(hunyuan, "HunyuanVideo"), latent: 16, scale: 0.476986, words: []string{taehv, "hunyuan"}},
	{as: "taecvx", name: "TAEHV for CogVideoX", of: latentsOf(cogVideoX, "CogVideoX"), latent: 16, full: 2, words: []string{"taecvx", "cogvideo"}},
	{as: "taeos1_3", name: "TAEHV for Open-Sora 1.3", latent: 16, words: []string{"taeos", "opensora"}},
	{as: "lighttaew2_1", name: "LightTAE for Wan 2.1", of: latentsOf(wan21, "Wan 2.1"), latent: 16, mean: wan21Mean, std: wan21Std, own: true, words: []string{"lighttae"}},
	{as: "taew2_2", name: "TAEHV for Wan 2.2", of: latentsOf(wan22, "Wan 2.2"), latent: 48, mean: wan22Mean, std: wan22Std, words: []string{"tae"}},
	{as: "lighttaew2_2", name: "LightTAE for Wan 2.2", of: latentsOf(wan22, "Wan 2.2"), latent: 48, mean: wan22Mean, std: wan22Std, own: true, words: []string{"lighttae"}},
	{as: "taehv1_5", name: "TAEHV for HunyuanVideo 1.5", of: latentsOf(hunyuan15, "HunyuanVideo 1.5"), latent: 32, scale: 1.03682, words: []string{"tae"}},
	{as: "lighttaehy1_5", name: "LightTAE for HunyuanVideo 1.5", of: latentsOf(hunyuan15, "HunyuanVideo 1.5"), latent: 32, scale: 1.03682, own: true, leaky: true, words: []string{"lighttae"}},
	{as: "taeh3", name: "TAEHV for MiniMax-H3", latent: 24, words: []string{"tae"}},
	{as: "taeltx_2", name: "TAEHV for LTX-2", of: latentsOf(ltx, "LTX-2"), latent: 128, words: []string{"tae"}},
	{as: "taeltx2_3", name: "TAEHV for LTX-2.3", of: latentsOf(ltx, "LTX-2.3"), latent: 128, words: []string{"ltx23"}},
}

// nameTAEHV identifies the model by the file's name; by default it is the most common
// one.
func (c *Config) nameTAEHV(path string) {
	c.Model = publishedTAEHV.Model
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. ", r) {
			return -1
		}
		return r
	}, strings.ToLower(filepath.Base(path)))
	fit := 0
	for _, m := range taehvModels {
		if !m.fits(c) {
			continue
		}
		fit++
		if named := hasAny(name, m.words); named || fit == 1 { // "tae" also matches lighttae, which comes later
			m.take(c)
			c.Assumed = !named
		}
	}
	c.Assumed = c.Assumed && fit > 1
}

func (m taehvModel) model() (as, name string) { return m.as, m.name }

func (m taehvModel) fits(c *Config) bool { return m.latent == c.Latent }

func (m taehvModel) take(c *Config) {
	c.Model, c.Leaky, c.Full, c.pipeline = m.name, m.leaky, m.full, !m.own
	c.Mean, c.Scale = nil, nil
	switch {
	case m.mean != nil:
		c.standardise(m.mean, m.std)
	case m.scale != 0:
		c.scaleBy(m.scale)
	}
}
