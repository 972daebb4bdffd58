package vae

import (
	"fmt"
	"path/filepath"
	"strings"

	"tessera/engine"
	"tessera/format"
)

// Tensors that only Wan's layouts have, and the families' names.
const (
	wan21           = "wan2.1" // also Qwen-Image's VAE
	wan22           = "wan2.2"
	wanKey          = "decoder.middle.0.residual.0.gamma"
	wanDiffusersKey = "decoder.mid_block.resnets.0.norm1.gamma"

	wanEncoderKey          = "encoder.middle.0.residual.0.gamma"
	wanDiffusersEncoderKey = "encoder.mid_block.resnets.0.norm1.gamma"
)

// Statistics of the latents, per channel: vae2_1.py and vae2_2.py.
var (
	wan21Mean = []float64{
		-0.7571, -0.7089, -0.9113, 0.1075, -0.1745, 0.9653, -0.1517, 1.5508,
		0.4134, -0.0715, 0.5517, -0.3632, -0.1922, -0.9497, 0.2503, -0.2921,
	}
	wan21Std = []float64{
		2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743,
		3.2687, 2.1526, 2.8652, 1.5579, 1.6382, 1.1253, 2.8251, 1.9160,
	}
	wan22Mean = []float64{
		-0.2289, -0.0052, -0.1323, -0.2339, -0.2799, 0.0174, 0.1838, 0.1557,
		-0.1382, 0.0542, 0.2813, 0.0891, 0.1570, -0.0098, 0.0375, -0.1825,
		-0.2246, -0.1207, -0.0698, 0.5109, 0.2665, -0.2108, -0.2158, 0.2502,
		-0.2055, -0.0322, 0.1109, 0.1567, -0.0729, 0.0899, -0.2799, -0.1230,
		-0.0313, -0.1649, 0.0117, 0.0723, -0.2839, -0.2083, -0.0520, 0.3748,
		0.0152, 0.1957, 0.1433, -0.2944, 0.3573, -0.0548, -0.1681, -0.0667,
	}
	wan22Std = []float64{
		0.4765, 1.0364, 0.4514, 1.1677, 0.5313, 0.4990, 0.4818, 0.5013,
		0.8158, 1.0344, 0.5894, 1.0901, 0.6885, 0.6165, 0.8454, 0.4978,
		0.5759, 0.3523, 0.7135, 0.6804, 0.5833, 1.4146, 0.8986, 0.5659,
		0.7069, 0.5338, 0.4889, 0.4917, 0.4069, 0.4999, 0.6866, 0.4093,
		0.5709, 0.6065, 0.6415, 0.4944, 0.5726, 1.2042, 0.5458, 1.6887,
		0.3971, 1.0600, 0.3943, 0.5537, 0.5444, 0.4089, 0.7468, 0.7744,
	}
)

// The configurations of Wan2.1_VAE.pth and Wan2.2_VAE.pth.
var (
	publishedWan21 = Config{
		Model: "Wan 2.1", Layout: "original", Spatial: 8, Temporal: 4, Channels: 3, Patch: 1, Blocks: 2, Latent: 16,
		Widths: []int{96, 192, 384, 384}, Decoder: []int{384, 384, 192, 96},
		TimeDown: []bool{false, true, true}, TimeUp: []bool{true, true, false},
	}
	publishedWan22 = Config{
		Model: "Wan 2.2", Layout: "original", Spatial: 16, Temporal: 4, Channels: 3, Patch: 2, Blocks: 2, Latent: 48,
		Widths: []int{160, 320, 640, 640}, Decoder: []int{1024, 1024, 512, 256},
		TimeDown: []bool{false, true, true}, TimeUp: []bool{true, true, false},
	}
)

// isWan recognises a file of Wan's layouts, and whether its blocks are nested in stages,
// as in Wan 2.2.
func isWan(f format.File) (wan, nested bool) {
	if isHunyuan15(f) { // it has diffusers' names too, but wrapped convolutions
		return false, false
	}
	wan = hasTensor(f, wanKey, wanDiffusersKey, wanEncoderKey, wanDiffusersEncoderKey)
	if lacking(f) == "encoder" {
		return wan, hasTensor(f, "decoder.upsamples.0.upsamples.0.residual.0.gamma", "decoder.up_blocks.0.upsampler.resample.1.weight")
	}
	return wan, hasTensor(f, "encoder.downsamples.0.downsamples.0.residual.0.gamma", "encoder.down_blocks.0.resnets.0.norm1.gamma")
}

