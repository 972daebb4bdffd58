package vae

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// ErrUnknownModel means that the checkpoint belongs to no family of this package.
var ErrUnknownModel = errors.New("not a VAE that tessera knows")

// ErrLeftOut is the ErrUnknownModel of a build without all families: the checkpoint may
// belong to a missing one.
var ErrLeftOut = fmt.Errorf("%w", ErrUnknownModel)

// ErrBadModel means that the checkpoint cannot be read, is damaged, or its tensors do not
// fit the model.
var ErrBadModel = errors.New("unusable checkpoint")

// ErrFlat means that the checkpoint's quantisation convolutions are all zero. One such
// file is in circulation; all its latents and pictures are flat.
var ErrFlat = errors.New("the quantisation convolutions are all zero, so every picture would be flat brown: the file is damaged, use another copy")

// badModel marks an error as ErrBadModel and keeps its text.
type badModel struct{ error }

func (e *badModel) Unwrap() error        { return e.error }
func (e *badModel) Is(target error) bool { return target == ErrBadModel }

// Config describes the model, from a checkpoint's names and shapes.
type Config struct {
	Family   string `json:"family"`    // "seedvr2", "wan2.1", "wan2.2", "qwen2.1", "hunyuanvideo", "hunyuanvideo1.5", "hunyuanimage2.1", "ltx2", "mochi1", "cogvideox", "cosmos1", "kl", "flux2", "taesd", "taehv"
	Model    string `json:"model"`     // the model's name: "Qwen-Image"
	Layout   string `json:"layout"`    // of the tensors' names: "original" or "diffusers"
	Widths   []int  `json:"widths"`    // channels of the encoder's stages, shallow to deep
	Decoder  []int  `json:"decoder"`   // channels of the decoder's stages, deep to shallow
	Blocks   int    `json:"blocks"`    // residual blocks in an encoder stage; the decoder has one more
	Latent   int    `json:"latent"`    // latent channels
	Groups   int    `json:"groups"`    // of the group norms; 0 if there are none
	TimeDown []bool `json:"time_down"` // per encoder downsampler: also halves time
	TimeUp   []bool `json:"time_up"`   // per decoder upsampler: also doubles time
	Spatial  int    `json:"spatial"`   // pixels along a latent cell's side
	Temporal int    `json:"temporal"`  // frames in a latent frame after the first
	Channels int    `json:"channels"`  // of a pixel: 3, or 4 with alpha
	Patch    int    `json:"patch"`     // side of the square of pixels that is one pixel to the network
	// Upscale is the number of decoded pixels along the side of an encoded one. 0 is 1.
	Upscale int `json:"upscale,omitempty"`
	// Quant means that there are 1x1 convolutions before and after the latent.
	Quant bool `json:"quant,omitempty"`
	// Variant names unusual decoder blocks: "wide" or "super", for TAEHV.
	Variant string `json:"variant,omitempty"`
	// Cycle is the number of latent frames that are encoded as a separate clip, the
	// first of which stands for one frame: 5 for MiniMax-H3, else 0.
	Cycle int `json:"cycle,omitempty"`
	// Full is the divisor of the latent frames of a clip in which no latent frame stands
	// for a single frame: 2 for CogVideoX, whose norms see two latent frames at once,
	// and for its tiny autoencoder; 0 for others.
	Full int `json:"full,omitempty"`
	// Leaky means LeakyReLU instead of the family's ReLU, and pixels from -1 to 1.
	Leaky bool `json:"leaky,omitempty"`
	// Packed means that a pipeline's latent packs 2x2 cells into one with four times the
	// channels, and that Mean and Scale apply to packed channels; see latent.Latent.Pack.
	// Latents here are unpacked.
	Packed bool `json:"packed,omitempty"`
	// Assumed means that models with other statistics have these names and shapes, and
	// the file does not say which model it is. Model is the most common one.
	Assumed bool `json:"assumed,omitempty"`
	// Lacks is "encoder" or "decoder" if the file has no such network; its fields
	// above are then empty.
	Lacks string `json:"lacks,omitempty"`

	// A pipeline's latent is (latent - Mean) * Scale, per channel. Both are nil if the
	// pipeline's statistics are unknown; its latent is then the model's own.
	Mean  []float64 `json:"mean"`
	Scale []float64 `json:"scale"`
	// Frames is the number of means and scales per channel, for its first latent frames;
	// the last applies to all later ones. 0: one for all frames.
	Frames int `json:"statistics_frames,omitempty"`
	// Sigma is the sigma_data of a pipeline's scheduler. Scale includes it as a factor, the
	// pipeline's own statistics do not. 0: none.
	Sigma float64 `json:"sigma,omitempty"`

	// Independent means that frames are separate pictures by default.
	Independent bool `json:"independent"`
	// Tilings are the supported ways to combine tiles, the default first.
	Tilings []Tiling `json:"tilings"`
	// ComfyUIUnscaled means that ComfyUI's latent files hold the model's own numbers, not
	// the pipeline's.
	ComfyUIUnscaled bool `json:"comfyui_unscaled"`
	// ComfyUIFolded means that ComfyUI's samplers leave its latents with frames among the
	// channels, [B,C*L,h,w].
	ComfyUIFolded bool `json:"comfyui_folded"`

	pipeline bool       // the network's numbers are the pipeline's, not the model's own
	tiny     tinyHalves // layers of a tiny autoencoder
	unpacks  bool       // see Unpacks; the model's own latents are not packed
	inGroup  []int      // input channels per group of the wide blocks' convolutions, in each stage of TAEHV's decoder

	// File and Print are the checkpoint's name and fingerprint, see Identify.
	File  string      `json:"-"`
	Print string      `json:"-"`
	ltx   ltxConfig   // for LTX-2
	mochi mochiConfig // for Mochi 1

	cosmos cosmosConfig // for Cosmos 1.0
	// Quantised describes the weights that are not stored as floats, "" if all are.
	Quantised string `json:"-"`
	// Beside is the config.json that Mean and Scale come from, "" if they are the
	// published ones.
	Beside string `json:"-"`
}

