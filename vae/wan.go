package vae

import (
	"fmt"

	"tessera/engine"
	"tessera/format"
	"tessera/tiling"
)

// wan21Family is the VAE of Wan 2.1 and Qwen-Image (vae2_1.py), wan22Family that
// of Wan 2.2 (vae2_2.py).
var (
	wan21Family = wanFamily(wan21, false, publishedWan21, wan21Caches, mark{wanKey, "Wan and Qwen-Image"}, mark{wanDiffusersKey, "the same from diffusers"})
	wan22Family = wanFamily(wan22, true, publishedWan22, wan22Caches)
)

// The caches of trainers. ai-toolkit's words are the arch of its models' classes whose
// VAE is AutoencoderKLWan (toolkit/models/wan21, extensions_built_in/diffusion_models)
// or, of anima, krea2 and qwen_image, AutoencoderKLQwenImage; sd-scripts' are endings of
// its files' names (library/strategy_anima.py).
var (
	wan21Caches = []cache{
		{"musubi-tuner", "krea2", "Qwen-Image"}, {"musubi-tuner", "qwen_image", "Qwen-Image"}, {"musubi-tuner", "qwen_image_edit", "Qwen-Image"},
		{"musubi-tuner", "qwen_image_layered", "Qwen-Image-Layered"}, {"musubi-tuner", "wan", "Wan 2.1"},
		{"ai-toolkit", "anima", "Qwen-Image"}, {"ai-toolkit", "krea2", "Qwen-Image"}, {"ai-toolkit", "qwen_image", "Qwen-Image"},
		{"ai-toolkit", "qwen_image_edit", "Qwen-Image"}, {"ai-toolkit", "qwen_image_edit_plus", "Qwen-Image"},
		{"ai-toolkit", "wan21", "Wan 2.1"}, {"ai-toolkit", "wan21_i2v", "Wan 2.1"}, {"ai-toolkit", "wan22_14b", "Wan 2.1"}, {"ai-toolkit", "wan22_14b_i2v", "Wan 2.1"},
		{"sd-scripts", "anima", "Qwen-Image"},
	}
	wan22Caches = []cache{{"ai-toolkit", "wan22_5b", "Wan 2.2"}}
)

func wanFamily(name string, nested bool, published Config, caches []cache, marks ...mark) family {
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

		tilings:       []Tiling{Exact, Feather, Diffusers}, // it norms pixel by pixel
		first:         func(int) int { return 1 },
		beyond:        mirrored,
		clamps:        true,
		previews:      true,
		comfyUnscaled: true,
		caches:        caches,
		ignored:       []string{"dynamic_feature_projection_heads."}, // by which pruned decoders were trained
		classes:       []string{"AutoencoderKLWan", "AutoencoderKLQwenImage"},
	}
}

// wanParts is a network of two: an outer part that changes size, and an inner
// one in the latent's size.
type wanParts struct {
	*wanOuter
	inner *wanInner
	width int // channels between them
}

func (p *wanParts) Inner() engine.Module { return p.inner }
func (p *wanParts) Outer() engine.Module { return p.wanOuter }
func (p *wanParts) Width() int           { return p.width }

// wanOuter is the part that changes size: stem and stages of the encoder,
// stages and head of the decoder. A pixel of its output depends on the pixels
// around it only, as far as Halo says.
type wanOuter struct {
	stem       *engine.Conv // encoder
	stages     []*wanStage
	head       *head // decoder
	unpatchify *engine.Unpatchify
}

// Forward is the part's output. The encoder's pixels are patched already.
func (o *wanOuter) Forward(g *engine.Graph, x engine.Value) engine.Value {
	all := &stages{}
	for _, s := range o.stages { // a shortcut goes around all of one
		all.all = append(all.all, stage{before: engine.Series{}, after: s, frames: s.frames})
	}
	if o.stem != nil {
		all.start = &marked{name: o.stem.Name, layer: o.stem}
	} else if all.end = o.head; o.unpatchify != nil {
		all.end = engine.Series{o.head, o.unpatchify}
	}
	return all.Forward(g, x)
}

