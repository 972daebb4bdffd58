package vae

import (
	"fmt"
	"strconv"
	"strings"

	"tessera/format"
)

// mochi is the name of Mochi 1's family. The keys are tensors that identify its layouts:
// diffusers' names and the original ones. Files of one network have the original names
// without "encoder." or "decoder.".
const (
	mochi                   = "mochi1"
	mochiKey                = "decoder.block_in.resnets.0.conv1.conv.weight"
	mochiEncoderKey         = "encoder.block_in.resnets.0.conv1.conv.weight"
	mochiOriginalKey        = "decoder.blocks.2.blocks.3.stack.5.weight"
	mochiOriginalEncoderKey = "encoder.layers.4.layers.1.stack.5.weight"
	mochiDecoderFileKey     = "blocks.2.blocks.3.stack.5.weight"
	mochiEncoderFileKey     = "layers.4.layers.1.stack.5.weight"
)

// mochiConfig describes the stages of Mochi 1 beside their widths.
type mochiConfig struct {
	encoder, decoder []int // residual blocks of each stage, including those at the latent's size
	out, in          int   // of these, the blocks at the encoder's end and the decoder's start
	down, up         []int // frames that become one, or are made of one, between stages
}

// publishedMochi is the configuration of Mochi 1.
var publishedMochi = Config{
	Model: "Mochi 1", Layout: "diffusers", Groups: 32, Spatial: 8, Temporal: 6, Channels: 3, Patch: 1, Blocks: 3, Latent: 12,
	Widths: []int{64, 128, 256, 384}, Decoder: []int{768, 512, 256, 128},
	TimeDown: []bool{false, true, true}, TimeUp: []bool{true, true, false},
	mochi: mochiConfig{
		encoder: []int{3, 3, 4, 9}, decoder: []int{9, 4, 3, 3}, out: 3, in: 3,
		down: []int{1, 2, 3}, up: []int{3, 2, 1},
	},
}

// latents_mean and latents_std of vae/config.json.
var (
	mochiMean = []float64{
		-0.06730895953510081, -0.038011381506090416, -0.07477820912866141, -0.05565264470995561, 0.012767231469026969, -0.04703542746246419,
		0.043896967884726704, -0.09346305707025976, -0.09918314763016893, -0.008729793427399178, -0.011931556316503654, -0.0321993391887285,
	}
	mochiStd = []float64{
		0.9263795028493863, 0.9248894543193766, 0.9393059390890617, 0.959253732819592, 0.8244560132752793, 0.917259975397747,
		0.9294154431013696, 1.3720942357788521, 0.881393668867029, 0.9168315692124348, 0.9185249279345552, 0.9274757570805041,
	}
)

// mochiLayout returns the layout of a file's names, and the network whose names lack
// "encoder." or "decoder.", "" if both have it. ok reports whether the file is Mochi 1's.
func mochiLayout(f format.File) (layout, bare string, ok bool) {
	switch {
	case hasTensor(f, mochiKey, mochiEncoderKey):
		return "diffusers", "", true
	case hasTensor(f, mochiOriginalKey, mochiOriginalEncoderKey):
		return "original", "", true
	case hasTensor(f, mochiDecoderFileKey):
		return "original", "decoder.", true
	case hasTensor(f, mochiEncoderFileKey):
		return "original", "encoder.", true
	}
	return "", "", false
}

// isMochi recognises a file of those layouts.
func isMochi(f format.File) bool {
	_, _, ok := mochiLayout(f)
	return ok
}

