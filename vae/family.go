package vae

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tessera/engine"
	"tessera/format"
	"tessera/format/known"
	"tessera/format/quote"
)

// family describes one kind of VAE. A new one is a file with its value, and its name in
// families (families.go).
type family struct {
	name      string   // Config.Family
	marks     []string // decoder tensors that identify its files
	encoders  []string // encoder tensors, for files without a decoder
	told      func(f format.File) bool
	config    func(f format.File) (Config, tensors, error)
	named     func(c *Config, path string) // reads what a file's name and folder say; nil: nothing
	usable    func(t tensors) error        // refuses weights that make nonsense, unless forced; nil: no check
	published *Config                      // of the authors' published file, without statistics
	sizes     func() []Config              // configurations of other published files, whose models have other names
	encoder   func(l *loader, c Config) *engine.Network
	decoder   func(l *loader, c Config) *engine.Network
	ignored   []string // prefixes of names of unused tensors, or inner parts of their names, which begin with a dot
	between   []string // tensors that by their names belong to neither network and may stay with either

	tilings       []Tiling                     // supported ways to combine tiles, the default first
	first         func(step int) int           // frames in a clip's first slice, if the others have step
	atOnce        bool                         // the encoder sees all frames of a clip at once
	temporal      engine.Temporal              // temporal tiles of latent frames instead of slices
	batch         int                          // latent frames that norms see at once, which form a slice; 0: norms see each frame separately, or all
	beyond        func(t, frames, all int) int // returns the frame of a clip that stands for frame t of all that the encoder sees
	anySize       bool                         // the encoder takes frames that are not a multiple of a cell
	byPixels      bool                         // diffusers cuts and blends its tiles by pixels, not by patches
	clamps        bool                         // clamp pixels to [-1, 1], except with the model's own numbers
	previews      bool                         // tiles of a decode are separate pictures
	comfyUnscaled bool                         // ComfyUI's files hold the model's own numbers
	comfyFolded   bool                         // ComfyUI's samplers leave frames among the channels
	caches        []cache                      // caches of its latents that trainers write
	means         bool                         // the encoder makes a latent, not a distribution
	unnormed      bool                         // there are no norms, unless Groups is set
	even          bool                         // the decoder's stages have as many blocks as the encoder's, not one more
	groups        bool                         // every latent frame, the first included, stands for Temporal frames: an encoder repeats the last frame, or a picture, to complete a group
	unsigned      bool                         // pixels of the networks are in [0, 1]
	fourier       bool                         // the encoder reads Fourier features of pixels
	rowsFirst     bool                         // rows of a patch come before its columns, as in PyTorch's pixel_unshuffle
	saturates     func(c *Config) bool         // the decoder begins with 3*tanh(x/3), which the host computes; nil: no
	residual      *residual                    // used if activations are halves; nil: unchanged
	twins         func() []twin                // models with equal tensor names and shapes, the most common first
	measured      bool                         // means and deviations are tensors of the checkpoint, whatever config.json lists
	sigma         float64                      // the scheduler's sigma_data, which replaces a scaling factor; each of the first latent frames has statistics. 0: no
	classes       []string                     // class names of diffusers, or of the model's authors, in the config.json beside a checkpoint
}

// residual reduces the sums of residual blocks, which would exceed the range of halves.
// It multiplies the tensors that add to the sums by a power of two, and adapts the eps of
// the group norms that read the sums, so the output does not change.
type residual struct {
	by  float32
	has func(tensor string) bool
}

// of returns the factor of a tensor.
func (r *residual) of(tensor string) float32 {
	if r == nil || !r.has(tensor) {
		return 1
	}
	return r.by
}

// eps returns the eps of a group norm that reads such sums.
func (r *residual) eps(of float32) float32 {
	if r == nil {
		return of
	}
	return of * r.by * r.by
}

// diffusersSums selects the tensors that add to the sums of residual blocks, by
// diffusers' names. Only group norms and linear layers read the sums. A convolution may
// be wrapped (".conv"), or split into one of frames and one over time (".conv_s",
// ".conv_t").
func diffusersSums(name string) bool {
	layer, bias := strings.CutSuffix(name, ".bias")
	layer = strings.TrimSuffix(layer, ".weight")
	layer, last := strings.CutSuffix(layer, ".conv_t")
	layer = strings.TrimSuffix(strings.TrimSuffix(layer, ".conv_s"), ".conv")
	if strings.Contains(layer, "samplers.") || strings.HasSuffix(layer, ".conv_shortcut") {
		return bias
	}
	for _, first := range []string{".conv_in", ".conv1", ".conv2", ".to_out.0"} {
		if strings.HasSuffix(layer, first) {
			return bias || !last // the first of two convolutions has the factor
		}
	}
	return false
}

// cache is a model whose latents a trainer caches, the scale of their numbers, and the
// trainer's words for the models that it trains on them, separated by spaces.
type cache struct{ trainer, model, scale, trains string }

// usual are the families in every build. The page's first engine has no others.
var usual = []*family{&seedVR2Family, &wan21Family, &wan22Family, &qwen21Family}

