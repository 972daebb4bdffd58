package vae

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tessera/format"
)

// Tensors that identify AutoencoderKL's layouts: names of ldm, and of diffusers.
const (
	klKey                 = "decoder.mid.block_1.norm1.weight"
	klEncoderKey          = "encoder.mid.block_1.norm1.weight"
	klDiffusersKey        = "decoder.mid_block.resnets.0.norm1.weight"
	klDiffusersEncoderKey = "encoder.mid_block.resnets.0.norm1.weight"

	flux2Mean     = "bn.running_mean"
	flux2Variance = "bn.running_var"
)

// publishedKL is the configuration of Stable Diffusion's VAE.
var publishedKL = Config{
	Model: "Stable Diffusion", Layout: "original", Groups: 32, Spatial: 8, Temporal: 1, Channels: 3, Patch: 1, Blocks: 2, Latent: 4, Quant: true, Independent: true,
	Widths: []int{128, 256, 512, 512}, Decoder: []int{512, 512, 256, 128}, TimeDown: []bool{false, false, false}, TimeUp: []bool{false, false, false},
}

// publishedFlux is the configuration of FLUX.1's and Stable Diffusion 3's VAEs. It is a
// function because Go initialises a variable that copies another one at start, in the
// page's first engine as well, which lacks these families.
func publishedFlux() Config {
	c := publishedKL
	c.Model, c.Latent, c.Quant = "FLUX.1", 16, false
	return c
}

// publishedFlux2 is the configuration of FLUX.2's VAE.
func publishedFlux2() Config {
	c := publishedKL
	c.Model, c.Latent, c.Packed = "FLUX.2", 32, true
	return c
}

// configureKL reads the configuration from names and shapes. The layers use ldm's names.
func configureKL(f format.File) (Config, tensors, error) {
	c := Config{Family: kl, Model: "AutoencoderKL", Layout: "original", Groups: 32, Temporal: 1, Channels: 3, Patch: 1, Independent: true, Lacks: lacking(f)}
	t := tensors{file: f, name: func(name string) string { return name }, flat: ".attn_1."} // q, k, v and proj_out are [c, c] or [c, c, 1, 1]
	if !hasTensor(f, klKey, klEncoderKey) {
		c.Layout = "diffusers"
		stages := t.count("decoder.up_blocks.%d.resnets.0.conv1.weight")
		t.name = func(name string) string {
			name = klDiffusers(name, stages)
			if !hasTensor(f, name) {
				return renamed(name, oldNames)
			}
			return name
		}
	}
	outer := t.name
	t.name = func(name string) string {
		if within := klWithin(name); within != "" && hasTensor(f, within) {
			return within
		}
		return outer(name)
	}
	if err := checkAttention(f); err != nil {
		return c, t, err
	}
	if err := c.readStages(t, "down.%d.block.%d", "up.%d.block.%d", ".weight", 4); err != nil {
		return c, t, err
	}
	slices.Reverse(c.Decoder)
	stages := max(len(c.Widths), len(c.Decoder))
	c.Spatial = 1 << max(0, stages-1)
	c.TimeDown, c.TimeUp = make([]bool, max(0, len(c.Widths)-1)), make([]bool, max(0, len(c.Decoder)-1))
	c.Quant = t.has("post_quant_conv.weight") || t.has("quant_conv.weight")
	pixels, axis := "decoder.conv_out.weight", 0
	if c.Lacks == "decoder" {
		pixels, axis = "encoder.conv_in.weight", 1
	}
	var err error
	if c.Channels, err = t.dim(pixels, axis, 4); err != nil {
		return c, t, err
	}
	if err := c.checkGroups(f.Name()); err != nil {
		return c, t, err
	}
	c.nameKL(f)
	return c, t, c.check(f.Name())
}

// klWithin returns the name of a quantisation convolution's tensor in FLUX.2's original
// layout, "" for other tensors.
func klWithin(name string) string {
	switch {
	case strings.HasPrefix(name, "quant_conv."):
		return "encoder." + name
	case strings.HasPrefix(name, "post_quant_conv."):
		return "decoder." + name
	}
	return ""
}

// configureFlux2 is configureKL, and reads the statistics of packed latents, which are a
// batch norm's.
func configureFlux2(f format.File) (Config, tensors, error) {
	c, t, err := configureKL(f)
	if err != nil {
		return c, t, err
	}
	c.Family, c.Model, c.Packed, c.Assumed = flux2, "FLUX.2", true, false
	if c.Mean, err = numbers(t, flux2Mean, 4*c.Latent); err != nil {
		return c, t, err
	}
	variance, err := numbers(t, flux2Variance, 4*c.Latent)
	if err != nil {
		return c, t, err
	}
	c.Scale = make([]float64, len(variance))
	for i, v := range variance {
		if v < 0 {
			return c, t, fmt.Errorf("vae: %s: tensor %s: element %d is %v, expected a variance", f.Name(), flux2Variance, i, v)
		}
		c.Scale[i] = 1 / math.Sqrt(v+1e-4)
	}
	return c, t, nil
}