// configureWan reads the configuration of Wan 2.1, Wan 2.2, Qwen-Image or Qwen-Image-2.1
// from names and shapes. The layers use the original names.
func configureWan(f format.File) (Config, tensors, error) {
	c := Config{Family: wan21, Layout: "original", Temporal: 4, Patch: 1, Lacks: lacking(f)}
	n := &wanNames{blocks: 1 << 20} // not known yet
	t := tensors{file: f, name: func(name string) string { return name }}
	if !hasTensor(f, wanKey, wanEncoderKey) {
		c.Layout, t.name = "diffusers", n.diffusers
	}
	if _, n.nested = isWan(f); isQwen21(f) {
		c.Family, c.Temporal, c.Independent, t.thick = qwen21, 1, true, qwen21Thick
	} else if n.nested {
		c.Family, c.Patch = wan22, 2
	}
	switch first := c.Lacks == "encoder"; {
	case first && n.nested:
		c.Blocks = t.count("decoder.upsamples.0.upsamples.%d.residual.2.weight") - 1
	case first:
		c.Blocks = t.count("decoder.upsamples.%d.residual.2.weight") - 1
	case n.nested:
		c.Blocks = t.count("encoder.downsamples.0.downsamples.%d.residual.2.weight")
	default:
		c.Blocks = t.count("encoder.downsamples.%d.residual.2.weight")
	}
	n.blocks = c.Blocks
	if err := c.wanWidths(t, n); err != nil {
		return c, t, err
	}
	c.Spatial = c.Patch << max(len(c.TimeDown), len(c.TimeUp))
	err := c.wanPixels(t)
	if err != nil {
		return c, t, err
	}
	if c.Latent, err = c.latentOf(t, "decoder.conv1.weight", "encoder.head.2.weight", 5); err != nil {
		return c, t, err
	}
	nameWan(&c, f.Name(), false)
	c.statistics()
	if err := c.check(f.Name()); err != nil {
		return c, t, err
	}
	return c, t, c.checkShortcuts(f.Name())
}

// wanPixels reads the channels of a pixel, and whether the decoder makes several pixels
// of one, as in Wan2.1-VAE-upscale2x.
func (c *Config) wanPixels(t tensors) error {
	read := func(name string, axis int) (int, error) {
		pixel, err := t.dim(name, axis, 5)
		if square := c.Patch * c.Patch; err == nil && pixel%square != 0 {
			err = fmt.Errorf("vae: %s: tensor %s has %d channels of pixels, expected a multiple of %d", t.file.Name(), t.name(name), pixel, square)
		}
		return pixel / (c.Patch * c.Patch), err
	}
	in, out := 0, 0
	var err error
	if c.Lacks != "encoder" {
		in, err = read("encoder.conv1.weight", 1)
	}
	if err == nil && c.Lacks != "decoder" {
		out, err = read("decoder.head.2.weight", 0)
	}
	if err != nil {
		return err
	}
	if c.Channels = in; in == 0 { // RGB, or RGB with alpha if only that fits
		c.Channels = 3
		if out%4 == 0 && root(out/4) > 0 {
			c.Channels = 4
		}
	}
	if out == 0 || out == c.Channels {
		return nil
	}
	if c.Upscale = root(out / c.Channels); c.Patch > 1 || c.Upscale < 2 || out%c.Channels != 0 {
		const name = "decoder.head.2.weight"
		return fmt.Errorf("vae: %s: tensor %s makes %d channels, expected the %d of a pixel", t.file.Name(), t.name(name), out*c.Patch*c.Patch, c.Channels*c.Patch*c.Patch)
	}
	return nil
}

// root returns the square root of n, 0 if it is not an integer.
func root(n int) int {
	for i := 1; i*i <= n; i++ {
		if i*i == n {
			return i
		}
	}
	return 0
}

// wanWidths reads the stages' channels and which samplers change time.
func (c *Config) wanWidths(t tensors, n *wanNames) error {
	for i := 0; t.has(n.encoder(i, 0) + ".residual.2.weight"); i++ {
		w, err := t.dim(n.encoder(i, 0)+".residual.2.weight", 0, 5)
		if err != nil {
			return err
		}
		c.Widths = append(c.Widths, w)
		if sampler := n.encoder(i, c.Blocks); t.has(sampler + ".resample.1.weight") {
			c.TimeDown = append(c.TimeDown, c.Temporal > 1 && t.has(sampler+".time_conv.weight"))
		}
	}
	for i := 0; t.has(n.decoder(i, 0) + ".residual.2.weight"); i++ {
		w, err := t.dim(n.decoder(i, 0)+".residual.2.weight", 0, 5)
		if err != nil {
			return err
		}
		c.Decoder = append(c.Decoder, w)
		if sampler := n.decoder(i, c.Blocks+1); t.has(sampler + ".resample.1.weight") {
			c.TimeUp = append(c.TimeUp, c.Temporal > 1 && t.has(sampler+".time_conv.weight"))
		}
	}
	down, up := len(c.TimeDown)+1, len(c.TimeUp)+1
	if c.Lacks != "encoder" && down != len(c.Widths) || c.Lacks != "decoder" && up != len(c.Decoder) {
		return fmt.Errorf("vae: %s: found %d and %d samplers in %d encoder and %d decoder stages, expected one less each",
			t.file.Name(), len(c.TimeDown), len(c.TimeUp), len(c.Widths), len(c.Decoder))
	}
	return nil
}