// Can returns an ErrBadModel if the file lacks the network of a direction, "encode"
// or "decode".
func (c *Config) Can(direction string) error {
	if c.Lacks == "" || c.Lacks[:2] != direction[:2] {
		return nil
	}
	return &badModel{fmt.Errorf("vae: %s has no %s and cannot %s: use a checkpoint that has one", cmp.Or(c.File, "the checkpoint"), c.Lacks, direction)}
}

// Decoded is the side of a latent cell in decoded pixels: Spatial, or more if the
// decoder enlarges the picture.
func (c *Config) Decoded() int { return c.Spatial * c.upscale() }

func (c *Config) upscale() int { return max(1, c.Upscale) }

// StageBlocks returns the number of residual blocks in each stage of a network, "encoder"
// or "decoder".
func (c *Config) StageBlocks(network string) []int {
	blocks, widths, n := c.ltx.encoder, c.Widths, c.Blocks
	if network == "decoder" {
		blocks, widths, n = c.ltx.decoder, c.Decoder, c.decoderBlocks()
	}
	if c.is(mochi) {
		blocks = c.mochi.encoder
		if network == "decoder" {
			blocks = c.mochi.decoder
		}
	}
	if c.is(cosmos) && len(widths) > 0 { // the first width is a convolution's
		blocks = append([]int{0}, slices.Repeat([]int{n}, len(widths)-1)...)
	}
	if blocks != nil {
		return blocks
	}
	return slices.Repeat([]int{n}, len(widths))
}

// readStages reads the widths, blocks and latent channels of networks whose stages have
// equally many residual blocks. down and up format the names of a stage's block in the
// encoder and the decoder; weight ends the names of convolutions, which have rank axes.
func (c *Config) readStages(t tensors, down, up, weight string, rank int) (err error) {
	down, up = "encoder."+down+".conv1"+weight, "decoder."+up+".conv1"+weight
	if c.Lacks != "encoder" {
		c.Blocks = t.count(down, 0)
		c.Widths, err = t.widths(down, rank)
	}
	if err == nil && c.Lacks != "decoder" {
		c.Decoder, err = t.widths(up, rank)
	}
	if err != nil {
		return err
	}
	if c.Lacks == "encoder" {
		c.Blocks = t.count(up, 0) - 1
	}
	c.Latent, err = c.latentOf(t, "decoder.conv_in"+weight, "encoder.conv_out"+weight, rank)
	return err
}

// latentOf reads the latent's channels from the decoder's first convolution, or from the
// one that makes an encoder's moments.
func (c *Config) latentOf(t tensors, in, moments string, rank int) (int, error) {
	if c.Lacks != "decoder" {
		return t.dim(in, 1, rank)
	}
	n, err := t.dim(moments, 0, rank)
	return n / 2, err
}

// scaleBy makes a pipeline's latents the model's own times a factor.
func (c *Config) scaleBy(factor float64) {
	c.Mean, c.Scale = make([]float64, c.Latent), slices.Repeat([]float64{factor}, c.Latent)
}