// Usual returns the configuration for reading a latent whose model is unknown: cells of
// 8x8 pixels, and 4 frames per latent frame after the first. It has no latent channels.
func Usual() Config { return Config{Family: usual[0].name, Spatial: 8, Temporal: 4} }

// Families returns the names of all families, which Published accepts.
func Families() []string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.name
	}
	return names
}

// complete sets the fields that all configurations of a family share.
func (f *family) complete(c *Config) {
	c.Family, c.Tilings, c.Full = f.name, slices.Clone(f.tilings), max(c.Full, f.batch)
	c.ComfyUIUnscaled, c.ComfyUIFolded = f.comfyUnscaled, f.comfyFolded
	switch c.Lacks { // programs that read the lists expect [], not null
	case "encoder":
		c.Widths, c.TimeDown = []int{}, []bool{}
	case "decoder":
		c.Decoder, c.TimeUp = []int{}, []bool{}
	}
}

// family returns the family of a configuration.
func (c *Config) family() *family {
	for _, f := range families {
		if f.name == c.Family {
			return f
		}
	}
	panic(fmt.Sprintf("vae: configuration of family %q", c.Family))
}

// Norms describes the networks' norms.
func (c *Config) Norms() string {
	switch {
	case c.Groups > 0:
		return fmt.Sprintf("group norm of %d groups", c.Groups)
	case c.family().unnormed:
		return "none"
	}
	return "RMS norm, pixel by pixel"
}

// Means reports whether the encoder makes a latent, not a distribution, so that moments
// and samples do not exist.
func (c *Config) Means() bool { return c.family().means }

// decoderBlocks returns the number of residual blocks in a decoder stage.
func (c *Config) decoderBlocks() int {
	if c.family().even {
		return c.Blocks
	}
	return c.Blocks + 1
}

// is reports whether the configuration belongs to a family.
func (c *Config) is(family string) bool { return c.Family == family }

// recognise identifies the family by tensor names, reads the configuration from shapes,
// and finds the tensors under the layers' names.
func recognise(f format.File) (*family, Config, tensors, error) {
	f, q := dequantised(f)
	f, err := unprefixed(f)
	if err != nil {
		return nil, Config{}, tensors{}, err
	}
	for _, fam := range families {
		if !fam.told(f) {
			continue
		}
		if err := refuseOther(f, fam.name); err != nil {
			return nil, Config{}, tensors{}, err
		}
		if err := q.refuse(f); err != nil {
			return nil, Config{}, tensors{}, err
		}
		c, t, err := fam.config(f)
		fam.complete(&c)
		c.Quantised = q.note(f)
		return fam, c, t, err
	}
	if err := refuseOther(f, ""); err != nil {
		return nil, Config{}, tensors{}, err
	}
	return nil, Config{}, tensors{}, unknown(f, &known.Mistake{
		Is:     fmt.Sprintf("is %v: its %d tensors match no model", errNoFamily, len(f.Names())),
		Do:     "`tessera models` lists the models that it reads",
		Detail: fmt.Sprintf("its tensors are %s, expected those of %s", cmp.Or(quote.List(f.Names(), ", "), "none"), expected()),
	})
}

// expected lists the models of all families.
func expected() string {
	var models []string
	for _, fam := range families {
		models = append(models, fam.published.Model)
	}
	return strings.Join(models, ", ") + " or a relative"
}

// lacking returns the network of which a file has no tensor, "" if it has both.
func lacking(f format.File) string {
	encoder, decoder := false, false
	for _, name := range f.Names() {
		encoder = encoder || strings.HasPrefix(name, "encoder.")
		decoder = decoder || strings.HasPrefix(name, "decoder.")
	}
	switch {
	case !encoder:
		return "encoder"
	case !decoder:
		return "decoder"
	}
	return ""
}

// Encoding returns the direction from pixels to a latent.
func (c Config) Encoding() Direction {
	f := c.family()
	out := 2 * c.Latent
	if f.means {
		out = c.Latent
	}
	first, in := f.first, c.Channels*c.Patch*c.Patch
	if f.atOnce {
		first = func(int) int { return math.MaxInt }
	}
	if f.fourier {
		in = fourierChannels(c.Channels)
	}
	return Direction{
		Name: "encode", Groups: f.groups, Cycle: c.Cycle, Batch: f.batch * c.Temporal, Full: c.Full * c.Temporal, In: c.Spatial, Out: 1, InFrames: c.Temporal, OutFrames: 1, InPatch: c.Patch, OutPatch: 1,
		InChannels: in, OutChannels: out, First: first,
		Temporal: f.temporal.Pixels(c.Temporal), ByPixels: f.byPixels,
	}
}

// Decoding returns the direction from a latent to pixels.
func (c Config) Decoding() Direction {
	return Direction{
		Name: "decode", Cycle: c.Cycle, Batch: c.family().batch, Full: c.Full, In: 1, Out: c.Decoded(), InFrames: 1, OutFrames: c.Temporal, InPatch: 1, OutPatch: c.Patch * c.upscale(),
		InChannels: c.Latent, OutChannels: c.Channels, First: c.family().first, Temporal: c.family().temporal, ByPixels: c.family().byPixels,
	}
}