// nameWan sets the model's name. Qwen-Image's VAE has the names and shapes of Wan 2.1's,
// so the file's name or the config.json beside it (qwen) must decide.
func nameWan(c *Config, path string, qwen bool) {
	switch {
	case c.Family == wan22:
		c.Model = "Wan 2.2"
	case c.Family == qwen21:
		c.Model = "Qwen-Image 2.1"
	case c.Channels == 4:
		c.Model, c.Independent = "Qwen-Image-Layered", true
	case strings.Contains(strings.ToLower(filepath.Base(path)), "qwen") || qwen:
		c.Model, c.Independent = "Qwen-Image", true
	default:
		c.Model = "Wan 2.1"
	}
}

// statistics sets the published statistics of models with as many latent channels.
func (c *Config) statistics() {
	mean, std := wan21Mean, wan21Std
	switch c.Family {
	case wan22:
		mean, std = wan22Mean, wan22Std
	case qwen21:
		mean, std = qwen21Mean, qwen21Std
	}
	if c.Latent == len(mean) {
		c.standardise(mean, std)
	}
}

// checkShortcuts refuses widths that Wan 2.2's shortcuts cannot have.
func (c *Config) checkShortcuts(file string) error {
	if c.is(wan21) {
		return nil
	}
	in := 0
	for i, w := range c.Widths {
		if i == 0 {
			in = w
		}
		if f := c.skipDown(i).factor(i < len(c.TimeDown)); w < 1 || in*f%w != 0 {
			return fmt.Errorf("vae: %s: encoder stage %d has %d channels from %d, expected a divisor of %d", file, i, w, in, in*f)
		}
		in = w
	}
	for i, w := range c.Decoder[:max(0, len(c.Decoder)-1)] {
		if i == 0 {
			in = w
		}
		if f := c.skipUp(i).factor(true); in < 1 || w*f%in != 0 {
			return fmt.Errorf("vae: %s: decoder stage %d has %d channels from %d, expected %d to be a multiple of those", file, i, w, in, w*f)
		}
		in = w
	}
	return nil
}

// factor returns how many elements a shortcut turns into one, or makes of one.
func (s skipping) factor(sampled bool) int {
	if !sampled {
		return 1
	}
	return 4 * s.time
}

// skipDown returns how the shortcut of an encoder's stage changes time, skipUp of a
// decoder's. Qwen-Image-2.1, for pictures, keeps those of a video's stages, except at the
// largest frames.
func (c *Config) skipDown(i int) skipping {
	if c.is(qwen21) {
		return skipping{twice(i > 0), true}
	}
	return skipping{time: twice(i < len(c.TimeDown) && c.TimeDown[i])}
}

func (c *Config) skipUp(i int) skipping {
	if c.is(qwen21) {
		return skipping{twice(i < len(c.TimeUp)-1), true}
	}
	return skipping{time: twice(i < len(c.TimeUp) && c.TimeUp[i])}
}

func twice(so bool) int {
	if so {
		return 2
	}
	return 1
}

// wanTime returns the temporal side of the convolutions.
func (c *Config) wanTime() engine.Causal {
	if c.is(qwen21) {
		return engine.Causal{}
	}
	return causal(engine.Zeros)
}

// maxQuant limits the values of a quantisation convolution that are checked: a thousand
// times as many as in any model, but not as many as a shape may claim.
const maxQuant = 1 << 20

// checkQuant refuses a file whose quantisation convolutions are zero.
func checkQuant(t tensors) error {
	for _, name := range []string{"conv1", "conv2"} {
		w, ok := t.find(name + ".weight")
		if !ok || !w.DType.Float() {
			continue
		}
		v := make([]float32, min(w.Elements(), maxQuant))
		if err := w.ReadF32(v, 0); err != nil {
			return err
		}
		for _, x := range v {
			if x != 0 {
				return nil
			}
		}
	}
	return fmt.Errorf("vae: %s: tensors %s and %s: %w", t.file.Name(), t.name("conv1.weight"), t.name("conv2.weight"), ErrFlat)
}

// qwenImage turns Wan 2.1's configuration into Qwen-Image's, for pictures.
func qwenImage(c *Config) { c.Model, c.Independent = "Qwen-Image", true }