// configureMochi reads the configuration from names and shapes. The layers use diffusers'
// names.
func configureMochi(f format.File) (Config, tensors, error) {
	layout, bare, _ := mochiLayout(f)
	c := Config{Model: "Mochi 1", Layout: layout, Groups: 32, Channels: 3, Patch: 1, Lacks: lacking(f)}
	t := tensors{file: f, name: func(name string) string { return name }}
	if layout == "original" {
		t.name = func(name string) string { return strings.TrimPrefix(mochiOriginal(name), bare) }
	}
	switch bare {
	case "decoder.":
		c.Lacks = "encoder"
	case "encoder.":
		c.Lacks = "decoder"
	}
	var err error
	var spatial, temporal int
	if c.Lacks != "encoder" {
		if err = c.mochiEncoder(t); err != nil {
			return c, t, err
		}
		spatial, temporal = mochiFactors(c.mochi.down)
		c.Blocks = c.mochi.encoder[0]
	}
	if c.Lacks != "decoder" {
		if err = c.mochiDecoder(t); err != nil {
			return c, t, err
		}
		s, n := mochiFactors(c.mochi.up)
		if c.Lacks == "" && (s != spatial || n != temporal) {
			return c, t, fmt.Errorf("vae: %s: found sides changed by %d and frames by %d in the encoder, by %d and %d in the decoder, expected the same", f.Name(), spatial, temporal, s, n)
		}
		spatial, temporal = s, n
		if c.Lacks == "encoder" {
			c.Blocks = c.mochi.decoder[len(c.mochi.up)]
		}
	}
	c.Spatial, c.Temporal = spatial, temporal
	if err := c.checkGroups(f.Name()); err != nil {
		return c, t, err
	}
	if c.Latent == len(mochiMean) {
		c.standardise(mochiMean, mochiStd)
	}
	return c, t, c.checkSizes(f.Name())
}

// mochiFactors returns the product of the stages' factors, for sides and frames.
func mochiFactors(times []int) (space, time int) {
	space, time = 1<<len(times), 1
	for _, n := range times {
		time *= n
	}
	return space, time
}

// mochiEncoder reads the encoder's stages. Each but the first starts with a convolution
// of blocks of frames and pixels.
func (c *Config) mochiEncoder(t tensors) error {
	w, err := t.dim("encoder.proj_in.weight", 0, 2)
	if err != nil {
		return err
	}
	in, err := t.dim("encoder.proj_in.weight", 1, 2)
	if err != nil {
		return err
	}
	if in != fourierChannels(c.Channels) {
		return fmt.Errorf("vae: %s: tensor %s reads %d channels, expected the %d Fourier features of a pixel", t.file.Name(), t.name("encoder.proj_in.weight"), in, fourierChannels(c.Channels))
	}
	c.Widths, c.mochi.encoder = []int{w}, []int{t.count("encoder.block_in.resnets.%d.conv1.conv.weight")}
	n, err := t.stages("encoder.down_blocks.%d.conv_in.conv.weight")
	if err != nil {
		return err
	}
	for i := range n {
		conv := fmt.Sprintf("encoder.down_blocks.%d.conv_in.conv.weight", i)
		w, err := t.dim(conv, 0, 5)
		if err != nil {
			return err
		}
		time, err := t.dim(conv, 2, 5)
		if err != nil {
			return err
		}
		if time > mochiLongest {
			return fmt.Errorf("vae: %s: tensor %s makes one frame of %d, expected 1 to %d", t.file.Name(), t.name(conv), time, mochiLongest)
		}
		c.Widths, c.mochi.down, c.TimeDown = append(c.Widths, w), append(c.mochi.down, time), append(c.TimeDown, time > 1)
		c.mochi.encoder = append(c.mochi.encoder, t.count(fmt.Sprintf("encoder.down_blocks.%d.", i)+"resnets.%d.conv1.conv.weight"))
	}
	c.mochi.out = t.count("encoder.block_out.resnets.%d.conv1.conv.weight")
	c.mochi.encoder[n] += c.mochi.out
	if c.Lacks == "decoder" {
		made, err := t.dim("encoder.proj_out.weight", 0, 2)
		c.Latent = made / 2
		return err
	}
	return nil
}

// mochiLongest is the largest number of frames that one stage turns into one, or makes of
// one.
const mochiLongest = 3