// Halo follows a part of the output, of frames of size frame, back through the
// layers. Pixels are those of the network, patches where there are such. In the
// encoder the last stage has no window, so that the wanted part lies somewhere
// in what it makes.
func (o *wanOuter) Halo(out tiling.Rect, frame tiling.Size) (in tiling.Rect, windows engine.Windows, part tiling.Rect) {
	at := out
	windows = engine.Windows{}
	last := len(o.stages) - 1
	if o.head != nil {
		at = grown(out, o.head.conv.Reach(), frame)
	}
	for i := last; i >= 0; i-- {
		s := o.stages[i]
		made := at
		if s.sampler != nil {
			frame = s.sampler.before(frame)
			at = s.sampler.reads(made, frame)
		}
		reach := s.Reach()
		if i == 0 && o.stem != nil {
			reach += o.stem.Reach()
		}
		at = grown(at, reach, frame)
		if s.sampler != nil {
			windows[s.sampler.conv.Name] = s.sampler.makes(made, at)
		}
		if i == last {
			part = tiling.Rect{Y0: out.Y0 - at.Y0, Y1: out.Y1 - at.Y0, X0: out.X0 - at.X0, X1: out.X1 - at.X0}
		}
	}
	if o.head != nil {
		windows[o.head.conv.Name] = engine.Window{Y: part.Y0, X: part.X0, H: part.Size().H, W: part.Size().W}
	}
	return at, windows, part
}

// clip is the part of a rectangle within a frame.
func clip(r tiling.Rect, frame tiling.Size) tiling.Rect {
	return tiling.Rect{Y0: max(r.Y0, 0), Y1: min(r.Y1, frame.H), X0: max(r.X0, 0), X1: min(r.X1, frame.W)}
}

// grown is a rectangle with n more to each side, within a frame.
func grown(r tiling.Rect, n int, frame tiling.Size) tiling.Rect {
	return clip(tiling.Rect{Y0: r.Y0 - n, Y1: r.Y1 + n, X0: r.X0 - n, X1: r.X1 + n}, frame)
}

// wanInner is the rest, in the latent's size: middle, head and quantisation of
// the encoder, quantisation, stem and middle of the decoder.
type wanInner struct {
	before *engine.Pointwise // decoder: quantisation
	stem   *engine.Conv      // decoder
	mid    *midBlock
	head   *head             // encoder
	after  *engine.Pointwise // encoder: quantisation
}

// Forward is the part's output.
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
	o := &wanOuter{stem: l.conv("encoder.conv1", c.Channels*c.Patch*c.Patch, c.Widths[0], time, 1)}
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
	return &engine.Network{Name: "encoder", Whole: engine.Series{o, inner}, Parts: &wanParts{o, inner, in}}
}

func newWanDecoder(l *loader, c Config) *engine.Network {
	n, time := &wanNames{nested: !c.is(wan21), blocks: c.Blocks}, c.wanTime()
	in := c.Decoder[0]
	inner := &wanInner{before: l.pointwise("conv2", c.Latent, c.Latent, 3)}
	inner.stem, inner.mid = l.conv("decoder.conv1", c.Latent, in, time, 1), newWanMid(l, time, "decoder.middle", in)
	o := &wanOuter{}
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
	return &engine.Network{Name: "decoder", Whole: engine.Series{inner, o}, Parts: &wanParts{o, inner, c.Decoder[0]}}
}

// newWanResnet is ResidualBlock.
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

// newWanMid is the middle of either network: block, attention, block.
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

// newWanHead is what a network ends with.
func newWanHead(l *loader, time engine.Causal, name string, cin, cout int) *head {
	return &head{l.rmsNorm(name+".0", cin, 3, true), l.conv(name+".2", cin, cout, time, 1)}
}