// numbers reads a vector of n numbers.
func numbers(t tensors, name string, n int) ([]float64, error) {
	if found, err := t.dim(name, 0, 1); err != nil || found != n {
		return nil, cmp.Or(err, fmt.Errorf("vae: %s: tensor %s has %d numbers, expected %d", t.file.Name(), name, found, n))
	}
	x, _ := t.find(name)
	if !x.DType.Float() {
		return nil, fmt.Errorf("vae: %s: tensor %s is %s, expected F16, BF16 or F32", t.file.Name(), name, x.DType)
	}
	narrow, wide := make([]float32, n), make([]float64, n)
	if err := x.ReadF32(narrow, 0); err != nil {
		return nil, err
	}
	for i, v := range narrow {
		if wide[i] = float64(v); v-v != 0 {
			return nil, fmt.Errorf("vae: %s: tensor %s: element %d is %v, expected a finite number", t.file.Name(), name, i, v)
		}
	}
	return wide, nil
}

// isFlux2 distinguishes FLUX.2's files from the others that isKL accepts.
func isFlux2(f format.File) bool { return hasTensor(f, flux2Mean) }

// klModel is one of AutoencoderKL's models, many of which have equal names and shapes.
type klModel struct {
	as, name       string
	latent, stages int
	scale, shift   float64   // a pipeline's latent is (latent - shift) * scale
	mean, std      []float64 // or, per channel, (latent - mean) * scale / std
	words          []string  // in file names
	beside         []string  // in other tensors' names in a whole checkpoint
}

// klModels are the models that are distinguished, the most common of a shape first:
// scaling_factor and shift_factor of each one's vae/config.json.
var klModels = []klModel{
	{as: "sd", name: "Stable Diffusion", latent: 4, stages: 4, scale: 0.18215, words: []string{"mse", "ema", "840000", "560000", "sd15", "v1-5", "anime", "kl-f8"}, beside: []string{"cond_stage_model."}},
	{as: "sdxl", name: "SDXL", latent: 4, stages: 4, scale: 0.13025, words: []string{"xl", "pony", "illustrious", "noob", "kolors"}, beside: []string{"conditioner.embedders.", "model.double_layers."}},
	{
		as: "playground", name: "Playground 2.5", latent: 4, stages: 4, scale: 0.5, words: []string{"playground"}, beside: []string{"edm_mean"},
		mean: []float64{-1.6574, 1.886, -1.383, 2.5155}, std: []float64{8.4927, 5.9022, 6.5498, 5.2299},
	},
	{as: "flux", name: "FLUX.1", latent: 16, stages: 4, scale: 0.3611, shift: 0.1159, words: []string{"flux", "z_image", "chroma", "lumina", "hidream"}, beside: []string{"double_blocks."}},
	{as: "sd3", name: "Stable Diffusion 3", latent: 16, stages: 4, scale: 1.5305, shift: 0.0609, words: []string{"sd3"}, beside: []string{"joint_blocks."}},
	{as: "sd-x4", name: "Stable Diffusion x4 upscaler", latent: 4, stages: 3, scale: 0.08333},
}

// klFile is a published file that circulates under many names.
type klFile struct {
	size int64
	sum  string // first hexadecimal digits of its SHA-256
	as   string
}

var klFiles = []klFile{
	{334_641_190, "735e4c3a447a3255", "sd"},   // vae-ft-mse-840000-ema-pruned.safetensors
	{334_641_164, "63aeecb90ff7bc1c", "sdxl"}, // sdxl_vae.safetensors
	{334_641_162, "235745af8d86bf4a", "sdxl"}, // of sdxl-vae-fp16-fix
	{335_304_388, "afc8e28272cd15db", "flux"}, // ae.safetensors
	{167_666_902, "8f53304a79335b55", "sd3"},  // diffusers' file of Stable Diffusion 3.5, with the length of FLUX.1's
}

// published identifies the model by a file's size and SHA-256. Models of equal shapes
// have files of one size, so a size proves nothing. If the size confirms the model that
// the file's name says, published does not call sum, which reads the whole file.
func (c *Config) published(size int64, sum func() (string, error)) error {
	models := slices.DeleteFunc(slices.Clone(klModels), func(m klModel) bool { return !c.is(kl) || !m.fits(c) })
	known := slices.DeleteFunc(slices.Clone(klFiles), func(f klFile) bool { return f.size != size })
	for _, f := range known {
		if !c.Assumed && slices.ContainsFunc(models, func(m klModel) bool { return m.as == f.as && m.name == c.Model }) {
			return nil
		}
	}
	if len(models) < 2 || len(known) == 0 {
		return nil
	}
	is, err := sum()
	if err != nil {
		return err
	}
	for _, f := range known {
		for _, m := range models {
			if strings.HasPrefix(is, f.sum) && m.as == f.as {
				m.take(c)
				c.Assumed = false
			}
		}
	}
	return nil
}

