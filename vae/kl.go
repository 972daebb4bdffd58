package vae

import (
	"fmt"

	"tessera/engine"
	"tessera/format"
	"tessera/latent"
)

// Names of the families of AutoencoderKL and FLUX.2.
const (
	kl    = "kl"
	flux2 = "flux2"
)

// klFamily is AutoencoderKL, the VAE of Stable Diffusion, SDXL, SD 3, FLUX.1 and many
// more: ldm/models/autoencoder.py, and AutoencoderKL of diffusers. It encodes pictures.
var klFamily = family{
	name:      kl,
	marks:     []string{klKey, klDiffusersKey},
	encoders:  []string{klEncoderKey, klDiffusersEncoderKey},
	told:      func(f format.File) bool { return isKL(f) && !isFlux2(f) },
	config:    configureKL,
	published: &publishedKL,
	sizes:     func() []Config { return []Config{publishedFlux()} },
	encoder:   newKLEncoder,
	decoder:   newKLDecoder,
	between:   []string{"quant_conv.weight", "quant_conv.bias", "post_quant_conv.weight", "post_quant_conv.bias"},

	tilings:       []Tiling{Feather, Diffusers}, // a group norm spans the whole tile
	first:         func(step int) int { return step },
	beyond:        func(t, _, _ int) int { return t },
	clamps:        true,
	previews:      true,
	comfyUnscaled: true,
	// The trainers' names for models: suffixes of sd-scripts' file names
	// (library/strategy_*.py); musubi-tuner's architectures
	// (src/musubi_tuner/dataset/architectures.py), whose scale_shift_latents lists the
	// latents that are scaled later; the arch of ai-toolkit's models, or what
	// toolkit/data_loader.py writes instead.
	caches: []cache{
		{"sd-scripts", "Stable Diffusion", latent.ScaleNone, "sd"},
		{"sd-scripts", "SDXL", latent.ScaleNone, "sdxl"},
		{"sd-scripts", "FLUX.1", latent.ScalePipeline, "flux lumina"},
		{"sd-scripts", "Stable Diffusion 3", latent.ScaleNone, "sd3"},
		{"musubi-tuner", "FLUX.1", latent.ScalePipeline, "flux_kontext"},
		{"musubi-tuner", "FLUX.1", latent.ScaleNone, "z_image"},
		{"ai-toolkit", "Stable Diffusion", latent.ScalePipeline, "pixart sd1 sd15 sd2"},
		{"ai-toolkit", "SDXL", latent.ScalePipeline, "sdxl ssd vega"},
		{"ai-toolkit", "FLUX.1", latent.ScalePipeline, "boogu_image boogu_image_edit chroma flex2 flux1 flux_kontext hidream hidream_e1 lumina2 omnigen2 zimage"},
		{"ai-toolkit", "Stable Diffusion 3", latent.ScalePipeline, "sd3"},
	},
	twins:    func() []twin { return twins(klModels) },
	classes:  []string{"AutoencoderKL"},
	ignored:  []string{"model_ema.", "loss."},
	residual: &residual{by: 1.0 / 32, has: klSums},
}

// flux2Caches are the trainers' names for models. Ideogram orders the cells of a packed
// square differently and scales latents by its own statistics. musubi-tuner does this
// after caching (ideogram4_autoencoder.py), ai-toolkit before, so its name is not listed.
var flux2Caches = []cache{
	{"musubi-tuner", "FLUX.2", latent.ScalePipeline, "flux_2_dev flux_2_klein_4b flux_2_klein_9b"},
	{"musubi-tuner", "FLUX.2", latent.ScaleNone, "ideogram4"},
	{"ai-toolkit", "FLUX.2", latent.ScalePipeline, "ernie_image flux2 flux2_klein_4b flux2_klein_9b"},
}

// flux2Family is AutoencoderKLFlux2: AutoencoderKL of 32 channels, whose pipelines pack
// 2x2 cells into one and normalise its 128 channels with statistics from the file. Its
// decoder may be narrower than its encoder.
func flux2Family() *family {
	f, published := klFamily, publishedFlux2()
	f.name, f.published, f.comfyUnscaled = flux2, &published, false
	f.marks, f.encoders, f.twins, f.sizes = nil, nil, nil, nil // AutoencoderKL's alone
	f.told = func(f format.File) bool { return isKL(f) && isFlux2(f) }
	f.config, f.caches = configureFlux2, flux2Caches
	f.classes = []string{"AutoencoderKLFlux2"}
	f.ignored = append([]string{"bn."}, f.ignored...)
	return &f
}

