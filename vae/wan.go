package vae

import (
	"fmt"

	"tessera/engine"
	"tessera/format"
	"tessera/latent"
)

// wan21Family is the VAE of Wan 2.1 and Qwen-Image (vae2_1.py), wan22Family that
// of Wan 2.2 (vae2_2.py).
var (
	wan21Family = wanFamily(wan21, false, &publishedWan21, wan21Caches, wanKey, wanDiffusersKey)
	wan22Family = wanFamily(wan22, true, &publishedWan22, wan22Caches)
)

// The caches of trainers. ai-toolkit's names are the arch of model classes whose VAE is
// AutoencoderKLWan (toolkit/models/wan21, extensions_built_in/diffusion_models) or, for
// Qwen-Image, AutoencoderKLQwenImage; sd-scripts' are suffixes of its file names
// (library/strategy_anima.py).
var (
	wan21Caches = []cache{
		{"musubi-tuner", "Qwen-Image", latent.ScalePipeline, "krea2 qwen_image qwen_image_edit"},
		{"musubi-tuner", "Qwen-Image-Layered", latent.ScalePipeline, "qwen_image_layered"},
		{"musubi-tuner", "Wan 2.1", latent.ScalePipeline, "wan"},
		{"ai-toolkit", "Qwen-Image", latent.ScalePipeline, "anima krea2 nucleus_image qwen_image qwen_image_edit qwen_image_edit_plus"},
		{"ai-toolkit", "Wan 2.1", latent.ScalePipeline, "wan21 wan21_i2v wan22_14b wan22_14b_i2v"},
		{"sd-scripts", "Qwen-Image", latent.ScalePipeline, "anima"},
	}
	wan22Caches = []cache{{"ai-toolkit", "Wan 2.2", latent.ScalePipeline, "wan22_5b"}}
)