// mochiDecoder reads the decoder's stages. Each but the last ends with a pointwise layer,
// whose outputs say how many frames it makes of one.
func (c *Config) mochiDecoder(t tensors) (err error) {
	const conv = "resnets.0.conv1.conv.weight"
	n, err := t.stages("decoder.up_blocks.%d." + conv)
	if err != nil {
		return err
	}
	for i := range n + 1 {
		block := fmt.Sprintf("decoder.up_blocks.%d.", i)
		if i == n {
			block = "decoder.block_out."
		}
		w, err := t.dim(block+conv, 0, 5)
		if err != nil {
			return err
		}
		c.Decoder, c.mochi.decoder = append(c.Decoder, w), append(c.mochi.decoder, t.count(block+"resnets.%d.conv1.conv.weight"))
	}
	for i := range n {
		proj := fmt.Sprintf("decoder.up_blocks.%d.proj.weight", i)
		made, err := t.dim(proj, 0, 2)
		if err != nil {
			return err
		}
		next := c.Decoder[i+1]
		time := made / (4 * next)
		if time < 1 || time > mochiLongest || made != 4*next*time {
			return fmt.Errorf("vae: %s: tensor %s makes %d channels, next to a stage of %d: expected 4, 8 or 12 times as many", t.file.Name(), t.name(proj), made, next)
		}
		c.mochi.up, c.TimeUp = append(c.mochi.up, time), append(c.TimeUp, time > 1)
	}
	c.mochi.in = t.count("decoder.block_in.resnets.%d.conv1.conv.weight")
	c.mochi.decoder[0] += c.mochi.in
	c.Latent, err = t.dim("decoder.conv_in.weight", 1, 5)
	return err
}

// mochiParts are parts of diffusers' names in a block, with the original ones.
var mochiParts = []string{
	".norm1.norm_layer.", ".stack.0.", ".conv1.conv.", ".stack.2.", ".norm2.norm_layer.", ".stack.3.", ".conv2.conv.", ".stack.5.",
	".norm_layer.", ".attn_block.norm.", ".to_qkv.", ".attn_block.attn.qkv.", ".to_out.0.", ".attn_block.attn.out.",
}

// mochiEnds are the names of tensors outside of blocks.
var mochiEnds = map[string]string{
	"decoder.conv_in": "decoder.blocks.0.0", "decoder.proj_out": "decoder.output_proj",
	"encoder.proj_in": "encoder.layers.0", "encoder.norm_out.norm_layer": "encoder.output_norm", "encoder.proj_out": "encoder.output_proj",
}

// mochiOriginal returns the original name of a tensor. The original numbers the stages
// together with the layers before and after them, three in either network.
func mochiOriginal(name string) string {
	at := strings.LastIndexByte(name, '.')
	if end, ok := mochiEnds[name[:max(0, at)]]; ok {
		return end + name[at:]
	}
	parts := strings.Split(renamed(name, mochiParts), ".")
	number := func(i int) int { n, _ := strconv.Atoi(parts[i]); return n }
	if len(parts) < 5 {
		return name
	}
	network, rest := parts[0], func(i int) string { return strings.Join(parts[i:], ".") }
	switch {
	case parts[1] == "block_in" && network == "decoder":
		return fmt.Sprintf("decoder.blocks.0.%d.%s", number(3)+1, rest(4))
	case parts[1] == "up_blocks" && parts[3] == "proj":
		return fmt.Sprintf("decoder.blocks.%d.%s", number(2)+1, rest(3))
	case parts[1] == "up_blocks":
		return fmt.Sprintf("decoder.blocks.%d.blocks.%d.%s", number(2)+1, number(4), rest(5))
	case parts[1] == "block_out" && network == "decoder":
		return fmt.Sprintf("decoder.blocks.4.%d.%s", number(3), rest(4))
	case parts[1] == "block_in":
		return fmt.Sprintf("encoder.layers.%d.%s", number(3)+1, rest(4))
	case parts[1] == "down_blocks" && parts[3] == "conv_in":
		return fmt.Sprintf("encoder.layers.%d.layers.0.%s", number(2)+4, rest(5))
	case parts[1] == "down_blocks":
		return fmt.Sprintf("encoder.layers.%d.layers.%d.%s", number(2)+4, number(4)+1, rest(5))
	case parts[1] == "block_out":
		return fmt.Sprintf("encoder.layers.%d.%s", number(3)+7, rest(4))
	}
	return name
}