// standardise makes a pipeline's latents (the model's own - mean) / std, per channel.
func (c *Config) standardise(mean, std []float64) {
	c.Mean, c.Scale = slices.Clone(mean), make([]float64, len(std))
	for i, s := range std {
		c.Scale[i] = 1 / s
	}
}

// check refuses sizes that the layers of families with three or four stages cannot have.
func (c *Config) check(file string) error {
	if err := c.checkSizes(file); err != nil {
		return err
	}
	return c.checkStages(file)
}

// checkSizes refuses sizes that the layers of no family can have.
func (c *Config) checkSizes(file string) error {
	if c.Blocks < 1 || c.Latent < 1 {
		return fmt.Errorf("vae: %s: found %d residual blocks a stage and %d latent channels, expected at least one", file, c.Blocks, c.Latent)
	}
	if c.Channels != 3 && c.Channels != 4 {
		return fmt.Errorf("vae: %s: found %d channels in a pixel, expected 3 or 4", file, c.Channels)
	}
	if c.Groups > 0 {
		return c.checkNormed(file)
	}
	return nil
}

// checkGroups refuses stages whose channels the groups do not divide.
func (c *Config) checkGroups(file string) error {
	for _, w := range slices.Concat(c.Widths, c.Decoder) {
		if w%c.Groups != 0 {
			return fmt.Errorf("vae: %s: %d channels are not a multiple of %d norm groups", file, w, c.Groups)
		}
	}
	return nil
}

// mostNormed is the largest number of channels of a group norm.
const mostNormed = 1024

// checkNormed refuses stages whose group norms cannot be computed.
func (c *Config) checkNormed(file string) error {
	if w := slices.Max(append(slices.Concat(c.Widths, c.Decoder), 0)); w > mostNormed {
		return fmt.Errorf("vae: %s: found a stage of %d channels, expected at most %d", file, w, mostNormed)
	}
	return nil
}

// checkStages refuses an unexpected number of stages, or of stages that change time.
func (c *Config) checkStages(file string) error {
	if n := max(len(c.Widths), len(c.Decoder)); c.is(kl) && n != 3 && n != 4 {
		return fmt.Errorf("vae: %s: found %d stages, expected 3 or 4", file, n)
	}
	for _, n := range []struct {
		name   string
		widths []int
		times  []bool
	}{{"encoder", c.Widths, c.TimeDown}, {"decoder", c.Decoder, c.TimeUp}} {
		if n.name == c.Lacks {
			continue
		}
		if stages := bits.Len(uint(c.Spatial / c.Patch)); len(n.widths) != stages {
			return fmt.Errorf("vae: %s: found %d %s stages, expected %d", file, len(n.widths), n.name, stages)
		}
		factor := 1
		for _, time := range n.times {
			if time {
				factor *= 2
			}
		}
		if factor != c.Temporal {
			return fmt.Errorf("vae: %s: found a temporal factor of %d in the %s, expected %d", file, factor, n.name, c.Temporal)
		}
	}
	return nil
}

// network returns scale and mean that convert a network's numbers, in a row of a frame's
// cells, to a latent's: latent = (network - mean) * scale. Index 0 is for even columns,
// index 1 for odd ones.
func (c *Config) network(channel, frame, row int, unscaled bool) (scale, mean [2]float64) {
	if unscaled != c.pipeline { // the network's numbers are the latent's; for moments, statistics exist for the means only
		return [2]float64{1, 1}, mean
	}
	if scale, mean = c.scales(channel, frame, row); c.pipeline {
		for x := range 2 {
			scale[x], mean[x] = 1/scale[x], -mean[x]*scale[x]
		}
	}
	return scale, mean
}

// Unpacks reports whether latents with 2x2 cells packed into channels are supported,
// as FLUX.2's pipelines use them.
func (c Config) Unpacks() bool { return c.Packed || c.unpacks }

// Grid returns the divisor of a padded clip's height and width, in pixels.
func (c Config) Grid() int {
	if c.Packed {
		return 2 * c.Spatial
	}
	return c.Spatial
}

// scales returns the scale and mean of a pipeline's latent in a row of a frame's cells.
// Index 0 is for even columns, index 1 for odd ones.
func (c *Config) scales(channel, frame, row int) (scale, mean [2]float64) {
	if c.Scale == nil {
		return [2]float64{1, 1}, mean
	}
	for x := range 2 {
		at := channel
		switch {
		case c.Packed:
			at = 4*channel + row%2*2 + x
		case c.Frames > 0:
			at = channel*c.Frames + min(frame, c.Frames-1)
		}
		scale[x], mean[x] = c.Scale[at], c.Mean[at]
	}
	return scale, mean
}