func wanFamily(name string, nested bool, published *Config, caches []cache, marks ...string) family {
	return family{
		name: name, marks: marks, published: published, encoders: []string{wanEncoderKey, wanDiffusersEncoderKey},
		told: func(f format.File) bool {
			wan, n := isWan(f)
			return wan && n == nested && !isQwen21(f)
		},
		config:  configureWan,
		named:   func(c *Config, path string) { nameWan(c, path, qwenConfig(path)) },
		usable:  checkQuant,
		encoder: newWanEncoder,
		decoder: newWanDecoder,
		between: []string{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias"}, // quantisation

		tilings:       []Tiling{Exact, Feather, Diffusers}, // norms act per pixel
		first:         func(int) int { return 1 },
		beyond:        mirrored,
		clamps:        true,
		previews:      true,
		comfyUnscaled: true,
		caches:        caches,
		ignored:       []string{"dynamic_feature_projection_heads."}, // used only to train pruned decoders
		classes:       []string{"AutoencoderKLWan", "AutoencoderKLQwenImage"},
	}
}

// wanInner is the part at the latent's size: middle, head and quantisation of the
// encoder, quantisation, stem and middle of the decoder.
type wanInner struct {
	before *engine.Pointwise // in the decoder: quantisation
	stem   *engine.Conv      // in the decoder
	mid    *midBlock
	head   *head             // in the encoder
	after  *engine.Pointwise // in the encoder: quantisation
}

// Forward returns the part's output.
func (n *wanInner) Forward(g *engine.Graph, x engine.Value) engine.Value {
	if n.stem != nil {
		x = n.before.Forward(g, x)
		g.Mark(n.before.Name, x)
		x = n.stem.Forward(g, x)
		g.Mark(n.stem.Name, x)
		return n.mid.Forward(g, x)
	}
	x = n.mid.Forward(g, x)
	x = n.head.Forward(g, x)
	x = n.after.First(g.Outputs(n.after.Out)).Forward(g, x)
	g.Mark(n.after.Name, x)
	return x
}

func newWanEncoder(l *loader, c Config) *engine.Network {
	n, time := &wanNames{nested: !c.is(wan21), blocks: c.Blocks}, c.wanTime()
	o := &outerPart{stem: l.conv("encoder.conv1", c.Channels*c.Patch*c.Patch, c.Widths[0], time, 1)}
	in := c.Widths[0]
	frames := 1
	for i, w := range c.Widths {
		o.stages = append(o.stages, newWanStage(l, time, n.encoder, i, stageSize{in, w, w, c.Blocks}, sampler(false, c.TimeDown, i)))
		if i < len(c.TimeDown) && c.TimeDown[i] {
			frames *= 2
		}
		o.stages[i].frames = frames
		if n.nested {
			o.stages[i].nest(fmt.Sprintf("encoder.downsamples.%d", i), w, c.skipDown(i))
		}
		in = w
	}
	inner := &wanInner{mid: newWanMid(l, time, "encoder.middle", in), head: newWanHead(l, time, "encoder.head", in, 2*c.Latent)}
	inner.after = l.pointwise("conv1", 2*c.Latent, 2*c.Latent, 3)
	return &engine.Network{Name: "encoder", Whole: engine.Series{o, inner}, Parts: &twoParts{o, inner, in}}
}

func newWanDecoder(l *loader, c Config) *engine.Network {
	n, time := &wanNames{nested: !c.is(wan21), blocks: c.Blocks}, c.wanTime()
	in := c.Decoder[0]
	inner := &wanInner{before: l.pointwise("conv2", c.Latent, c.Latent, 3)}
	inner.stem, inner.mid = l.conv("decoder.conv1", c.Latent, in, time, 1), newWanMid(l, time, "decoder.middle", in)
	o := &outerPart{}
	for i, w := range c.Decoder {
		out := w // of the sampler
		if !n.nested {
			out = w / 2
		}
		o.stages = append(o.stages, newWanStage(l, time, n.decoder, i, stageSize{in, w, out, c.Blocks + 1}, sampler(true, c.TimeUp, i)))
		if n.nested && i < len(c.TimeUp) { // the last stage has no shortcut
			o.stages[i].nest(fmt.Sprintf("decoder.upsamples.%d", i), w, c.skipUp(i))
		} else if n.nested {
			o.stages[i].names = []string{fmt.Sprintf("decoder.upsamples.%d", i)}
		}
		in = out
	}
	side := c.Patch * c.upscale() // one of them is 1
	o.head = newWanHead(l, time, "decoder.head", c.Decoder[len(c.Decoder)-1], c.Channels*side*side)
	if side > 1 {
		o.unpatchify = &engine.Unpatchify{Name: "unpatchify", Side: side, C: c.Channels, Rows: c.Patch == 1}
	}
	return &engine.Network{Name: "decoder", Whole: engine.Series{inner, o}, Parts: &twoParts{o, inner, c.Decoder[0]}}
}

// newWanResnet builds ResidualBlock.
func newWanResnet(l *loader, time engine.Causal, name string, cin, cout int) *resnet {
	b := &resnet{
		norm1: l.rmsNorm(name+".residual.0", cin, 3, true), conv1: l.conv(name+".residual.2", cin, cout, time, 1),
		norm2: l.rmsNorm(name+".residual.3", cout, 3, true), conv2: l.conv(name+".residual.6", cout, cout, time, 1),
	}
	if cin != cout {
		b.shortcut = l.pointwise(name+".shortcut", cin, cout, 3)
	}
	return b
}

// newWanMid builds the middle of either network: block, attention, block.
func newWanMid(l *loader, time engine.Causal, name string, c int) *midBlock {
	at := name + ".1"
	m := &midBlock{before: newWanResnet(l, time, name+".0", c, c), after: newWanResnet(l, time, name+".2", c, c)}
	m.attention = &attention{
		norm: l.rmsNorm(at+".norm", c, 2, false),
		qkv:  l.queries(at+".to_qkv", []string{at + ".to_qkv"}, c),
		core: &engine.Attention{Name: at, Out: c},
		out:  l.pointwise(at+".proj", c, c, 2),
	}
	return m
}

// newWanHead builds the end of a network.
func newWanHead(l *loader, time engine.Causal, name string, cin, cout int) *head {
	return &head{l.rmsNorm(name+".0", cin, 3, true), l.conv(name+".2", cin, cout, time, 1)}
}