// newKLEncoder builds Encoder, and quant_conv if there is one.
func newKLEncoder(l *loader, c Config) *engine.Network {
	in := c.Widths[0]
	s := &stages{start: &marked{name: "encoder.conv_in", layer: l.conv2d("encoder.conv_in", c.Channels, in, 1)}}
	for i, w := range c.Widths {
		name := fmt.Sprintf("encoder.down.%d", i)
		at := newKLStage(l, name, c.Blocks, in, w)
		if at.frames = 1; i < len(c.Widths)-1 {
			at.after = &marked{name: name + ".downsample", layer: l.conv2d(name+".downsample.conv", w, w, 2)}
		}
		s.all = append(s.all, at)
		in = w
	}
	all := engine.Series{s, newKLMid(l, "encoder.mid", in)}
	out := l.conv2d("encoder.conv_out", in, 2*c.Latent, 1)
	if !c.Quant {
		return &engine.Network{Name: "encoder", Whole: append(all, newKLEnd(l, "encoder", in, &outputs{out}))}
	}
	quant := l.pointwise("quant_conv", 2*c.Latent, 2*c.Latent, 2)
	all = append(all, newKLEnd(l, "encoder", in, out), &marked{name: "quant_conv", layer: &moments{quant}})
	return &engine.Network{Name: "encoder", Whole: all}
}

// moments is a network's last pointwise layer, which computes only the wanted outputs.
type moments struct{ quant *engine.Pointwise }

// Forward returns the network's output.
func (m *moments) Forward(g *engine.Graph, x engine.Value) engine.Value {
	return m.quant.First(g.Outputs(m.quant.Out)).Forward(g, x)
}

// newKLDecoder builds post_quant_conv, if there is one, and Decoder, which numbers stages
// from the largest frames on.
func newKLDecoder(l *loader, c Config) *engine.Network {
	var all engine.Series
	if c.Quant {
		all = append(all, &marked{name: "post_quant_conv", layer: l.pointwise("post_quant_conv", c.Latent, c.Latent, 2)})
	}
	in := c.Decoder[0]
	all = append(all, &marked{name: "decoder.conv_in", layer: l.conv2d("decoder.conv_in", c.Latent, in, 1)})
	all = append(all, newKLMid(l, "decoder.mid", in))
	s := &stages{}
	for i, w := range c.Decoder {
		name := fmt.Sprintf("decoder.up.%d", len(c.Decoder)-1-i)
		at := newKLStage(l, name, c.Blocks+1, in, w)
		if i < len(c.Decoder)-1 {
			at.after = &marked{name: name + ".upsample", layer: l.enlarging(name+".upsample.conv", w, w)}
		}
		s.all = append(s.all, at)
		in = w
	}
	s.end = newKLEnd(l, "decoder", in, l.conv2d("decoder.conv_out", in, c.Channels, 1))
	return &engine.Network{Name: "decoder", Whole: append(all, s)}
}

// newKLStage builds residual blocks, with room for a sampler.
func newKLStage(l *loader, name string, blocks, cin, cout int) stage {
	var all engine.Series
	for i := range blocks {
		block := fmt.Sprintf("%s.block.%d", name, i)
		all = append(all, &marked{name: block, layer: newKLResnet(l, block, cin, cout)})
		cin = cout
	}
	return stage{before: all, after: engine.Series{}}
}

// newKLEnd builds norm_out, SiLU and conv_out.
func newKLEnd(l *loader, name string, cin int, conv layer) layer {
	return engine.Series{newKLNorm(l, name+".norm_out", cin, true), &marked{name: name + ".conv_out", layer: conv}}
}

// newKLNorm builds a group norm, either of the sums of residual blocks or within a block.
func newKLNorm(l *loader, name string, c int, silu bool) *engine.GroupNorm {
	return l.groupNorm(name, c, 1e-6, silu)
}

// newKLResnet builds ResnetBlock.
func newKLResnet(l *loader, name string, cin, cout int) *resnet {
	b := &resnet{
		norm1: newKLNorm(l, name+".norm1", cin, true), conv1: l.conv2d(name+".conv1", cin, cout, 1),
		norm2: newKLNorm(l, name+".norm2", cout, true), conv2: l.conv2d(name+".conv2", cout, cout, 1),
	}
	if cin != cout {
		b.shortcut = l.pointwise(name+".nin_shortcut", cin, cout, 2)
	}
	return b
}

// newKLMid builds the middle of either network: block, attention, block.
func newKLMid(l *loader, name string, c int) layer {
	before, at, after := name+".block_1", name+".attn_1", name+".block_2"
	attention := &attention{
		norm: newKLNorm(l, at+".norm", c, false),
		qkv:  l.queries(at+".qkv", []string{at + ".q", at + ".k", at + ".v"}, c),
		core: &engine.Attention{Name: at, Out: c},
		out:  l.pointwise(at+".proj_out", c, c, 0),
	}
	return engine.Series{
		&marked{name: before, layer: newKLResnet(l, before, c, c)},
		&marked{name: at, layer: attention},
		&marked{name: after, layer: newKLResnet(l, after, c, c)},
	}
}

// isKL recognises a file of that layout: 2D convolutions.
func isKL(f format.File) bool {
	for _, names := range [][]string{{"decoder.conv_in.weight", klKey, klDiffusersKey}, {"encoder.conv_in.weight", klEncoderKey, klDiffusersEncoderKey}} {
		conv, ok := f.Tensor(names[0])
		for _, name := range names[1:] {
			if _, has := f.Tensor(name); ok && has && len(conv.Shape) == 4 {
				return true
			}
		}
	}
	return false
}