func (m klModel) model() (as, name string) { return m.as, m.name }

func (m klModel) fits(c *Config) bool {
	return m.latent == c.Latent && m.stages == max(len(c.Widths), len(c.Decoder))
}

func (m klModel) take(c *Config) {
	c.Model = m.name
	c.Mean, c.Scale = slices.Repeat([]float64{m.shift}, c.Latent), slices.Repeat([]float64{m.scale}, c.Latent)
	for i, std := range m.std {
		c.Mean[i], c.Scale[i] = m.mean[i], m.scale/std
	}
}

// nameKL identifies the model by the other tensors of a whole checkpoint, then by the
// file's name; by default it is the most common one.
func (c *Config) nameKL(f format.File) {
	fit := slices.DeleteFunc(slices.Clone(klModels), func(m klModel) bool { return !m.fits(c) })
	if len(fit) == 0 {
		return
	}
	fit[0].take(c)
	if whole, ok := f.(inside); ok {
		for _, m := range fit {
			if slices.ContainsFunc(whole.File.Names(), func(name string) bool { return hasAny(name, m.beside) }) {
				m.take(c)
				return
			}
		}
	}
	name := strings.ToLower(filepath.Base(f.Name()))
	for _, m := range fit {
		if hasAny(name, m.words) || name == "ae.safetensors" && m.as == "flux" {
			m.take(c)
			return
		}
	}
	c.Assumed = len(fit) > 1
}

// hasAny reports whether a name contains one of words.
func hasAny(name string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// stageAttention reports whether a tensor is part of attention in a stage, in either
// layout. Package regexp would make the page's engine half a megabyte larger.
func stageAttention(name string) bool {
	part := strings.SplitN(name, ".", 5)
	return len(part) == 5 && slices.Contains([]string{"down", "up", "down_blocks", "up_blocks"}, part[1]) && (part[3] == "attn" || part[3] == "attentions")
}

// checkAttention refuses a file with such a tensor.
func checkAttention(f format.File) error {
	for _, name := range f.Names() {
		if stageAttention(name) {
			return fmt.Errorf("vae: %s: %w: it has attention in a stage (tensor %s), which is not supported", f.Name(), ErrUnknownModel, name)
		}
	}
	return nil
}

// klSums selects the tensors that add to the sums of residual blocks, which exceed the
// range of halves in SDXL and FLUX.1. Only group norms, and linear layers that add to the
// sums again, read them.
func klSums(name string) bool {
	layer, bias := strings.CutSuffix(name, ".bias")
	layer = strings.TrimSuffix(layer, ".weight")
	last := layer[strings.LastIndex(layer, ".")+1:]
	switch last {
	case "conv_in", "conv1", "conv2", "proj_out":
		return true
	case "nin_shortcut", "conv": // of a sampler
		return bias
	}
	return false
}

// Parts of ldm's names, with diffusers' names for them.
var (
	klPlaces = []string{
		".mid.block_1.", ".mid_block.resnets.0.", ".mid.block_2.", ".mid_block.resnets.1.",
		".mid.attn_1.norm.", ".mid_block.attentions.0.group_norm.", ".mid.attn_1.proj_out.", ".mid_block.attentions.0.to_out.0.",
		".mid.attn_1.", ".mid_block.attentions.0.to_", ".norm_out.", ".conv_norm_out.",
	}
	klShortcut = []string{".nin_shortcut.", ".conv_shortcut."}
)

// klDiffusers returns diffusers' name for a tensor of ldm's name. diffusers numbers the
// stages of a decoder from the smallest frames on.
func klDiffusers(name string, stages int) string {
	parts := strings.Split(name, ".")
	if len(parts) < 5 || parts[1] != "down" && parts[1] != "up" {
		return renamed(name, klPlaces)
	}
	i, _ := strconv.Atoi(parts[2])
	if parts[1] == "up" {
		i = stages - 1 - i
	}
	part, rest := parts[1]+"samplers.0", parts[4:]
	if parts[3] == "block" {
		part, rest = "resnets."+parts[4], parts[5:]
	}
	return renamed(fmt.Sprintf("%s.%s_blocks.%d.%s.%s", parts[0], parts[1], i, part, strings.Join(rest, ".")), klShortcut)
}
